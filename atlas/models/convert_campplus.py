"""Makes an ONNX file of CAM++, a network that tells voices apart, from its maker's PyTorch checkpoint.

Wang and others, "CAM++: A Fast and Efficient Network for Speaker Verification Using Context-Aware Masking" (2023):
residual blocks over mel bands and time, three dense blocks of dilated convolutions whose output is masked by what is
said around it, mean and deviation over time, 192 numbers. What is around comes in as a matrix, so that averages over
all and over 100 frames are one product.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from atlas.errors import EngineError
from atlas.models.onnx_write import OnnxGraph
from atlas.models.torch_weights import read_checkpoint

Floats = NDArray[np.float32]
MEL_BANDS = 80
EMBEDDING_SIZE = 192
DENSE_BLOCKS = ((12, 1), (24, 2), (16, 2))  # layers and dilation of each


def campplus(folder: Path, file: Path) -> None:
    """Write the network whose checkpoint is the only one in `folder` into `file`.

    Raises `EngineError` when it is missing, or another network.
    """
    try:
        (checkpoint,) = folder.glob("*.pt")
        file.write_bytes(_Network(read_checkpoint(checkpoint)).model())
    except (OSError, ValueError, KeyError) as trouble:
        raise EngineError(f"{folder} holds no CAM++ that can be converted: {trouble}") from trouble


class _Network:
    """The graph, with the weights under the names that they have in the checkpoint."""

    def __init__(self, tensors: Mapping[str, Floats]) -> None:
        self._tensors = tensors
        self._graph = OnnxGraph("campplus")

    def model(self) -> bytes:
        """Return the whole network as ONNX."""
        graph = self._graph
        features = graph.input("features", (1, 1, MEL_BANDS, "frames"))
        graph.input("around", ("steps", "steps"))
        x = self._front(features)
        flat = graph.weights("flat", np.array([1, self._tensors["xvector.tdnn.linear.weight"].shape[1], -1]))
        x = graph.node("Reshape", x, flat)
        x = self._convolved(x, "xvector.tdnn.linear", strides=[2], pads=[2, 2])
        x = self._rectified(x, "xvector.tdnn.nonlinear.batchnorm")
        for number, (layers, dilation) in enumerate(DENSE_BLOCKS, 1):
            for layer in range(1, layers + 1):
                new = self._dense_layer(x, f"xvector.block{number}.tdnnd{layer}", dilation)
                x = graph.node("Concat", x, new, axis=1)
            x = self._rectified(x, f"xvector.transit{number}.nonlinear.batchnorm")
            x = self._convolved(x, f"xvector.transit{number}.linear")
        x = self._pooled(self._rectified(x, "xvector.out_nonlinear.batchnorm"))
        x = self._convolved(x, "xvector.dense.linear")
        x = self._normalised(x, "xvector.dense.nonlinear.batchnorm")
        graph.node("Flatten", x, output="embedding")
        graph.output("embedding", (1, EMBEDDING_SIZE))
        return graph.model()

    def _front(self, x: str) -> str:
        """Halve the bands three times, with residuals; time stays as it is."""
        x = self._rectified(self._convolved(x, "head.conv1", pads=[1] * 4), "head.bn1")
        for layer in ("head.layer1", "head.layer2"):
            x = self._residual(x, f"{layer}.0", halved=True)
            x = self._residual(x, f"{layer}.1")
        return self._rectified(self._convolved(x, "head.conv2", pads=[1] * 4, strides=[2, 1]), "head.bn2")

    def _residual(self, x: str, name: str, *, halved: bool = False) -> str:
        strides = [2 if halved else 1, 1]
        y = self._rectified(self._convolved(x, f"{name}.conv1", pads=[1] * 4, strides=strides), f"{name}.bn1")
        y = self._normalised(self._convolved(y, f"{name}.conv2", pads=[1] * 4), f"{name}.bn2")
        if halved:
            x = self._normalised(self._convolved(x, f"{name}.shortcut.0", strides=strides), f"{name}.shortcut.1")
        return self._graph.node("Relu", self._graph.node("Add", x, y))

    def _dense_layer(self, x: str, name: str, dilation: int) -> str:
        x = self._convolved(self._rectified(x, f"{name}.nonlinear1.batchnorm"), f"{name}.linear1")
        x = self._rectified(x, f"{name}.nonlinear2.batchnorm")
        cam = f"{name}.cam_layer"
        local = self._convolved(x, f"{cam}.linear_local", pads=[dilation] * 2, dilations=[dilation])
        context = self._graph.node("MatMul", x, "around")
        context = self._graph.node("Relu", self._convolved(context, f"{cam}.linear1"))
        mask = self._graph.node("Sigmoid", self._convolved(context, f"{cam}.linear2"))
        return self._graph.node("Mul", local, mask)

    def _pooled(self, x: str) -> str:
        """Mean and deviation of a sample over time."""
        graph = self._graph
        mean = graph.node("ReduceMean", x, axes=[2])
        apart = graph.node("Sub", x, mean)
        squares = graph.node("ReduceSum", graph.node("Mul", apart, apart), graph.weights("time", np.array([2])))
        steps = graph.node("Cast", graph.node("Shape", x, start=2), to=1)
        fewer = graph.node("Sub", steps, graph.weights("one", np.ones(1, np.float32)))
        deviation = graph.node("Sqrt", graph.node("Div", squares, fewer))
        return graph.node("Concat", mean, deviation, axis=1)

    def _convolved(self, x: str, name: str, **shape: list[int]) -> str:
        inputs = [self._graph.weights(f"{name}.weight", self._tensors[f"{name}.weight"])]
        if f"{name}.bias" in self._tensors:
            inputs.append(self._graph.weights(f"{name}.bias", self._tensors[f"{name}.bias"]))
        return self._graph.node("Conv", x, *inputs, output="", **shape)

    def _normalised(self, x: str, name: str) -> str:
        mean, variance = self._tensors[f"{name}.running_mean"], self._tensors[f"{name}.running_var"]
        scale = self._tensors.get(f"{name}.weight", np.ones_like(mean))
        shift = self._tensors.get(f"{name}.bias", np.zeros_like(mean))
        parts = {"weight": scale, "bias": shift, "running_mean": mean, "running_var": variance}
        inputs = [self._graph.weights(f"{name}.{part}", values) for part, values in parts.items()]
        return self._graph.node("BatchNormalization", x, *inputs)

    def _rectified(self, x: str, name: str) -> str:
        return self._graph.node("Relu", self._normalised(x, name))
