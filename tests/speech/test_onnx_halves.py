"""A model is cut where one tensor leads from its front to its back."""

from __future__ import annotations

import pytest

from atlas.speech.onnx_halves import halves
from tests.conftest import for_every

UNREAD = b"\x08\x08"  # the version of the format, which is passed on as it is


def field(number: int, content: bytes) -> bytes:
    assert len(content) < 128
    return bytes([number << 3 | 2, len(content)]) + content


def node(name: str, inputs: str, outputs: str) -> bytes:
    parts = [field(1, one.encode()) for one in inputs] + [field(2, one.encode()) for one in outputs]
    return field(1, b"".join(parts) + field(3, name.encode()))


def model(*nodes: bytes, weights: str = "") -> bytes:
    tensors = b"".join(field(5, field(8, name.encode())) for name in weights)
    graph = b"".join(nodes) + tensors + field(11, field(1, b"x")) + field(12, field(1, b"z"))
    return field(7, graph) + UNREAD


def test_each_half_has_its_nodes_and_weights_and_the_tensor_between_them() -> None:
    cut = halves(model(node("in", "xv", "y"), node("/dec/out", "yw", "z"), weights="vw"), "/dec/")
    assert cut is not None
    assert cut.joint == "y"
    between = field(1, b"y") + b"\x12\x04\x0a\x02\x08\x01"
    of_v, of_w = field(5, field(8, b"v")), field(5, field(8, b"w"))
    assert cut.front == field(7, node("in", "xv", "y") + of_v + field(11, field(1, b"x")) + field(12, between)) + UNREAD
    assert cut.back == (
        field(7, node("/dec/out", "yw", "z") + of_w + field(11, between) + field(12, field(1, b"z"))) + UNREAD
    )


@for_every(
    "nodes",
    [
        (node("in", "x", "yu"), node("/dec/out", "yu", "z")),  # two tensors lead over
        (node("in", "x", "z"),),  # no back
        (node("/dec/out", "x", "z"),),  # no front
    ],
)
def test_a_model_that_cannot_be_cut_by_one_tensor_is_left_whole(nodes: tuple[bytes, ...]) -> None:
    assert halves(model(*nodes), "/dec/") is None


@for_every("data", [b"", b"no model at all", b"\x3a\xff", b"\x08", b"\x3a\x04\x0a\x7f12"])
def test_what_is_no_model_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="no ONNX model"):
        halves(data, "/dec/")
