"""The errors that Atlas raises: a log text, a sentence to say aloud, and what to do next."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from atlas.own_words import own
from wall.logs import LoggedError


class AtlasError(LoggedError):
    """Something in the world went wrong.

    `str(error)` is for the log; `spoken` is said to a person; `hint` tells whoever looks after the house what to do.
    """

    spoken_by_default = "Something went wrong."

    def __init__(self, log: str, *, spoken: str = "", hint: str = "") -> None:
        super().__init__(log)
        self.spoken = own(spoken or self.spoken_by_default)
        self.hint = hint


class ConfigError(AtlasError):
    """A setting is missing, unknown or impossible."""

    spoken_by_default = "My settings have a mistake in them."


class EngineError(AtlasError):
    """An engine is gone or refused; the next call may work."""

    spoken_by_default = "A part of me isn't working right now."


class LlmGone(EngineError):
    """The language model cannot be reached, or vanished in the middle of an answer."""

    spoken_by_default = "I lost my train of thought. Please ask me again in a moment."


class LlmBusy(LlmGone):
    """The language model has too many others waiting for it; in a while it will not."""

    spoken_by_default = "I have too much to think about right now. Please ask me again in a moment."


class LlmLoading(LlmGone):
    """The language model is being loaded; in a while it answers."""

    spoken_by_default = "My language model is still loading. Please ask me again in a minute."


class ContextFull(EngineError):
    """A prompt is longer than the model's context, in tokens; either is 0 where the server does not tell."""

    spoken_by_default = "That is more than I can think about at once. Please say it in fewer words."

    def __init__(self, log: str, *, prompt_tokens: int = 0, context_tokens: int = 0, hint: str = "") -> None:
        super().__init__(log, hint=hint)
        self.prompt_tokens = prompt_tokens
        self.context_tokens = context_tokens


class InvalidCall(EngineError):
    """A model called a tool in a way that cannot be. `correction` is for it, and quotes what it wrote; no log does."""

    def __init__(self, log: str, correction: str) -> None:
        super().__init__(log)
        self.correction = correction


class StoreError(EngineError):
    """A memory file cannot be read or written: a full disk, a damaged file, or one from a newer Atlas."""

    spoken_by_default = "I can't get at my memory right now."


class SoundError(AtlasError):
    """Sound that cannot be used: not a WAV, empty, or too long."""

    spoken_by_default = "I couldn't make sense of that sound."


class RequestError(AtlasError):
    """A client asked for something impossible. `param` names the offending field, `code` is the protocol's word.

    What else a program can use, such as how often it may try again, is in `details`.
    """

    spoken_by_default = "I didn't understand that request."

    def __init__(
        self,
        log: str,
        *,
        code: str,
        param: str = "",
        spoken: str = "",
        hint: str = "",
        details: Mapping[str, object] = MappingProxyType({}),
    ) -> None:
        super().__init__(log, spoken=spoken, hint=hint)
        self.code = code
        self.param = param
        self.details = details
