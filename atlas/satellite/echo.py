"""Take the room's own voice, and steady noise, out of what its microphone hears: WebRTC's audio processing."""

from __future__ import annotations

from typing import Any

from atlas.audio import HEARING_RATE, SAMPLE_BYTES, AudioChunk
from atlas.satellite.earcons import RATE
from atlas.speech.resample import Resampler

FRAME_SAMPLES = HEARING_RATE // 100  # the one length it takes: 10 ms
FRAME_BYTES = FRAME_SAMPLES * SAMPLE_BYTES
DELAY_MILLISECONDS = 200  # from what is given to the player to what the microphone hears; it finds out more exactly
TAIL_FRAMES = 100  # after the last sound a room still rings, and the loudspeaker's buffer plays on


class EchoCanceller:
    """Give it what is played and what is heard, both as they happen; it returns what somebody else said."""

    def __init__(self) -> None:
        """Raise `ImportError` where the package `livekit` is not installed."""
        from livekit import rtc  # 13 MB, and not everybody needs it

        self._frame: Any = rtc.AudioFrame
        self._apm = rtc.AudioProcessingModule(
            echo_cancellation=True, noise_suppression=True, high_pass_filter=True, auto_gain_control=False
        )
        self._apm.set_stream_delay_ms(DELAY_MILLISECONDS)
        self._resampler = Resampler(RATE, HEARING_RATE)
        self._played = self._heard = b""
        self._frames_left = 0

    def played(self, pcm: bytes) -> None:
        """Take what is being played, 16-bit mono at the player's rate."""
        self._played += self._resampler.feed(AudioChunk(pcm, RATE)).pcm
        while len(self._played) >= FRAME_BYTES:
            piece, self._played = self._played[:FRAME_BYTES], self._played[FRAME_BYTES:]
            self._apm.process_reverse_stream(self._frame(piece, HEARING_RATE, 1, FRAME_SAMPLES))
            self._frames_left = TAIL_FRAMES

    def heard(self, chunk: AudioChunk) -> AudioChunk:
        """Return what the microphone heard without what was played; while nothing plays, as it is."""
        if not self._frames_left:
            chunk, self._heard = AudioChunk(self._heard + chunk.pcm), b""
            return chunk
        self._heard += chunk.pcm
        cleaned = b""
        while len(self._heard) >= FRAME_BYTES:
            frame = self._frame(self._heard[:FRAME_BYTES], HEARING_RATE, 1, FRAME_SAMPLES)
            self._heard = self._heard[FRAME_BYTES:]
            self._apm.process_stream(frame)
            cleaned += bytes(frame.data.cast("b"))
            self._frames_left = max(0, self._frames_left - 1)
        return AudioChunk(cleaned)
