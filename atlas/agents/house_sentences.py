"""The house's own sentences as their file has them now: looked at every second, and no turn waits for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import anyio
import anyio.to_thread

from atlas import trace
from atlas.conversation import Tool
from atlas.errors import ConfigError
from atlas.mcp.tools import Tools
from atlas.understanding.custom import NONE, CustomReader, CustomSentences
from atlas.understanding.custom_file import MOST_BYTES, read_custom
from atlas.understanding.intents import PublicReader

FILE = "sentences.yaml"  # of the data directory
LOOK_SECONDS = 1.0

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
    ) -> None:
        self._file = file
        self._language = language
        self._tools = tools  # of all agents: each is asked what it may use
        self._public = public
        self._prepare = prepare
        self._seen: Seen | None = None
        self._checked = False  # against the schemas of tools
        self._reader: CustomReader | None = None
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
        """Read the file if it has changed, or if there are other tools to hold it to. Cancelling is safe.

        Those of before stay when it is wrong.
        """
        seen = _seen(self._file)
        if seen == self._seen and (self._checked or seen is None):
            return
        tools = {tool.name: tool for one in self._tools for tool in await one.listed()}
        if seen == self._seen and not tools:
            return  # the tool server is still starting
        self._seen, self._checked = seen, bool(tools)
        try:
            sentences = await anyio.to_thread.run_sync(read_sentences, self._file, self._language, [*tools.values()])
        except ConfigError as trouble:
            self._trouble = trouble
            trace.line("sentences not read", error=trouble)
            return
        self._trouble = None
        if sentences != (self._reader.sentences if self._reader else NONE):
            self._reader = CustomReader(sentences, self._public) if sentences else None
            await anyio.to_thread.run_sync(self._prepare, sentences)
            trace.line("sentences read", intents=len(sentences.grammar["intents"]))

    async def health(self) -> str:
        """Return how many there are. Raises `ConfigError` when the file is wrong."""
        if self._trouble:
            raise self._trouble
        count = len(self._reader.sentences.examples) if self._reader else 0
        return f"{count} intents in {FILE}" if count else f"no {FILE}"


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
