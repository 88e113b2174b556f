"""One answer, made step by step: prompt in, bytes out, and what those bytes mean."""

from __future__ import annotations

import codecs
import math
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from atlas.conversation import Usage
from atlas.errors import EngineError
from atlas.llm_host.cache import Cache
from atlas.llm_host.constrain import Constraint
from atlas.llm_host.formats import CallFormat, begins_call, calls_in
from atlas.thoughts import Thoughts

if TYPE_CHECKING:  # what an answer means can be understood without loading llama.cpp
    from atlas.llm_host.weights import Sampler, Weights

# Words wait for company: each telling takes four milliseconds of two cores from the computing of the next ones, and
# four a second are read as they come. A voice can begin with a clause, so to a voice the end of one is told at once.
STRIDE_SECONDS = 0.25
_CLAUSE_END = re.compile(r"[.!?…,;:—–][\"'”’»)\]}*_]*\s|[。！？，、\n]")
Finish = Literal["stop", "length"]


class PromptReading:
    """Has a prompt in the cells. Every `step` is short, and after any of them it may be left: cells and cache agree."""

    def __init__(self, weights: Weights, cache: Cache, key: str, prompt: Sequence[int]) -> None:
        self._weights, self._cache, self._key = weights, cache, key
        self._tokens = list(prompt)
        self._kept = cache.take(key, prompt)
        self._prompt, self._cached = len(prompt), len(self._kept.tokens)
        # Not the last one: an answer computes it again, for its logits.
        self._pending = self._tokens[self._cached : -1]

    @property
    def over(self) -> bool:
        """Nothing is left to do."""
        return not self._pending

    @property
    def usage(self) -> Usage:
        """Tokens so far."""
        return Usage(self._prompt, self._cached, 0)

    def step(self) -> bytes:
        """Compute the next part of the prompt; it says nothing."""
        part = self._pending[: self._weights.step_tokens]
        self._decode(part)
        self._kept.tokens += part
        del self._pending[: len(part)]
        return b""

    def resume(self) -> None:
        """Go on after others were answered in between, unless the same conversation was: what it left is newer."""
        undisturbed = self._cache.holds(self._kept) and self._kept.tokens == self._tokens[: len(self._kept.tokens)]
        self._pending = self._tokens[len(self._kept.tokens) : -1] if undisturbed else []

    def _decode(self, part: list[int]) -> None:
        try:
            while not self._weights.decode(self._kept.sequence, len(self._kept.tokens), part):
                if not self._cache.make_room(self._kept):
                    raise EngineError("the context is full")  # noqa: TRY301 - the entry is dropped below either way
        except EngineError:
            self._cache.drop(self._kept)
            raise


class Generation(PromptReading):
    """Computes an answer: reads its prompt, then chooses token after token."""

    def __init__(
        self,
        weights: Weights,
        cache: Cache,
        *,
        key: str,
        prompt: Sequence[int],
        sampler: Sampler,
        constraint: Constraint | None,
        max_tokens: int,
    ) -> None:
        super().__init__(weights, cache, key, prompt)
        self._pending = self._tokens[self._cached :]
        self._sampler, self._constraint, self._max_tokens = sampler, constraint, max_tokens
        self._made = 0
        self.finish: Finish | None = None

    @property
    def over(self) -> bool:
        """It has come to its end."""
        return self.finish is not None

    @property
    def usage(self) -> Usage:
        """Tokens so far."""
        return Usage(self._prompt, self._cached, self._made)

    def step(self) -> bytes:
        """Compute the next part of the prompt, or choose the next token; return its bytes, often none."""
        super().step()
        return b"" if self._pending else self._choose()

    def resume(self) -> None:
        """Go on after another answer was computed in between: it may have taken this one's cells."""
        self._kept = self._cache.take(self._key, self._tokens)
        self._pending = self._tokens[len(self._kept.tokens) :]

    def _choose(self) -> bytes:
        if self._constraint:
            self._constraint.mask(self._weights.logits())
        token = self._weights.sample(self._sampler)
        if self._weights.ends(token):
            self.finish = "stop"
            return b""
        forced = self._constraint.accept(token) if self._constraint else []
        for follower in forced:
            self._sampler.accept(follower)
        room = self._max_tokens - self._made
        written = [token, *forced][:room]
        complete = self._constraint is not None and self._constraint.complete and len(forced) < room
        self._made += len(written)
        self._pending = written
        self._tokens += written
        if complete:
            self.finish = "stop"
        elif self._made >= self._max_tokens:
            self.finish = "length"
        return b"".join(self._spelled(token) for token in written)

    def _spelled(self, token: int) -> bytes:
        """Control tokens are silent, but inside a call they are its brackets."""
        piece = self._weights.piece(token)
        return piece or (self._weights.text(token).encode() if self._constraint else b"")


