"""One model, and the line of requests before it: what a request wants, worked out, waited for, computed.

One answer is computed at a time, in steps of one token or a stretch of prompt, by a thread that does nothing else.
Leaving an answer (the client hung up) takes effect before the next step. Between two steps an answer gives way to one
that is more urgent: `atlas_priority` is voice, chat (the default) or background.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path

import anyio
import anyio.to_thread
from llguidance import LLTokenizer

from atlas.conversation import Usage
from atlas.errors import EngineError, RequestError
from atlas.llm_host import formats
from atlas.llm_host import prompt as prompts
from atlas.llm_host.cache import Cache
from atlas.llm_host.compute import Compute
from atlas.llm_host.constrain import Constraint, check, schema_rule
from atlas.llm_host.embed import Embedder
from atlas.llm_host.generate import AnswerPart, AnswerSorter, GeneratedCall, Generation, PromptReading, Writing
from atlas.llm_host.line import Line, LinePlace
from atlas.llm_host.parse_pool import ParsePool
from atlas.llm_host.prefix_files import Later, SequenceFiles, at_once, identity
from atlas.llm_host.request import DEFAULT_MAX_TOKENS, ChatRequest, ContextExceeded
from atlas.llm_host.weights import Sampler, Weights

MOST_UNWRITTEN_BYTES = 512 * 1024**2  # of states that wait for the disk; one alone may have more, as a 70B's has
Filing = tuple[Callable[[], None], int, anyio.Event]  # what is to be done, the bytes it holds, and that it was done
log = logging.getLogger("atlas.llm_host")


@dataclass(frozen=True, slots=True)
class HostOptions:
    """What to load and how."""

    model: Path
    name: str
    context: int = 4096
    threads: int = 2
    gpu_layers: int = 0
    conversations: int = 8
    embedder: Path | None = None  # a sentence encoder, loaded when it is first asked for
    state_folder: Path | None = (
        None  # the folder for conversations that have no cells; without one they are computed again
    )


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model that is ready."""

    weights: Weights
    prompts: prompts.PromptWriter
    tokenizer: LLTokenizer
    cache: Cache
    shelf: SequenceFiles | None


@dataclass(frozen=True, slots=True)
class Job:
    """A request with everything worked out that can fail before the first token. To be answered once."""

    ask: ChatRequest
    prompt: tuple[int, ...]
    constraint: Constraint | None
    form: formats.CallFormat | None  # how calls are written, when there may be calls
    max_tokens: int


def load(options: HostOptions, later: Later) -> Loaded:
    """Load the model. `later` has files written. Raises `EngineError`."""
    weights = Weights(
        options.model,
        context=options.context,
        threads=options.threads,
        gpu_layers=options.gpu_layers,
        sequences=options.conversations,
    )
    shelf = None
    if options.state_folder:
        settings = f"llama-cpp-python {version('llama-cpp-python')}, {weights.settings}"
        try:
            shelf = SequenceFiles(options.state_folder, identity(options.model, settings), later=later)
        except OSError as trouble:
            raise EngineError(f"no conversation can be kept in {options.state_folder}: {trouble}") from trouble
    cache = Cache(weights, options.conversations, shelf)
    return Loaded(weights, prompts.PromptWriter(weights), weights.tokenizer(), cache, shelf)


