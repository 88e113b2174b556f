"""Writes an ONNX model: nodes, weights, inputs and outputs. Pure; the same calls give the same bytes.

Only what is needed of the wire format is written here: https://github.com/onnx/onnx/blob/main/onnx/onnx.proto
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

# Field numbers of onnx.proto.
_MODEL_IR, _MODEL_PRODUCER, _MODEL_GRAPH, _MODEL_OPSET = 1, 2, 7, 8
_NODE, _GRAPH_NAME, _INITIALIZER, _INPUT, _OUTPUT = 1, 2, 5, 11, 12
_NODE_INPUT, _NODE_OUTPUT, _NODE_NAME, _NODE_KIND, _NODE_ATTRIBUTE = 1, 2, 3, 4, 5
_ATTRIBUTE_NAME, _ATTRIBUTE_INT, _ATTRIBUTE_INTS, _ATTRIBUTE_KIND = 1, 3, 8, 20
_TENSOR_DIMS, _TENSOR_KIND, _TENSOR_NAME, _TENSOR_BYTES = 1, 2, 8, 9
_INT, _INTS = 2, 7  # kinds of attributes
_KINDS = {"float32": 1, "int64": 7}  # of tensors
_IR, _OPSET = 8, 17

Array = NDArray[np.float32] | NDArray[np.int64]
Shape = Sequence[int | str]  # a name stands for a size that is known when it runs
Attribute = int | Sequence[int]


class OnnxGraph:
    """A graph that grows node by node; each gives the name of what it makes, for the next."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._nodes = 0
        self._fields: list[bytes] = []

    def input(self, name: str, shape: Shape) -> str:
        """Add floats that come from outside."""
        self._fields.append(_block(_INPUT, _value(name, shape)))
        return name

    def output(self, name: str, shape: Shape) -> None:
        """Say what goes out."""
        self._fields.append(_block(_OUTPUT, _value(name, shape)))

    def weights(self, name: str, values: Array) -> str:
        """Add numbers that stay the same."""
        dims = b"".join(_whole(_TENSOR_DIMS, size) for size in values.shape)
        kind = _whole(_TENSOR_KIND, _KINDS[values.dtype.name])
        content = np.ascontiguousarray(values).astype(values.dtype.newbyteorder("<")).tobytes()
        tensor = dims + kind + _block(_TENSOR_NAME, name.encode()) + _block(_TENSOR_BYTES, content)
        self._fields.append(_block(_INITIALIZER, tensor))
        return name

    def node(self, kind: str, *inputs: str, output: str = "", **attributes: Attribute) -> str:
        """Add one operation of ONNX; returns the name of its only output."""
        self._nodes += 1
        output = output or f"t{self._nodes}"
        fields = [_block(_NODE_INPUT, name.encode()) for name in inputs]
        fields += [_block(_NODE_OUTPUT, output.encode()), _block(_NODE_KIND, kind.encode())]
        fields += [_block(_NODE_ATTRIBUTE, _attribute(*attribute)) for attribute in sorted(attributes.items())]
        self._fields.append(_block(_NODE, b"".join(fields)))
        return output

    def model(self) -> bytes:
        """Return the whole as a file of ONNX."""
        graph = b"".join([*self._fields, _block(_GRAPH_NAME, self._name.encode())])
        opset = _block(_MODEL_OPSET, _whole(2, _OPSET))
        return _whole(_MODEL_IR, _IR) + _block(_MODEL_PRODUCER, b"atlas") + opset + _block(_MODEL_GRAPH, graph)


def _attribute(name: str, value: Attribute) -> bytes:
    begin = _block(_ATTRIBUTE_NAME, name.encode())
    if isinstance(value, int):
        return begin + _whole(_ATTRIBUTE_INT, value) + _whole(_ATTRIBUTE_KIND, _INT)
    values = b"".join(_whole(_ATTRIBUTE_INTS, one) for one in value)
    return begin + values + _whole(_ATTRIBUTE_KIND, _INTS)


def _value(name: str, shape: Shape) -> bytes:
    sizes = (_block(2, size.encode()) if isinstance(size, str) else _whole(1, size) for size in shape)
    dims = b"".join(_block(1, size) for size in sizes)
    return _block(1, name.encode()) + _block(2, _block(1, _whole(1, _KINDS["float32"]) + _block(2, dims)))


def _whole(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(value % (1 << 64))


def _block(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    written = bytearray()
    while value > 0x7F:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*written, value])
