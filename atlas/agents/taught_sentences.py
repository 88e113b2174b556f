"""Sentences that a person taught the house by pressing: what was said, and the calls that it stands for.

They stand in a file of their own, in JSON, beside the one that people write by hand: nobody's comments are lost, and
neither file can spoil the other. To whoever reads sentences, both are the house's own.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

from atlas.conversation import Tool
from atlas.errors import ConfigError, RequestError, StoreError
from atlas.understanding.custom import CustomSentences
from atlas.understanding.custom_file import read_custom
from atlas.understanding.understanding import Understanding
from wall.files import write_whole

TAUGHT_FILE = "taught.json"  # of the data directory
MOST_TAUGHT = 200
MOST_CALLS = 8
LEAST_WORDS = 2  # a single word would be heard in much that is said
MOST_TEXT = 200  # characters
_NO_WORD = re.compile(r"[^\w'’ -]+")  # what hassil would read as its own notation, and marks that nobody speaks


@dataclass(frozen=True, slots=True)
class TaughtCall:
    """One call that a taught sentence stands for."""

    tool: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class TaughtSentence:
    """What is said, the sentence by which its meaning was given, and the calls that this came to."""

    id: str
    text: str
    meaning: str
    calls: tuple[TaughtCall, ...]


def read_taught(file: Path) -> tuple[TaughtSentence, ...]:
    """Return the sentences of the file; none when there is no such file. Raises `ConfigError`. Blocking."""
    try:
        rows = json.loads(file.read_text(encoding="utf-8"))
        return tuple(
            TaughtSentence(
                *(str(row["id"]), str(row["text"]), str(row["meaning"])),
                tuple(TaughtCall(str(call["tool"]), dict(call["arguments"])) for call in row["calls"]),
            )
            for row in rows[:MOST_TAUGHT]
        )
    except FileNotFoundError:
        return ()
    except (OSError, ValueError, TypeError, KeyError) as trouble:
        raise ConfigError(
            f"{file} cannot be read: {trouble}", hint="delete it, and teach the sentences again"
        ) from None


def as_custom(taught: TaughtSentence, file: Path, language: str, tools: Sequence[Tool]) -> CustomSentences:
    """Return a taught sentence as one of the house's own. Raises `ConfigError` when its calls cannot be made."""
    name = f"Taught{taught.id}"
    script = {"action": [{"action": call.tool, "data": dict(call.arguments)} for call in taught.calls]}
    form = {"intents": {name: {"data": [{"sentences": [taught.text]}]}}, "intent_script": {name: script}}
    return read_custom(json.dumps(form, ensure_ascii=False), file, language, tools)


def plain_words(text: str) -> str:
    """Return the words of a sentence as somebody would speak them."""
    return " ".join(_NO_WORD.sub(" ", text).split())


class Teaching:
    """Adds and removes taught sentences; `understand` reads one by itself, `look` has the house read the file again."""

    def __init__(
        self, file: Path, understand: Callable[[str], Understanding], look: Callable[[], Any], language: str
    ) -> None:
        self._file = file
        self._understand = understand
        self._look = look
        self._language = language
        self._writing = anyio.Lock()

    async def list(self) -> tuple[TaughtSentence, ...]:
        """Return the sentences, the oldest first. Raises `ConfigError`."""
        return await anyio.to_thread.run_sync(read_taught, self._file)

    async def add(self, text: str, meaning: str = "") -> TaughtSentence:
        """Teach that `text` stands for what `meaning` does, or, when that is empty, for what it does by itself.

        Raises `RequestError` when that is no command, or the text too short; `StoreError`. Cancelling is safe.
        """
        words = plain_words(text)
        if len(words.split()) < LEAST_WORDS or len(words) > MOST_TEXT:
            raise RequestError("a sentence has at least two words", code="too_short", param="text")
        calls = await anyio.to_thread.run_sync(self._calls, meaning or text)
        taught = TaughtSentence(secrets.token_hex(4), words, meaning or text, calls)
        try:
            as_custom(taught, self._file, self._language, ())
        except ConfigError as trouble:
            raise RequestError(f"that cannot be a sentence: {trouble}", code="not_understood", param="text") from None
        async with self._writing:
            before = [one for one in await self.list() if one.text.casefold() != words.casefold()]
            if len(before) >= MOST_TAUGHT:
                raise RequestError(f"{MOST_TAUGHT} sentences are enough", code="too_many", hint="remove some first")
            await self._write([*before, taught])
        return taught

    async def remove(self, id: str) -> bool:
        """Remove a sentence; return False when there is none of that id. Raises `StoreError`."""
        async with self._writing:
            before = await self.list()
            left = [one for one in before if one.id != id]
            if len(left) == len(before):
                return False
            await self._write(left)
        return True

    def _calls(self, meaning: str) -> tuple[TaughtCall, ...]:
        understood = self._understand(meaning)
        if not understood.commands or understood.negated:
            raise RequestError("the house does not know what that would do", code="not_understood", param="meaning")
        return tuple(TaughtCall(one.tool, dict(one.arguments)) for one in understood.commands[:MOST_CALLS])

    async def _write(self, sentences: Sequence[TaughtSentence]) -> None:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(_replace, self._file, sentences)
            await self._look()


def _replace(file: Path, sentences: Sequence[TaughtSentence]) -> None:
    try:
        write_whole(file, json.dumps([asdict(one) for one in sentences], ensure_ascii=False, indent=1).encode())
    except OSError as trouble:
        raise StoreError(f"{file} cannot be written: {trouble.strerror}", hint="free some disk space") from trouble