class Host:
    """One model, and the line of requests before it."""

    def __init__(self, options: HostOptions) -> None:
        self.options = options
        self._loaded: Loaded | None = None
        self.line = Line()
        self.compute = Compute()
        self.parsing = ParsePool()
        self.embedder = Embedder(options.embedder, options.threads, options.name)
        # What is to be done with files, in this order. It waits here for a disk, and computing does not.
        self._file, self._to_file = anyio.create_memory_object_stream[Filing](math.inf)
        self._unwritten = 0  # bytes of states among it

    async def run(self) -> None:
        """Load the model, and work until cancelled; until it is loaded `/health` says so. Raises `EngineError`."""
        began = time.monotonic()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.compute.run)
            # A signal does not wait for this thread; the other one, once it computes, is not to be left alone.
            loaded = await anyio.to_thread.run_sync(load, self.options, self._later, abandon_on_cancel=True)
            await self.compute.do(partial(_warm, loaded.weights))
            self._loaded, form = loaded, loaded.prompts.format.name
            log.info("ready model=%s tools=%s seconds=%.2f", self.options.name, form, time.monotonic() - began)
            async for work, size, done in self._to_file:
                await anyio.to_thread.run_sync(work)
                self._unwritten -= size
                del work  # and the state in it: the next one may come in an hour
                done.set()

    async def close(self) -> None:
        """Keep every conversation that has cells. `run` still runs, and no answer is being computed."""
        if self._loaded and self._loaded.shelf and not self.compute.stuck_seconds:
            await self._filed(lambda: None)  # what waits is older
            self._loaded.shelf.later = at_once
            await self.compute.do(self._loaded.cache.shelve_all)

    @property
    def loaded(self) -> Loaded:
        """The model. Raises `RequestError` while it loads."""
        if self._loaded is None:
            raise RequestError("the model is still loading", code="model_loading")
        return self._loaded

    async def job(self, ask: ChatRequest) -> Job:
        """Work out prompt and grammar. Raises `RequestError` when they cannot be had, or do not fit the context."""
        loaded = self.loaded
        if ask.model != self.options.name:
            raise RequestError(
                f"there is no model {ask.model!r} here, only {self.options.name!r}",
                code="model_not_found",
                param="model",
            )
        return await self.parsing.work_out(ask.priority, partial(_job, loaded, ask))

    async def answer(self, job: Job, place: LinePlace, give: Callable[[AnswerPart], None]) -> None:
        """Give the parts of an answer; the last has `finish`. Cancelling stops it before the next token.

        Between two steps, also of a long prompt, it gives way to those who are more urgent. Computing does not wait for
        `give`. Raises `EngineError`.
        """
        arrived = time.monotonic()
        async with self.line.called(place):
            began = time.monotonic()
            writing = await self.compute.do(partial(_begin, self.loaded, job))
            generation, end = writing.generation, "left"

            def tell(words: str) -> None:
                self.compute.tell(partial(give, AnswerPart(words)))

            try:
                while not writing.over:
                    if self.line.somebody_before(place):
                        await self.line.give_way(place)
                        await self.compute.do(generation.resume)
                    with self._until_left(place) as (go_on, leave):
                        await self.compute.do(partial(writing.stretch, go_on, tell), leave)
                whole = writing.answer.stopped or generation.finish != "length"
                words, calls = writing.answer.end(whole=whole)
                _check_calls(calls, job.ask)
                end = "tool_calls" if calls else "stop" if whole else "length"
                give(AnswerPart(words, tuple(calls), end, generation.usage))
            finally:
                first = writing.began or time.monotonic()
                first_ms = (first - began) * 1000 if writing.began else -1
                _write_line(job, generation.usage, (began - arrived) * 1000, first_ms, time.monotonic() - first, end)

    async def read_ahead(self, job: Job, place: LinePlace) -> Usage:
        """Have the prompt in the conversation's cells. Cancelling leaves what was computed. Raises `EngineError`.

        It gives way to every answer of its priority or a higher one, and ends when its own conversation got one.
        """
        loaded = self.loaded
        async with self.line.called(place):
            reading = await self.compute.do(
                partial(PromptReading, loaded.weights, loaded.cache, job.ask.conversation, job.prompt)
            )
            while not reading.over:
                if self.line.somebody_before(place):
                    await self.line.give_way(place)
                    await self.compute.do(reading.resume)
                with self._until_left(place) as (go_on, leave):
                    await self.compute.do(partial(_read, reading, go_on), leave)
        return reading.usage

    async def forget(self, conversation: str) -> None:
        """Drop what is kept of a conversation, in cells and on disk. Raises `EngineError` when a file stays.

        An answer that is being computed gives way for it, unless it is a voice's, and goes on with its own prompt.
        """
        loaded = self.loaded
        async with self.line.called(LinePlace("voice", "", 0)):
            await self.compute.do(partial(loaded.cache.forget, conversation))
        if shelf := loaded.shelf:
            await self._filed(partial(shelf.drop, conversation))

    @contextmanager
    def _until_left(self, place: LinePlace) -> Iterator[tuple[Callable[[], bool], Callable[[], None]]]:
        """Yield what the thread asks before every step, and what makes it say no."""
        left = threading.Event()

        def go_on() -> bool:
            self.compute.step()
            return not left.is_set() and not self.line.somebody_before(place)

        yield go_on, left.set

    def _later(self, work: Callable[[], None], size: int) -> None:
        """From the thread: have a state of `size` bytes written by another, unless the disk is far behind."""
        self.compute.tell(partial(self._write_later, work, size))

    def _write_later(self, work: Callable[[], None], size: int) -> None:
        if self._unwritten and self._unwritten + size > MOST_UNWRITTEN_BYTES:
            log.warning("a conversation could not be kept: the disk is too slow")
            return
        self._unwritten += size
        self._file.send_nowait((work, size, anyio.Event()))

    async def _filed(self, work: Callable[[], None]) -> None:
        """Do `work` after what waits for the disk. Raises `EngineError` when the disk refuses it."""
        done, troubles = anyio.Event(), list[OSError]()

        def tried() -> None:
            try:
                work()
            except OSError as trouble:
                troubles.append(trouble)

        self._file.send_nowait((tried, 0, done))
        await done.wait()
        if troubles:
            raise EngineError(f"a kept conversation cannot be deleted: {troubles[0]}") from troubles[0]


