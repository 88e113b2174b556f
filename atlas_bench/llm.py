"""What our LLM host costs beside bare llama-cpp-python: first token, speed, how much of a prompt is reused."""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL

import anyio
from anyio.streams.buffered import BufferedByteReceiveStream

from atlas.cli.run import weights
from atlas.config import Config
from atlas.conversation import Message, Usage
from atlas.engine import open_engine
from atlas.errors import EngineError, LlmGone
from atlas.llm.backend import Backend, BackendPrompt, Finished, Limits, TextPiece
from atlas.llm.backend_openai import BackendSettings
from atlas_bench._process import started

START_SECONDS = 120.0
LONGEST_LINE = 65_536
CONTEXT = 4096  # tokens; what two conversations of TURNS turns need, and some to spare
LAUNCHES = 3  # of both processes: two of one kind differ by three percent, for as long as they live
WARM_UP = 2  # answers of each launch
ROUNDS = 20  # of each launch, in turns, so that whatever else the machine does hits both; ten differed by a tenth
ANSWER_TOKENS = 64
TURNS = 5  # of a conversation, for the reuse of its prefix
PERSONA = (
    "You are Atlas, the voice of a house. " + "Be brief, warm and right, and never guess at what you can look up. " * 45
)
ASKED = ("the sea", "a lighthouse", "an old clock", "the snow", "a train", "two brothers", "a garden", "the moon")

# Ours may be at most five percent slower, and the first token at most 15 ms later. From the second turn on at most five
# percent of a prompt may be computed again, and nothing more because somebody else spoke in between.
TARGETS = {
    "bare_speed_over_ours": 1.053,
    "first_token_added_ms": 15.0,
    "prompt_not_reused_percent": 5.0,
    "lost_by_alternating_tokens": 0.0,
}


@dataclass(frozen=True, slots=True)
class TimedAnswer:
    """One answer as it was waited for."""

    first_ms: float
    tokens_a_second: float
    usage: Usage = Usage()
    text: str = ""


async def measure(config: Config) -> dict[str, float]:
    """Return figures of the first embedded model. Raises `EngineError` when there is none, or a process dies."""
    llm = next((one for one in config.llm.values() if one.kind == "embedded"), None)
    if llm is None:
        raise EngineError("no model of atlas.toml is embedded", hint="there is no host of ours to measure")
    file, threads = weights(config, llm), str(llm.threads)
    pairs: list[tuple[TimedAnswer, TimedAnswer]] = []
    for _launch in range(LAUNCHES):
        async with _ours(file, llm.model, threads) as ours, _bare(file, threads) as bare:
            pairs += await _in_turns(ours, bare)
    async with _ours(file, llm.model, threads) as ours:
        reuse = await _reuse(ours)
    return {**_speed(pairs), **reuse, **await _restart(file, llm.model, threads)}


async def _in_turns(ours: Backend, bare: Bare) -> list[tuple[TimedAnswer, TimedAnswer]]:
    """Ask both the same, one after the other, with a prefix that both know."""
    pairs: list[tuple[TimedAnswer, TimedAnswer]] = []
    for number in range(WARM_UP + ROUNDS):
        messages = [Message("system", PERSONA), _question(number)]
        if number % 2:
            one, other = await _timed(ours, messages, "speed"), await bare.timed(messages)
        else:
            other, one = await bare.timed(messages), await _timed(ours, messages, "speed")
        if number >= WARM_UP:
            pairs.append((one, other))
    return pairs


def _speed(pairs: Sequence[tuple[TimedAnswer, TimedAnswer]]) -> dict[str, float]:
    """Return first tokens in the middle, and speed over the whole time that answers took: none is left out."""
    ours, bare = (
        statistics.harmonic_mean([taken.tokens_a_second for taken in side]) for side in zip(*pairs, strict=True)
    )
    return {
        "ours_first_token_ms": _middle([one.first_ms for one, _ in pairs]),
        "bare_first_token_ms": _middle([other.first_ms for _, other in pairs]),
        "first_token_added_ms": _middle([one.first_ms - other.first_ms for one, other in pairs]),
        "ours_tokens_a_second": round(ours, 3),
        "bare_tokens_a_second": round(bare, 3),
        "bare_speed_over_ours": round(bare / ours, 3),
    }


async def _reuse(ours: Backend) -> dict[str, float]:
    """Hold a conversation alone, then the same again while somebody else holds another."""
    alone = await _talk(ours, ["alone"])
    both = await _talk(ours, ["anna", "ben"])
    again = sum(usage.prompt - usage.cached for usage in alone)
    together = sum(usage.prompt - usage.cached for usage in both)
    return {
        "prompt_not_reused_percent": round(100 * again / sum(usage.prompt for usage in alone), 2),
        "alternating_not_reused_percent": round(100 * together / sum(usage.prompt for usage in both), 2),
        "lost_by_alternating_tokens": max(0, together - 2 * again),
    }