class Writing:
    """An answer being written, stretch by stretch: what is computed, and what of it is told, perhaps `aloud`."""

    def __init__(
        self, generation: Generation, answer: AnswerSorter, *, aloud: bool, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.generation, self.answer, self._aloud, self._clock = generation, answer, aloud, clock
        self.began: float | None = None  # when the first token was chosen
        self._told, self._end = -math.inf, ""  # when words were told last, and the last of them

    @property
    def over(self) -> bool:
        """It has come to its end, or to a stop string."""
        return self.generation.over or self.answer.stopped

    def stretch(self, go_on: Callable[[], bool], tell: Callable[[str], None]) -> None:
        """Write until it is over, or until `go_on`, asked before every step, says no; `tell` the words."""
        words = ""
        while not self.over and go_on():
            raw = self.generation.step()
            now = self._clock()
            self.began = self.began or (now if raw else None)
            words += self.answer.add(raw)
            if words and (now - self._told >= STRIDE_SECONDS or self._can_be_said(words)):
                tell(words)
                words, self._told, self._end = "", now, words.split()[-1] if words.strip() else ""
        if words:
            tell(words)

    def _can_be_said(self, words: str) -> bool:
        return self._aloud and _CLAUSE_END.search(self._end + words) is not None


@dataclass(frozen=True, slots=True)
class GeneratedCall:
    """A finished tool call."""

    name: str
    arguments: Any
    id: str = ""  # where the model's own format has ids: the one it wrote


@dataclass(frozen=True, slots=True)
class AnswerPart:
    """A part of an answer: words, calls, or (last) how it ended."""

    words: str = ""
    calls: tuple[GeneratedCall, ...] = ()
    finish: str = ""
    usage: Usage = Usage()


class AnswerSorter:
    """Sorts the bytes of an answer into words to send now and calls to send when they are whole."""

    def __init__(self, stops: Sequence[str] = (), form: CallFormat | None = None) -> None:
        self._characters = codecs.getincrementaldecoder("utf-8")("replace")
        self._thoughts = Thoughts()
        self._stops, self._form = [s for s in stops if s], form
        self._calling: bool | None = None if form else False
        self._text = ""  # a whole call, or words not sent yet
        self.stopped = False  # by a stop string

    def add(self, raw: bytes) -> str:
        """Take more of the answer; return words that are certain."""
        if self.stopped:
            return ""
        self._text += self._thoughts.add(self._characters.decode(raw))
        if self._calling is None and self._form:
            self._calling = begins_call(self._text, self._form)
        if self._calling is not False:
            return ""
        return self._until_stop()

    def end(self, *, whole: bool) -> tuple[str, list[GeneratedCall]]:
        """Return the last words, and the calls. An answer that was cut short (not `whole`) has no calls."""
        last = self._thoughts.add(self._characters.decode(b"", final=True)) + self._thoughts.end()
        self._text += "" if self.stopped else last
        if not self._calling or not self._form:
            return self._until_stop() + self._text, []
        if not whole:
            return "", []
        results = calls_in(self._text, self._form)
        if results is None:
            raise EngineError("a tool call came out broken")
        return "", [GeneratedCall(*parts) for parts in results]

    def _until_stop(self) -> str:
        cuts = [at for stop in self._stops if (at := self._text.find(stop)) >= 0]
        if cuts:
            self.stopped = True
            words, self._text = self._text[: min(cuts)], ""
            return words
        held = max((_overlap(self._text, stop) for stop in self._stops), default=0)
        at = len(self._text) - held
        words, self._text = self._text[:at], self._text[at:]
        return words


def _overlap(text: str, stop: str) -> int:
    """Return how many characters at the end of `text` may be the beginning of `stop`."""
    return next((n for n in range(min(len(text), len(stop) - 1), 0, -1) if text.endswith(stop[:n])), 0)
