"""Voiceprints that are directions: two differ by the cosine of what is between them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from atlas.audio import AudioChunk


def at(degrees: float) -> Any:
    """Return a voiceprint in this direction."""
    return np.array([math.cos(math.radians(degrees)), math.sin(math.radians(degrees))], np.float32)


@dataclass
class Directions:
    """Makes a voiceprint of a sound by its length: so many hundredths of a second are so many degrees."""

    too_short: float = 0.0

    async def encode(self, sound: AudioChunk) -> Any:
        """See `VoiceEncoder.encode`."""
        return None if sound.seconds <= self.too_short else at(round(sound.seconds * 100))