async def _restart(file: Path, name: str, threads: str) -> dict[str, float]:
    """Go on with a conversation after the host was stopped and started, with what it kept and without."""
    with tempfile.TemporaryDirectory(prefix="atlas-bench-") as remainder:
        messages = [Message("system", PERSONA), _question(0)]
        async with _ours(file, name, threads, remainder) as host:
            answered = await _timed(host, messages, "anna")
        messages += [Message("assistant", answered.text), _question(1)]
        async with _ours(file, name, threads, remainder) as host:
            restored = await _timed(host, messages, "anna")
            await host.forget("anna")
            computed = await _timed(host, messages, "anna")
    return {
        "restored_first_token_ms": round(restored.first_ms, 1),
        "not_restored_first_token_ms": round(computed.first_ms, 1),
    }


async def _talk(ours: Backend, people: Sequence[str]) -> list[Usage]:
    """Let people take turns; return what each turn cost, from everybody's second on."""
    values = {who: [Message("system", PERSONA)] for who in people}
    spent = []
    for turn in range(TURNS):
        for who in people:
            values[who].append(_question(turn))
            taken = await _timed(ours, values[who], who)
            values[who].append(Message("assistant", taken.text))
            spent += [taken.usage] if turn else []
    return spent


def _question(number: int) -> Message:
    return Message("user", f"Tell me a long story about {ASKED[number % len(ASKED)]}, number {number}.")


def _middle(values: Sequence[float]) -> float:
    return round(statistics.median(values), 3)


async def _timed(backend: Backend, messages: Sequence[Message], who: str) -> TimedAnswer:
    began, first = time.perf_counter(), 0.0
    words: list[str] = []
    limits = Limits(max_tokens=ANSWER_TOKENS, temperature=0.0)
    async with aclosing(backend.stream(BackendPrompt(messages, limits=limits, conversation=who))) as deltas:
        async for delta in deltas:
            match delta:
                case TextPiece(text):
                    first = first or time.perf_counter()
                    words.append(text)
                case Finished(_, usage):
                    rate = (usage.completion - 1) / (time.perf_counter() - first)
                    return TimedAnswer((first - began) * 1000, rate, usage, "".join(words))
    raise EngineError("the stream ended without an end")


@asynccontextmanager
async def _ours(file: Path, name: str, threads: str, remainder: str = "") -> AsyncIterator[Backend]:
    with tempfile.TemporaryDirectory(prefix="atlas-bench-") as folder:
        socket = Path(folder) / "llm.sock"
        options = ["--socket", str(socket), "--model", str(file), "--name", name, "--threads", threads]
        options += ["--context", str(CONTEXT), *(("--kept", remainder) if remainder else ())]
        async with started("atlas.llm_host.server", options, stderr=DEVNULL):
            backend: Backend = await open_engine("backend", "openai", BackendSettings(name, socket=socket))
            try:
                with anyio.fail_after(START_SECONDS):
                    await _ready(backend)
                yield backend
            finally:
                await backend.aclose()


async def _ready(backend: Backend) -> None:
    while True:
        try:
            await backend.health()
        except LlmGone:
            await anyio.sleep(0.05)  # still loading
        else:
            return


class Bare:
    """The other process, asked line by line."""

    def __init__(self, process: anyio.abc.Process) -> None:
        assert process.stdin and process.stdout, "both were asked for"
        self._in, self._out = process.stdin, BufferedByteReceiveStream(process.stdout)

    async def timed(self, messages: Sequence[Message]) -> TimedAnswer:
        """Let it answer; it holds the watch itself, so that the pipe costs it nothing."""
        wire = [{"role": message.author, "content": message.text} for message in messages]
        ask = {"messages": wire, "max_tokens": ANSWER_TOKENS}
        await self._in.send(json.dumps(ask).encode() + b"\n")
        try:
            with anyio.fail_after(START_SECONDS):
                return TimedAnswer(**json.loads(await self._out.receive_until(b"\n", LONGEST_LINE)))
        except anyio.IncompleteRead as trouble:
            raise EngineError("bare llama-cpp-python died", hint="run atlas_bench/_bare_llm.py by hand") from trouble


@asynccontextmanager
async def _bare(file: Path, threads: str) -> AsyncIterator[Bare]:
    options = [str(file), threads, str(CONTEXT)]
    async with started("atlas_bench._bare_llm", options, stderr=DEVNULL) as process:
        yield Bare(process)
