"""/v1/embeddings: texts in, a vector for each, as OpenAI has it. The encoder is loaded when it is first asked for.

Vectors wait in the same line as answers, so that one thing is computed at a time. One text is computed between two
tokens of an answer, which it hardly delays; many texts give way to every answer, also in the middle of a text.
"""

from __future__ import annotations

import base64
import json
import logging
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from atlas.errors import RequestError
from atlas.fields import Fields
from atlas.llm_host.compute import Compute
from atlas.llm_host.line import PRIORITIES, Line, LinePlace
from atlas.llm_host.request import fields

if TYPE_CHECKING:  # loading is for the first request
    from atlas.llm_host.encoder import GgufEncoder

MOST_TEXTS = 2_048  # of one request, as at OpenAI; the size of a body bounds their length
MOST_DIMENSIONS = 65_536  # that anybody asks for
QUICK_TOKENS = 128  # a text up to this length takes about as long as a few tokens of an answer
DIGITS = 8  # of a number in JSON: what 32 bits hold of numbers below 1
UNDERSTOOD = {"model", "input", "encoding_format", "dimensions", "atlas_priority", "user"}
log = logging.getLogger("atlas.llm_host")


@dataclass(frozen=True, slots=True)
class EmbedRequest:
    """A request that makes sense."""

    model: str
    texts: tuple[str, ...]
    base64: bool
    dimensions: int | None
    priority: str  # one of `line.PRIORITIES`, or "" where the length of the texts decides


def parse(raw: bytes) -> EmbedRequest:
    """Return the request in `raw`. Raises `RequestError` whose `param` is the field that is wrong."""
    given = fields(raw)
    if unknown := set(given) - UNDERSTOOD:
        raise _wrong(min(unknown), "is not a parameter of this server", "unknown_parameter")
    body = Fields(given)
    return EmbedRequest(
        body.text("model"),
        _texts(body),
        body.choice("encoding_format", ("float", "base64"), "float") == "base64",
        body.whole("dimensions", 1, MOST_DIMENSIONS),
        body.choice("atlas_priority", (*PRIORITIES, ""), ""),
    )


def _texts(body: Fields) -> tuple[str, ...]:
    given = body.value("input")
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not texts:
        raise _wrong("input", "must be a text, or a list of at least one text")
    if isinstance(texts[0], (int, list)):
        # LangChain sends these unless told `check_embedding_ctx_length=False`.
        raise _wrong("input", "must be text: tokens are numbers of another model's vocabulary")
    if len(texts) > MOST_TEXTS:
        raise _wrong("input", f"may hold {MOST_TEXTS} texts at a time, and holds {len(texts)}")
    for number, text in enumerate(texts):
        if not isinstance(text, str) or not text:
            raise _wrong(f"input[{number}]", "must be a text that is not empty")
    return tuple(texts)


def _wrong(param: str, what: str, code: str = "invalid_value") -> RequestError:
    return RequestError(f"{param} {what}", code=code, param=param)


class Embedder:
    """Answers requests with the encoder in `file`; requests call it by the name of the file's folder."""

    def __init__(self, file: Path | None, threads: int, host: str) -> None:
        """Load nothing yet. `host` is the name of the language model beside it, which may be asked by it too."""
        self.name = file.absolute().parent.name if file else ""
        self._file, self._threads, self._host = file, threads, host
        self._encoder: GgufEncoder | None = None

    async def answer(self, wish: EmbedRequest, line: Line, compute: Compute) -> bytes:
        """Return the body of the answer. Cancelling is safe, and takes effect between two texts.

        Raises `RequestError` for what cannot be had here, `EngineError` when the encoder fails.
        """
        if self._file is None or wish.model not in (self.name, self._host):
            here = f"only {self.name!r}" if self._file else "none for embeddings: `atlas models pull all-minilm-l6-v2`"
            raise RequestError(
                f"there is no model {wish.model!r} for this, {here}", code="model_not_found", param="model"
            )
        began = time.monotonic()
        quick = len(wish.texts) == 1 and len(wish.texts[0]) <= QUICK_TOKENS  # a token is a character or more
        with line.place(wish.priority or ("voice" if quick else "background"), "") as place:
            async with line.called(place):
                encoder = await compute.do(self._ready)
                if wish.dimensions not in (None, encoder.dimensions):
                    raise _wrong("dimensions", f"can only be {encoder.dimensions}, which this model was made for")
                items, tokens = await _items(encoder, wish, line, place, compute)
        log.info("embedded texts=%d tokens=%d ms=%d", len(items), tokens, (time.monotonic() - began) * 1000)
        usage = json.dumps({"prompt_tokens": tokens, "total_tokens": tokens})
        name = json.dumps(self.name, ensure_ascii=False)
        return f'{{"object":"list","data":[{",".join(items)}],"model":{name},"usage":{usage}}}'.encode()

    def _ready(self) -> GgufEncoder:
        if self._encoder is None:
            assert self._file, "a request without an encoder was refused"
            from atlas.llm_host.encoder import GgufEncoder

            began = time.monotonic()
            self._encoder = GgufEncoder(self._file, self._threads)
            log.info("ready model=%s for=embeddings seconds=%.2f", self.name, time.monotonic() - began)
        return self._encoder


async def _items(
    encoder: GgufEncoder, wish: EmbedRequest, line: Line, place: LinePlace, compute: Compute
) -> tuple[list[str], int]:
    """Return the items of the answer, as JSON, and how many tokens were read for them."""
    items: list[str] = []
    read = 0
    for text in wish.texts:
        tokens, cut = await compute.do(partial(encoder.tokens, text))
        item = None
        while item is None:
            if line.somebody_before(place):
                await line.give_way(place)
            item = await compute.do(partial(_item, encoder, tokens, wish.base64, len(items), cut, line, place))
        items.append(item)
        read += len(tokens)
    return items, read


def _item(
    encoder: GgufEncoder, tokens: list[int], in_base64: bool, index: int, cut: bool, line: Line, place: LinePlace
) -> str | None:
    vector = encoder.vector(tokens, lambda: line.somebody_before(place))
    if vector is None:
        return None
    item = {"object": "embedding", "index": index, "embedding": _written(vector, in_base64)}
    if cut:
        item["atlas_cut"] = True  # only the beginning of the text was read
    return json.dumps(item)


def _written(vector: NDArray[np.float32], in_base64: bool) -> str | list[float]:
    if in_base64:
        return base64.b64encode(vector.astype("<f4").tobytes()).decode()
    return [round(float(number), DIGITS) for number in vector]
