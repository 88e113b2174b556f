"""Weights of PyTorch are read without it and run nothing; what is made of them is a model that runs."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

from atlas.errors import EngineError
from atlas.models.convert_campplus import campplus
from atlas.models.onnx_write import OnnxGraph
from atlas.models.torch_weights import read_checkpoint

SIX = np.arange(6, dtype="<f4")
REBUILD = "torch._utils\n_rebuild_tensor_v2"


def text(value: str) -> bytes:
    return b"X" + len(value).to_bytes(4, "little") + value.encode()


def numbers(*values: int) -> bytes:
    return b"(" + b"".join(b"I%d\n" % value for value in values) + b"t"


def checkpoint(
    function: str = REBUILD, strides: tuple[int, ...] = (3, 1), offset: int = 0, content: bytes = SIX.tobytes()
) -> bytes:
    """Return a file with one tensor, "w", of 2 × 3 numbers: what `torch.save` writes, by hand."""
    storage = b"(" + text("storage") + b"ctorch\nFloatStorage\n" + text("7") + text("cpu") + b"I6\nt" + b"Q"
    arguments = b"(" + storage + b"I%d\n" % offset + numbers(2, 3) + numbers(*strides) + b"\x89}" + b"t"
    pickled = b"\x80\x02}" + text("w") + b"c" + function.encode() + b"\n" + arguments + b"Rs."
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("archive/data.pkl", pickled)
        archive.writestr("archive/data/7", content)
    return file.getvalue()


def test_a_tensor_is_read_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "some.pt").write_bytes(checkpoint())
    (tensor,) = read_checkpoint(tmp_path / "some.pt").values()
    assert tensor.tolist() == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no zip at all",
        checkpoint(function="os\nsystem"),
        checkpoint(function="builtins\neval"),
        checkpoint(strides=(1, 2)),
        checkpoint(offset=1),
        checkpoint(offset=-1),
        checkpoint(content=b"123"),
        checkpoint()[:-30],
    ],
)
def test_a_checkpoint_that_names_another_function_or_lies_about_its_tensors_is_refused(
    content: bytes, tmp_path: Path
) -> None:
    (tmp_path / "some.pt").write_bytes(content)
    with pytest.raises(ValueError, match=r"some\.pt|buffer"):
        read_checkpoint(tmp_path / "some.pt")


def test_a_checkpoint_of_another_network_makes_no_model(tmp_path: Path) -> None:
    (tmp_path / "some.pt").write_bytes(checkpoint())
    with pytest.raises(EngineError, match="holds no CAM"):
        campplus(tmp_path, tmp_path / "made.onnx")
    assert not (tmp_path / "made.onnx").exists()


def test_a_graph_that_is_written_runs() -> None:
    graph = OnnxGraph("twice")
    x = graph.input("x", (1, "columns"))
    doubled = graph.node("Mul", x, graph.weights("two", np.full(1, 2, np.float32)))
    graph.node("ReduceMean", doubled, output="y", axes=[1], keepdims=0)
    graph.output("y", (1,))
    session = onnxruntime.InferenceSession(graph.model())
    assert session.run(None, {"x": np.array([[1, 2, 6]], np.float32)})[0].tolist() == [6.0]
