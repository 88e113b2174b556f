"""Reads the house's own sentences anew when their files change, looking every second: no turn waits for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

from atlas import trace
from atlas.agents.taught_sentences import TAUGHT_FILE, TaughtSentence, as_custom, read_taught
from atlas.conversation import Tool
from atlas.errors import ConfigError
from atlas.mcp.tools import Tools
from atlas.own_words import own
from atlas.understanding.custom import NONE, CustomReader, CustomSentences
from atlas.understanding.custom_file import MOST_BYTES, read_custom
from atlas.understanding.intents import PublicReader

FILE = "sentences.yaml"  # of the data directory
LOOK_SECONDS = 1.0


def sentences_file(language: str, spoken: Sequence[str]) -> str:
    """Return the name of the file for the sentences of one of the languages that are spoken, the usual one first."""
    return FILE if language == spoken[0] else f"sentences.{language}.yaml"


Seen = tuple[int, int, int]  # of a file: when it was changed, how long it is, which it is


class HouseSentences:
    """The last sentences that were right. `prepare` is run, in a thread, on new ones, once they are understood.

    Call it for what reads them as they are now: `HouseSentences(…)()`.
    """

    def __init__(
        self,
        file: Path,
        language: str,
        tools: Sequence[Tools],
        public: PublicReader | None = None,
        prepare: Callable[[CustomSentences], object] = lambda _: None,
        is_in_language: Callable[[str], bool] = lambda text: True,  # of what was taught: its file names no language
    ) -> None:
        self._files = file, file.with_name(TAUGHT_FILE)
        self._language = language
        self._tools = tools  # of all agents: each is asked what it may use
        self._public = public
        self._prepare = prepare
        self._is_in_language = is_in_language
        self._looking = anyio.Lock()
        self._seen: tuple[Seen | None, ...] | None = None
        self._checked = False  # against the schemas of tools
        self._reader: CustomReader | None = None
        self._written = NONE
        self._taught = NONE
        self._trouble: ConfigError | None = None

    def __call__(self) -> CustomReader | None:
        """Return what reads them; `None` when there are none."""
        return self._reader

    async def watch(self) -> None:
        """Read the file whenever it has changed, until cancelled."""
        while True:
            await self.look()
            await anyio.sleep(LOOK_SECONDS)

    async def look(self) -> None:
        """Read the files if they have changed, or if there are other tools to hold them to. Cancelling is safe.

        Those of before stay when what people wrote by hand is wrong.
        """
        async with self._looking:
            seen = tuple(map(_seen, self._files))
            if seen == self._seen and (self._checked or not any(seen)):
                return
            tools = {tool.name: tool for one in self._tools for tool in await one.listed()}
            if seen == self._seen and not tools:
                return  # the tool server is still starting
            self._seen, self._checked = seen, bool(tools)
            await self._read([*tools.values()])

    async def health(self) -> str:
        """Return how many there are. Raises `ConfigError` when a file is wrong."""
        if self._trouble:
            raise self._trouble
        counts = {self._files[0].name: len(self._written.examples), TAUGHT_FILE: len(self._taught.examples)}
        seen = own("{count} in {file}")
        return ", ".join(seen.format(count=count, file=file) for file, count in counts.items() if count) or own(
            "none yet"
        )

    async def _read(self, tools: Sequence[Tool]) -> None:
        file, taught = self._files
        self._trouble = None
        try:
            self._written = await anyio.to_thread.run_sync(read_sentences, file, self._language, tools)
        except ConfigError as trouble:
            self._fault(trouble)
        try:
            rows = await anyio.to_thread.run_sync(read_taught, taught)
            self._taught = await anyio.to_thread.run_sync(self._customs, rows, tools)
        except ConfigError as trouble:
            self._fault(trouble)
        sentences = _joined([self._written, self._taught])
        if sentences != (self._reader.sentences if self._reader else NONE):
            self._reader = CustomReader(sentences, self._public) if sentences else None
            await anyio.to_thread.run_sync(self._prepare, sentences)
            trace.line("sentences read", intents=len(sentences.grammar["intents"]))

    def _customs(self, rows: Sequence[TaughtSentence], tools: Sequence[Tool]) -> CustomSentences:
        """Return what was taught; what cannot be done any more is left out, and said."""
        customs: list[CustomSentences] = []
        for row in rows:
            if not self._is_in_language(row.text):
                continue
            try:
                customs.append(as_custom(row, self._files[1], self._language, tools))
            except ConfigError as trouble:
                self._fault(ConfigError(f"“{row.text}” cannot be done: {trouble}", hint="remove that sentence"))
        return _joined(customs)

    def _fault(self, trouble: ConfigError) -> None:
        self._trouble = trouble
        trace.line("sentences not read", error=trouble)


def _joined(parts: Sequence[CustomSentences]) -> CustomSentences:
    """Return the sentences of several files as one; with nothing beside it, a part stays what it is."""
    filled = [part for part in parts if part]
    if len(filled) < 2:
        return filled[0] if filled else NONE
    grammar: dict[str, Any] = {}
    for part in filled:
        for section, values in part.grammar.items():
            grammar[section] = {**grammar.get(section, {}), **values}
    return CustomSentences(
        grammar,
        {name: script for part in filled for name, script in part.scripts.items()},
        {name: response for part in filled for name, response in part.responses.items()},
        {name: example for part in filled for name, example in part.examples.items()},
    )


def read_sentences(file: Path, language: str, tools: Sequence[Tool] = ()) -> CustomSentences:
    """Return the sentences of a file; none when there is no such file. Raises `ConfigError`. Blocking."""
    try:
        with file.open(encoding="utf-8") as text:
            return read_custom(text.read(MOST_BYTES + 1), file, language, tools)
    except FileNotFoundError:
        return NONE
    except (OSError, UnicodeDecodeError) as trouble:
        raise ConfigError(f"{file} cannot be read: {trouble}", hint="make it a text file that Atlas may read") from None


def _seen(file: Path) -> Seen | None:
    try:
        now = file.stat()
    except OSError:
        return None
    return now.st_mtime_ns, now.st_size, now.st_ino
