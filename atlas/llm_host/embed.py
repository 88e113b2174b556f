"""/v1/embeddings: texts in, a vector for each, as OpenAI has it. The encoder is loaded when it is first asked for.

Vectors wait in the same line as answers, so that one thing is computed at a time. One text is computed between two
tokens of an answer, which it hardly delays; many texts give way to every answer, also in the middle of a text.
"""

from __future__ import annotations

import logging
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from atlas.embeddings import EmbeddingRequest, answer_body, item_json, read_request
from atlas.errors import RequestError
from atlas.fields import Fields
from atlas.llm_host.compute import Compute
from atlas.llm_host.line import PRIORITIES, Line, LinePlace
from atlas.llm_host.request import fields

if TYPE_CHECKING:  # loading is for the first request
    from atlas.llm_host.encoder import GgufEncoder

QUICK_TOKENS = 128  # a text up to this length takes about as long as a few tokens of an answer
log = logging.getLogger("atlas.llm_host")


class HostEmbedding(NamedTuple):
    """A request, and who waits for it: one of `line.PRIORITIES`, or "" where the length of the texts decides."""

    wish: EmbeddingRequest
    priority: str


def parse(raw: bytes) -> HostEmbedding:
    """Return the request in `raw`. Raises `RequestError` whose `param` is the field that is wrong."""
    body = Fields(fields(raw))
    wish = read_request(body, more=("atlas_priority",))
    return HostEmbedding(wish, body.choice("atlas_priority", (*PRIORITIES, ""), ""))


class Embedder:
    """Answers requests with the encoder in `file`; requests call it by the name of the file's folder."""

    def __init__(self, file: Path | None, threads: int, host: str) -> None:
        """Load nothing yet. `host` is the name of the language model beside it, which may be asked by it too."""
        self.name = file.absolute().parent.name if file else ""
        self._file, self._threads, self._host = file, threads, host
        self._encoder: GgufEncoder | None = None

    async def answer(self, request: HostEmbedding, line: Line, compute: Compute) -> bytes:
        """Return the body of the answer. Cancelling is safe, and takes effect between two texts.

        Raises `RequestError` for what cannot be had here, `EngineError` when the encoder fails.
        """
        wish = request.wish
        if self._file is None or wish.model not in (self.name, self._host):
            here = f"only {self.name!r}" if self._file else "none for embeddings: `atlas models pull all-minilm-l6-v2`"
            raise RequestError(
                f"there is no model {wish.model!r} for this, {here}", code="model_not_found", param="model"
            )
        began = time.monotonic()
        quick = len(wish.texts) == 1 and len(wish.texts[0]) <= QUICK_TOKENS  # a token is a character or more
        with line.place(request.priority or ("voice" if quick else "background"), "") as place:
            async with line.called(place):
                encoder = await compute.do(self._ready)
                if wish.dimensions not in (None, encoder.dimensions):
                    what = f"dimensions can only be {encoder.dimensions}, which this model was made for"
                    raise RequestError(what, code="invalid_value", param="dimensions")
                items, tokens = await _items(encoder, wish, line, place, compute)
        log.info("embedded texts=%d tokens=%d ms=%d", len(items), tokens, (time.monotonic() - began) * 1000)
        return answer_body(items, self.name, tokens)

    def _ready(self) -> GgufEncoder:
        if self._encoder is None:
            assert self._file, "a request without an encoder was refused"
            from atlas.llm_host.encoder import GgufEncoder

            began = time.monotonic()
            self._encoder = GgufEncoder(self._file, self._threads)
            log.info("ready model=%s for=embeddings seconds=%.2f", self.name, time.monotonic() - began)
        return self._encoder


async def _items(
    encoder: GgufEncoder, wish: EmbeddingRequest, line: Line, place: LinePlace, compute: Compute
) -> tuple[list[str], int]:
    """Return the items of the answer, as JSON, and how many tokens were read for them."""
    items: list[str] = []
    read = 0
    for text in wish.texts:
        tokens, cut = await compute.do(partial(encoder.tokens, text))
        written = None
        while written is None:
            if line.somebody_before(place):
                await line.give_way(place)
            written = await compute.do(partial(_item, encoder, tokens, wish.base64, len(items), cut, line, place))
        items.append(written)
        read += len(tokens)
    return items, read


def _item(
    encoder: GgufEncoder, tokens: list[int], in_base64: bool, index: int, cut: bool, line: Line, place: LinePlace
) -> str | None:
    vector = encoder.vector(tokens, lambda: line.somebody_before(place))
    return None if vector is None else item_json(index, vector.tolist(), in_base64=in_base64, cut=cut)