def _warm(weights: Weights) -> None:
    """Compute one token, so that the first person does not wait for what llama.cpp prepares."""
    weights.decode(0, 0, [weights.begin or 0])
    weights.forget(0)


def _read(reading: PromptReading, go_on: Callable[[], bool]) -> None:
    while not reading.over and go_on():
        reading.step()


def _job(loaded: Loaded, ask: ChatRequest) -> Job:
    prompt = loaded.prompts.tokens(ask.messages, ask.tools)
    room = loaded.weights.context - len(prompt)
    wanted = ask.max_tokens or min(DEFAULT_MAX_TOKENS, max(room, 1))
    if wanted > room:
        raise ContextExceeded(len(prompt), wanted, loaded.weights.context)
    if ask.prefill:
        return Job(ask, tuple(prompt), None, None, 0)
    grammar, form, constraint = "", None, None
    if ask.schema is not None:
        grammar = f"start: {schema_rule(ask.schema, 'response_format', 'response_format')}\n"
    elif ask.tools:
        form = None if ask.choice == "none" else loaded.prompts.format
        grammar = formats.grammar(loaded.weights, loaded.prompts.format, ask.tools, ask.choice, parallel=ask.parallel)
    if grammar:
        try:
            constraint = Constraint(loaded.tokenizer, grammar)  # now, while the request can still be refused
        except EngineError as trouble:
            raise RequestError(str(trouble), code="invalid_schema", param="tools") from trouble
    return Job(ask, tuple(prompt), constraint, form, wanted)


def _write_line(job: Job, usage: Usage, wait_ms: float, first_ms: float, seconds: float, end: str) -> None:
    """Leave the one line of an answer in the log; `seconds` have passed since its first token, if there was one."""
    log.info(
        "answered conversation=%a prompt=%d cached=%d generated=%d wait_ms=%d first_ms=%d tok_s=%.1f end=%s",
        job.ask.conversation[:64],  # quoted and escaped: whoever names it could write fields of his own
        *(usage.prompt, usage.cached, usage.completion, wait_ms, first_ms),
        (usage.completion - 1) / seconds if usage.completion > 1 else 0.0,
        end,
    )


def _begin(loaded: Loaded, job: Job) -> Writing:
    ask = job.ask
    forced = job.constraint is not None and ask.choice != "auto"  # punishing repetition would punish JSON's punctuation
    sampler = Sampler(loaded.weights.size, replace(ask.sampling, repeat=1.0) if forced else ask.sampling)
    generation = Generation(
        loaded.weights,
        loaded.cache,
        key=ask.conversation,
        prompt=job.prompt,
        sampler=sampler,
        constraint=job.constraint,
        max_tokens=job.max_tokens,
    )
    return Writing(generation, AnswerSorter(ask.stops, job.form), aloud=ask.priority == "voice")


def _check_calls(calls: list[GeneratedCall], ask: ChatRequest) -> None:
    schemas = {tool["function"]["name"]: tool["function"].get("parameters") or {} for tool in ask.tools}
    for call in calls:
        if call.name not in schemas:
            raise EngineError("the model called what is no tool of this request")
        if wrong := check(call.arguments, schemas[call.name]):
            raise EngineError(f"the model called {call.name!r} with arguments that do not fit: {wrong}")
