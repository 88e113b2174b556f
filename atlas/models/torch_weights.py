"""Reads the tensors of a PyTorch checkpoint, without PyTorch and without running anything that is in it.

A checkpoint is a zip: a pickle that says what every tensor is called and shaped, and one file of bytes for each. A
pickle may name any function of Python to be called; here it may name the four that a plain checkpoint needs.
"""

from __future__ import annotations

import pickle
import zipfile
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
MOST_BYTES = 256 * 1024 * 1024  # of all that is unpacked


def read_checkpoint(file: Path) -> dict[str, Floats]:
    """Return the float32 tensors of a state dict by their names. Raises `ValueError` for anything else."""
    try:
        with zipfile.ZipFile(file) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > MOST_BYTES:
                raise ValueError(f"{file.name} is too large")
            index = next(name for name in archive.namelist() if PurePosixPath(name).name == "data.pkl")
            with archive.open(index) as pickled:
                tensors = _Reader(pickled, archive, PurePosixPath(index).parent / "data").load()
    except (zipfile.BadZipFile, pickle.UnpicklingError, StopIteration, EOFError, KeyError) as trouble:
        raise ValueError(f"{file.name} is no checkpoint: {trouble}") from trouble
    if not isinstance(tensors, Mapping):
        raise ValueError(f"{file.name} holds no tensors by name")  # noqa: TRY004  the file's fault, no caller's
    return {name: tensor for name, tensor in tensors.items() if isinstance(tensor, np.ndarray)}


class _Reader(pickle.Unpickler):
    """Unpickles nothing but tensors, each from its file of the archive."""

    def __init__(self, pickled: Any, archive: zipfile.ZipFile, folder: PurePosixPath) -> None:
        super().__init__(pickled)
        self._archive, self._folder = archive, folder

    def find_class(self, module: str, name: str) -> Any:
        """Return what stands for one of the four names; refuse every other."""
        known = {
            ("torch._utils", "_rebuild_tensor_v2"): _tensor,
            ("collections", "OrderedDict"): OrderedDict,
            ("torch", "FloatStorage"): np.dtype("<f4"),
            ("torch", "LongStorage"): None,  # counters of the training
        }
        if (module, name) not in known:
            raise pickle.UnpicklingError(f"{module}.{name} has no place in a file of weights")
        return known[module, name]

    def persistent_load(self, pid: Any) -> Floats | None:
        """Return the numbers of one storage; `None` for what are no floats."""
        _, kind, key, *_ = pid
        if kind is None:
            return None
        return np.frombuffer(self._archive.read(str(self._folder / key)), kind)


def _tensor(storage: Floats | None, offset: int, shape: tuple[int, ...], strides: tuple[int, ...], *_: Any) -> Any:
    if storage is None:
        return None
    size = int(np.prod(shape, dtype=np.int64))
    rows = np.cumprod((1, *reversed(shape[1:]))) if shape else ()
    if tuple(reversed(tuple(rows))) != strides or not 0 <= offset <= offset + size <= storage.size:
        raise pickle.UnpicklingError("a tensor does not lie in its storage row by row")
    return storage[offset : offset + size].reshape(shape)
