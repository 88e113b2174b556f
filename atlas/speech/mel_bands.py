"""Makes the mel bands that networks of voices are taught on: Kaldi's `fbank`, with its defaults and without dither.

Frames of 25 ms every 10 ms, their mean taken out, pre-emphasised, under Povey's window; the energy in 80 triangles
from 20 Hz to 8 kHz, as logarithms. Written from Kaldi's feature-fbank and feature-window, in numpy.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from atlas.audio import HEARING_RATE

Floats = NDArray[np.float32]
FRAME_SAMPLES, STEP_SAMPLES, FFT_SIZE = 400, 160, 512
BANDS = 80
LOWEST_HZ = 20.0
PRE_EMPHASIS = 0.97
SMALLEST = np.finfo(np.float32).eps  # what a logarithm is taken of at least


def log_mel_bands(samples: Floats) -> Floats:
    """Return frames × bands of samples between -1 and 1. Shorter sounds than one frame have none."""
    if samples.size < FRAME_SAMPLES:
        return np.zeros((0, BANDS), np.float32)
    frames = np.lib.stride_tricks.sliding_window_view(samples, FRAME_SAMPLES)[::STEP_SAMPLES]
    frames = frames - frames.mean(axis=1, keepdims=True)
    before = np.concatenate([frames[:, :1], frames[:, :-1]], axis=1)
    windowed = (frames - PRE_EMPHASIS * before) * _window()
    power = np.abs(np.fft.rfft(windowed, FFT_SIZE)) ** 2
    return np.log(np.maximum(power @ _triangles(), SMALLEST)).astype(np.float32)


@cache
def _window() -> NDArray[np.float64]:
    return np.hanning(FRAME_SAMPLES) ** 0.85


@cache
def _triangles() -> NDArray[np.float64]:
    """Return bins × bands: how much of each bin of the spectrum each band counts."""
    edges = np.linspace(_mel(LOWEST_HZ), _mel(HEARING_RATE / 2), BANDS + 2)
    bins = _mel(np.arange(FFT_SIZE // 2 + 1) * HEARING_RATE / FFT_SIZE)[:, np.newaxis]
    rising = (bins - edges[:-2]) / (edges[1:-1] - edges[:-2])
    falling = (edges[2:] - bins) / (edges[2:] - edges[1:-1])
    return np.maximum(0.0, np.minimum(rising, falling))


def _mel(hertz: float | NDArray[np.float64]) -> NDArray[np.float64]:
    return 1127.0 * np.log1p(np.asarray(hertz) / 700.0)
