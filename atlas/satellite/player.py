"""What a room plays, at the pace of its playing: speech as it comes, tones over it, each counted once it was heard."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Protocol

import anyio

from atlas.errors import EngineError
from atlas.satellite.earcons import RATE, earcon, louder, mixed

SLICE_SECONDS = 0.02
SLICE_BYTES = round(SLICE_SECONDS * RATE) * 2
AHEAD_SECONDS = 0.08  # written before it is due: bridges a busy moment of the machine, and is what a stop still plays
IDLE_SECONDS = 1.0  # without sound, then the loudspeaker is closed
AGAIN_SECONDS = 0.5  # before one that went away is opened again
DUCKED = 0.3  # how loud speech is below a tone
MAX_SECONDS = 120.0  # of speech that waits: the house sends 0.3 s ahead, so more is a mistake
log = logging.getLogger("atlas")


class PlayerOutput(Protocol):
    """An open loudspeaker."""

    async def write(self, pcm: bytes) -> bool:
        """Play more; False when the loudspeaker is gone."""
        ...


@dataclass(slots=True, eq=False)
class QueuedSound:
    """Speech or a ring, from its first sound to its last."""

    gain: float = 1.0
    aloud: bool = False  # also in quiet hours
    waiting: bytearray = field(default_factory=bytearray)
    whole: bool = False  # nothing more will come
    bytes_played: int = 0
    over: anyio.Event = field(default_factory=anyio.Event)  # played to its end, or hushed
    hushed: bool = False

    @property
    def played_ms(self) -> int:
        """How much of it was played."""
        return self.bytes_played * 500 // RATE


class Player:
    """Plays stretches one after the other, and tones over them."""

    def __init__(
        self,
        open_output: Callable[[], AbstractAsyncContextManager[PlayerOutput]],
        # Given the speech that is played, for the echo canceller. No tones: it knows no echo yet when the first one is
        # played, and takes what somebody says meanwhile for it; and nobody takes a tone for speech.
        reference: Callable[[bytes], None] = lambda pcm: None,
    ) -> None:
        self.volume = 1.0
        self.hush_factor: Callable[[], float] = lambda: 1.0  # of the volume, in quiet hours
        self._open = open_output
        self._reference = reference
        self._queue: deque[QueuedSound] = deque()
        self._tones = bytearray()
        self._something = anyio.Event()

    @property
    def busy(self) -> bool:
        """Whether something is being played or waits for it."""
        return bool(self._queue or self._tones)

    def begin(self, gain: float = 1.0, *, aloud: bool = False) -> QueuedSound:
        """Return a new stretch, to be played after those before it; `feed` it, then `finish`."""
        stretch = QueuedSound(gain, aloud)
        self._queue.append(stretch)
        return stretch

    def feed(self, stretch: QueuedSound, pcm: bytes) -> None:
        """Take more of a stretch, 16-bit mono at `RATE`; of one that was hushed it goes nowhere."""
        if not stretch.over.is_set() and len(stretch.waiting) + len(pcm) <= MAX_SECONDS * RATE * 2:
            stretch.waiting += pcm
            self._wake()

    def finish(self, stretch: QueuedSound) -> None:
        """Say that a stretch is whole."""
        stretch.whole = True
        self._wake()

    def tone(self, name: str) -> None:
        """Play an earcon at once, over whatever is being said."""
        self._tones += earcon(name)
        self._wake()

    def hush(self) -> None:
        """Stop what is being said, and forget what waits."""
        while self._queue:
            stretch = self._queue.popleft()
            stretch.hushed = True
            stretch.over.set()

    async def run(self) -> None:
        """Play until cancelled. Without a loudspeaker sound is dropped at its pace, so that nothing waits for it."""
        while True:
            await self._something.wait()
            try:
                async with self._open() as output:
                    await self._play(output)
            except EngineError as trouble:
                log.warning("the loudspeaker cannot be opened: %s", trouble)
                await self._play(_Nowhere())

    async def _play(self, output: PlayerOutput) -> None:
        """Write slices at the pace of a clock, until there has been nothing to play for a while."""
        due, idle = anyio.current_time(), 0.0
        while idle <= IDLE_SECONDS:
            volume = self.volume if self._queue and self._queue[0].aloud else self.volume * self.hush_factor()
            speech, tone = self._next()
            idle = 0.0 if speech or tone else idle + SLICE_SECONDS
            if speech:
                self._reference(louder(speech.ljust(SLICE_BYTES, b"\0"), volume))
            pcm = mixed(louder(speech, DUCKED), tone) if tone else speech
            if not await output.write(louder(pcm.ljust(SLICE_BYTES, b"\0"), volume)):
                log.warning("the loudspeaker went away")
                await anyio.sleep(AGAIN_SECONDS)
                return
            due = max(due, anyio.current_time() - 1.0) + SLICE_SECONDS
            await anyio.sleep_until(due - AHEAD_SECONDS)
            self._settle()
        if not self.busy:
            self._something = anyio.Event()

    def _next(self) -> tuple[bytes, bytes]:
        """Return the next slices of speech and of tones."""
        tone = bytes(self._tones[:SLICE_BYTES])
        del self._tones[:SLICE_BYTES]
        return self._speech(), tone

    def _speech(self) -> bytes:
        if not self._queue:
            return b""
        stretch = self._queue[0]
        pcm = bytes(stretch.waiting[:SLICE_BYTES])
        del stretch.waiting[:SLICE_BYTES]
        stretch.bytes_played += len(pcm)
        return louder(pcm, stretch.gain)

    def _settle(self) -> None:
        """Let go of what has been played to its end."""
        while self._queue and self._queue[0].whole and not self._queue[0].waiting:
            self._queue.popleft().over.set()

    def _wake(self) -> None:
        self._something.set()


class _Nowhere:
    """What is played while there is no loudspeaker."""

    async def write(self, pcm: bytes) -> bool:
        """Take it."""
        return True
