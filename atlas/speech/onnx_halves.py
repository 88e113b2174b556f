"""Cuts an ONNX model in two where one tensor leads from its front to its back. Pure; bytes in, bytes out.

A voice of Piper (VITS) is such a model: its front makes of phonemes the frames that are to be heard, all at
once, its back makes samples of frames, and of any few as well as of all. The second takes most of the time. Only what
is needed of the wire format is read here: https://github.com/onnx/onnx/blob/main/onnx/onnx.proto
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

# Field numbers of onnx.proto.
_MODEL_GRAPH = 7
_NODE, _INITIALIZER, _INPUT, _OUTPUT, _VALUE_INFO = 1, 5, 11, 12, 13
_NODE_INPUT, _NODE_OUTPUT, _NODE_NAME, _NODE_ATTRIBUTE = 1, 2, 3, 5
_ATTRIBUTE_GRAPHS = (6, 11)  # a node with a graph of its own may use any tensor around it
_TENSOR_NAME, _VALUE_NAME = 8, 1
_VARINT, _BYTES = 0, 2  # kinds of fields
_FIXED = {5: 4, 1: 8}
_FLOATS = b"\x12\x04\x0a\x02\x08\x01"  # ValueInfoProto.type: a tensor of floats, of any shape

Field = tuple[int, int, memoryview]  # number, kind, content


@dataclass(frozen=True, slots=True)
class ModelHalves:
    """A model in two: `front` has its inputs, `back` its outputs, and `joint` is the tensor between them."""

    front: bytes
    back: bytes
    joint: str


@dataclass(frozen=True, slots=True)
class _Node:
    field: Field
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


def halves(model: bytes, back_begins: str) -> ModelHalves | None:
    """Return a model cut before its first node whose name begins so; `None` where not one tensor alone is cut.

    Raises `ValueError` for what is no ONNX model.
    """
    try:
        parts = list(_fields(memoryview(model)))
        graph = next(content for number, _, content in parts if number == _MODEL_GRAPH)
        fields = list(_fields(graph))
        nodes = [_node(field) for field in fields if field[0] == _NODE]
    except (IndexError, StopIteration, UnicodeDecodeError) as trouble:
        raise ValueError("this is no ONNX model") from trouble
    at = next((place for place, node in enumerate(nodes) if node.name.startswith(back_begins)), 0)
    front, back = nodes[:at], nodes[at:]
    made = {name for node in front for name in node.outputs}
    cut = {name for node in back for name in node.inputs if name in made}
    if len(cut) != 1 or any(_has_graph(node) for node in back):
        return None
    joint = cut.pop()
    value = (_INPUT, _BYTES, memoryview(_written(_VALUE_NAME, joint.encode()) + _FLOATS))
    used = {name for node in back for name in node.inputs}
    elsewhere = used - {name for node in front for name in node.inputs}
    weights = [(field, _text(field[2], _TENSOR_NAME)) for field in fields if field[0] == _INITIALIZER]
    whole = [field for field in parts if field[0] != _MODEL_GRAPH]
    around = [field for field in fields if field[0] not in (_NODE, _INITIALIZER, _INPUT, _OUTPUT, _VALUE_INFO)]

    def model_of(some: Sequence[_Node], *others: Iterable[Field]) -> bytes:
        graph = _joined(chain((node.field for node in some), around, *others))
        return _joined([*whole, (_MODEL_GRAPH, _BYTES, memoryview(graph))])

    return ModelHalves(
        model_of(
            front,
            (field for field, name in weights if name not in elsewhere),  # graphs inside of nodes use some, too
            (field for field in fields if field[0] == _INPUT),
            [(_OUTPUT, *value[1:])],
        ),
        model_of(
            back,
            (field for field, name in weights if name in used),
            [value],
            (field for field in fields if field[0] == _OUTPUT),
        ),
        joint,
    )


def _node(field: Field) -> _Node:
    texts: dict[int, list[str]] = {_NODE_INPUT: [], _NODE_OUTPUT: [], _NODE_NAME: [""]}
    for number, _, content in _fields(field[2]):
        if number in texts:
            texts[number].append(bytes(content).decode())
    return _Node(field, texts[_NODE_NAME][-1], tuple(texts[_NODE_INPUT]), tuple(texts[_NODE_OUTPUT]))


def _has_graph(node: _Node) -> bool:
    attributes = (content for number, _, content in _fields(node.field[2]) if number == _NODE_ATTRIBUTE)
    return any(number in _ATTRIBUTE_GRAPHS for content in attributes for number, _, _ in _fields(content))


def _text(content: memoryview, wanted: int) -> str:
    return next((bytes(value).decode() for number, _, value in _fields(content) if number == wanted), "")


def _fields(content: memoryview) -> Iterator[Field]:
    """Yield the fields of a message, in order."""
    at = 0
    while at < len(content):
        tag, start = _varint(content, at)
        kind = tag & 7
        if kind == _VARINT:
            _, at = _varint(content, start)
        elif kind == _BYTES:
            size, start = _varint(content, start)
            at = start + size
        elif kind in _FIXED:
            at = start + _FIXED[kind]
        else:
            raise IndexError(kind)
        if at > len(content):
            raise IndexError(at)
        yield tag >> 3, kind, content[start:at]


def _varint(content: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = content[at]
        at, value, shift = at + 1, value | (byte & 0x7F) << shift, shift + 7
        if byte < 0x80:
            return value, at


def _joined(fields: Iterable[Field]) -> bytes:
    return b"".join(_written(*field[::2], field[1]) for field in fields)


def _written(number: int, content: bytes | memoryview, kind: int = _BYTES) -> bytes:
    size = _number(len(content)) if kind == _BYTES else b""
    return _number(number << 3 | kind) + size + bytes(content)


def _number(value: int) -> bytes:
    written = bytearray()
    while value > 0x7F:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*written, value])
