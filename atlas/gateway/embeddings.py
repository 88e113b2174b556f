"""/v1/embeddings: other programs' texts in, a vector for each, in the wire format of OpenAI.

Nobody who talks to the house waits for a program: its texts go to the LLM host a few at a time, behind every voice. A
single short text, by which somebody searches, goes among those who read; the rest is done when nobody asks for more.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import anyio
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from atlas import trace
from atlas.conversation import Actor
from atlas.embeddings import EmbeddingRequest, answer_body, item_json, read_request
from atlas.errors import EngineError, LlmBusy, RequestError
from atlas.fields import Fields
from atlas.gateway.auth import require
from atlas.gateway.wire import json_body, while_wanted
from atlas.house import House
from atlas.llm.backend import Backend, Embeddings, Priority

SHORT_CHARACTERS = 512  # a text to search by is shorter
# What is computed between two looks at who else waits here. Their vectors are also what is written at one go, and the
# thread that does that carries sound too.
BATCH_TEXTS = 32
BATCH_CHARACTERS = 16_384  # some 4000 tokens: seconds on two slow cores, and a body that the LLM host takes
BATCH_SECONDS = 100.0  # less than the backend waits: giving up here does not say that the model is gone
MOST_OF_ONE = 8  # requests under way from one device …
MOST_AT_ONCE = 24  # … and from all; the gateway's other doors keep the most of its room


def routes(house: House) -> list[Route]:
    """Return the URL of this door."""
    room = EmbeddingPlaces()
    lines: defaultdict[tuple[str, Priority], anyio.Lock] = defaultdict(anyio.Lock)

    async def embeddings(request: Request) -> Response:
        actor = require(request)
        wish = read_request(Fields(await json_body(request)))
        llm = _host_for(wish.model, actor, house)
        body, tokens, began = b"", 0, time.monotonic()

        async def work() -> None:
            nonlocal body, tokens
            body, tokens = await embedded(wish, house.encoders[llm], lines[llm, _priority(wish)])
            trace.line(
                "embedded",
                device=actor.device,
                model=wish.model,
                texts=len(wish.texts),
                tokens=tokens,
                ms=round((time.monotonic() - began) * 1000),
            )

        with room.place(actor.device):
            if not await while_wanted(request, work):
                return Response(status_code=499)  # nobody reads it
        return Response(body, media_type="application/json")

    return [Route("/v1/embeddings", embeddings, methods=["POST"])]


def encoders_for(actor: Actor, house: House) -> Mapping[str, str]:
    """Return the encoders that this actor may use, each with the name of the LLM host that has it loaded.

    Those beside the models of agents that answer this role: whose model is not for everybody, nor is its machine.
    """
    hosts: dict[str, str] = {}
    for agent in house.config.agents.values():
        if actor.role in agent.roles and agent.llm in house.encoders:
            hosts.setdefault(house.config.llm[agent.llm].embedder, agent.llm)
    return hosts


def _host_for(model: str, actor: Actor, house: House) -> str:
    """Return the LLM host that has this encoder.

    Raises `RequestError`: `model_not_found` (404), or `permission_denied` (403) for a role that no such host works for.
    """
    if not house.encoders:
        raise RequestError(
            "this house has no model that makes vectors",
            code="model_not_found",
            param="model",
            hint="run `atlas models pull all-minilm-l6-v2` and start Atlas again",
        )
    encoders = encoders_for(actor, house)
    if not encoders:
        raise RequestError(
            f"no model that makes vectors is open to the role {actor.role}", code="permission_denied", param="model"
        )
    if model not in encoders:
        raise RequestError(
            f"there is no model {model[:64]!r} that makes vectors",
            code="model_not_found",
            param="model",
            hint=f"there is {', '.join(encoders)}",
        )
    return encoders[model]


def _priority(wish: EmbeddingRequest) -> Priority:
    """Return who waits for it."""
    return "chat" if len(wish.texts) == 1 and len(wish.texts[0]) <= SHORT_CHARACTERS else "background"


class EmbeddingPlaces:
    """The requests under way: so many of one device, so many in all."""

    def __init__(self) -> None:
        self._of: Counter[str] = Counter()

    @contextmanager
    def place(self, device: str) -> Iterator[None]:
        """Have a place for the time of the body. Raises `RequestError` (`rate_limit_exceeded`, 429) without one."""
        if self._of[device] >= MOST_OF_ONE or self._of.total() >= MOST_AT_ONCE:
            raise RequestError(
                f"{self._of.total()} requests for vectors are under way, {self._of[device]} of them yours",
                code="rate_limit_exceeded",
                hint="wait for an answer before asking again, and send more texts in one request",
            )
        self._of[device] += 1
        try:
            yield
        finally:
            self._of[device] -= 1
            if not self._of[device]:
                del self._of[device]


# ── what is answered ───────────────────────────────────────────────────────────────────────────────


async def embedded(wish: EmbeddingRequest, encoder: Backend, line: anyio.Lock) -> tuple[bytes, int]:
    """Return the answer to a wish, and how many tokens were read. Between two batches others get their turn.

    The vectors are written down as they come: a whole answer at once would hold up the house's sound. Cancelling is
    safe.

    Raises `RequestError` for other dimensions than the encoder's, and (`overloaded`, 503) when others are always
    before; `EngineError` when the LLM host is away.
    """
    items: list[str] = []
    tokens = 0
    for batch in _batches(wish.texts):
        async with line:
            results = await _batch(batch, encoder, _priority(wish))
        dimensions = len(results.vectors[0])
        if wish.dimensions not in (None, dimensions):
            raise RequestError(
                f"dimensions can only be {dimensions}, which {wish.model} was made for",
                code="unsupported_value",
                param="dimensions",
                hint="leave it out",
            )
        tokens += results.tokens
        for place, vector in enumerate(results.vectors):
            items.append(item_json(len(items), vector, in_base64=wish.base64, cut=place in results.cut))
    return answer_body(items, wish.model, tokens), tokens


async def _batch(texts: Sequence[str], encoder: Backend, priority: Priority) -> Embeddings:
    try:
        with anyio.fail_after(BATCH_SECONDS):
            return await encoder.embed(texts, priority=priority)
    except (TimeoutError, LlmBusy) as trouble:
        raise RequestError(
            "too many others are before this in the line of the model",
            code="overloaded",
            hint="try again when the house is quieter",
        ) from trouble
    except EngineError as trouble:
        raise EngineError(
            str(trouble), spoken="The model that makes vectors is away just now. Please ask again in a moment."
        ) from trouble


def _batches(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield the texts in order: at most `BATCH_TEXTS` at a time, and no more once they have `BATCH_CHARACTERS`."""
    batch: list[str] = []
    characters = 0
    for text in texts:
        batch.append(text)
        characters += len(text)
        if len(batch) == BATCH_TEXTS or characters >= BATCH_CHARACTERS:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch
