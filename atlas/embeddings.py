"""The wire format of /v1/embeddings, which house and LLM host speak alike: texts in, a vector for each. Pure."""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from atlas.errors import RequestError
from atlas.fields import Fields

MOST_TEXTS = 2_048  # of one request, as at OpenAI; the size of a body bounds them together
MOST_CHARACTERS = 32_768  # of one text: OpenAI's 8192 tokens. Far more than an encoder reads, so the rest is marked cut
DIGITS = 8  # of a number in JSON: what 32 bits hold of numbers below 1
KNOWN = frozenset({"model", "input", "encoding_format", "dimensions", "user"})


@dataclass(frozen=True, slots=True)
class EmbeddingRequest:
    """A checked request."""

    model: str
    texts: tuple[str, ...]
    base64: bool
    dimensions: int | None


def read_request(fields: Fields, more: Collection[str] = ()) -> EmbeddingRequest:
    """Return what a body asks for; it may have `more` fields. Raises `RequestError` naming the field that is wrong."""
    fields.only({*KNOWN, *more})
    return EmbeddingRequest(
        fields.text("model"),
        _texts(fields),
        fields.choice("encoding_format", ("float", "base64"), "float") == "base64",
        fields.whole("dimensions", 1, 65_536),
    )


def _texts(fields: Fields) -> tuple[str, ...]:
    given = fields.value("input")
    if given is None:
        raise RequestError("input is missing", code="missing_field", param="input")
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not texts:
        raise fields.wrong("input", "a text, or a list of at least one")
    if isinstance(texts[0], (int, list)):
        raise RequestError(
            "input must be text: tokens are numbers of another model's vocabulary",
            code="unsupported_value",
            param="input",
            hint="have the client send texts (in LangChain: check_embedding_ctx_length=False)",
        )
    if len(texts) > MOST_TEXTS:
        raise RequestError(
            f"input holds {len(texts)} texts; {MOST_TEXTS} is the most", code="array_too_long", param="input"
        )
    for place, text in enumerate(texts):
        _check(text, f"input[{place}]" if given is texts else "input")
    return tuple(texts)


def _check(text: Any, where: str) -> None:
    if not isinstance(text, str):
        raise RequestError(f"{where} must be a text", code="invalid_type", param=where)
    if not text:
        raise RequestError(f"{where} is empty", code="invalid_value", param=where)
    if len(text) > MOST_CHARACTERS:
        raise RequestError(
            f"{where} has {len(text)} characters; {MOST_CHARACTERS} is the most",
            code="string_too_long",
            param=where,
            hint="send it in pieces",
        )


def item_json(index: int, vector: Sequence[float], *, in_base64: bool, cut: bool) -> str:
    """Return one vector of an answer as JSON."""
    numbers: str | list[float] = [round(number, DIGITS) for number in vector]
    if in_base64:
        numbers = base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()
    written: dict[str, Any] = {"object": "embedding", "index": index, "embedding": numbers}
    if cut:
        written["atlas_cut"] = True  # only the beginning of the text was read
    return json.dumps(written)


def answer_body(items: Sequence[str], model: str, tokens: int) -> bytes:
    """Return the body of an answer."""
    usage = json.dumps({"prompt_tokens": tokens, "total_tokens": tokens})
    return f'{{"object":"list","data":[{",".join(items)}],"model":{json.dumps(model)},"usage":{usage}}}'.encode()
