"""Cuts an ONNX model in two where one tensor leads from its front to its back. Pure; bytes in, bytes out.

A voice of Piper (VITS) is such a model: its front makes of phonemes the frames that are to be heard, all at
once, its back makes samples of frames, and of any few as well as of all. The second takes most of the time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass

# What is looked at of https://github.com/onnx/onnx/blob/main/onnx/onnx.proto: fields of its messages, by their numbers
# and what they are ("" is text); what else a model has is passed on. All may be repeated: on the wire it is the same.
_MESSAGES: Mapping[str, Mapping[str, tuple[int, str]]] = {
    "Model": {"graph": (7, "Graph")},
    "Graph": {
        "node": (1, "Node"),
        "initializer": (5, "Tensor"),
        "input": (11, "Value"),
        "output": (12, "Value"),
        "value_info": (13, "Value"),
    },
    "Node": {"input": (1, ""), "output": (2, ""), "name": (3, ""), "attribute": (5, "Attribute")},
    "Attribute": {"g": (6, "Graph"), "graphs": (11, "Graph")},
    "Tensor": {"name": (8, "")},
    "Value": {"name": (1, "")},
}
_FLOATS = b"\x12\x04\x0a\x02\x08\x01"  # ValueInfoProto.type: a tensor of floats, of any shape


@dataclass(frozen=True, slots=True)
class ModelHalves:
    """A model in two: `front` has its inputs, `back` its outputs, and `joint` is the tensor between them."""

    front: bytes
    back: bytes
    joint: str


def halves(model: bytes, back_begins: str) -> ModelHalves | None:
    """Return a model cut before its first node whose name begins so; `None` where not one tensor alone is cut.

    Raises `ValueError` for what is no ONNX model.
    """
    messages = _classes()
    try:
        whole = messages["Model"].FromString(model)
        nodes = list(whole.graph[0].node)
    except (DecodeError, IndexError) as trouble:
        raise ValueError("this is no ONNX model") from trouble
    at = next((place for place, node in enumerate(nodes) if "".join(node.name).startswith(back_begins)), 0)
    front, back = nodes[:at], nodes[at:]
    used = {name for node in back for name in node.input}
    cut = used & {name for node in front for name in node.output}
    if len(cut) != 1 or any(one.g or one.graphs for node in back for one in node.attribute):
        return None  # a node with a graph of its own may use any tensor around it
    joint = cut.pop()
    elsewhere = used - {name for node in front for name in node.input}
    value = messages["Value"].FromString(_FLOATS)
    value.name.append(joint)

    def half(whole: Any, others: slice, end: str, is_needed: Callable[[str], bool]) -> bytes:
        graph = whole.graph[0]
        graph.ClearField("value_info")
        graph.ClearField(end)
        getattr(graph, end).append(value)
        del graph.node[others]
        for place, weights in reversed([*enumerate(graph.initializer)]):
            if not is_needed("".join(weights.name)):
                del graph.initializer[place]
        return bytes(whole.SerializeToString())

    its_back = half(messages["Model"].FromString(model), slice(at), "input", lambda name: name in used)
    # Graphs inside of nodes of the front use some weights, too.
    its_front = half(whole, slice(at, None), "output", lambda name: name not in elsewhere)
    return ModelHalves(its_front, its_back, joint)


def _classes() -> Mapping[str, Any]:
    file = FileDescriptorProto(name="onnx_halves.proto")
    for message, fields in _MESSAGES.items():
        its = file.message_type.add(name=message).field
        for name, (number, kind) in fields.items():
            form = FieldDescriptorProto.TYPE_MESSAGE if kind else FieldDescriptorProto.TYPE_STRING
            its.add(
                name=name, number=number, type=form, type_name=kind or None, label=FieldDescriptorProto.LABEL_REPEATED
            )
    pool = DescriptorPool()
    pool.Add(file)
    return {name: GetMessageClass(pool.FindMessageTypeByName(name)) for name in _MESSAGES}
