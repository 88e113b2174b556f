"""The stages that a Wyoming client asks for: an utterance put into words, a wake word waited for, words said."""

from __future__ import annotations

from contextlib import aclosing

import anyio
from wyoming import asr, audio, wake
from wyoming.event import Event

from atlas.audio import HEARING_RATE, SAMPLE_BYTES, AudioChunk, silence
from atlas.conversation import Actor, Utterance
from atlas.errors import RequestError
from atlas.fields import Fields
from atlas.gateway.realtime_sound import SoundPace
from atlas.gateway.wyoming_info import wake_name
from atlas.gateway.wyoming_wire import Peer, WyomingMicrophone, sound_event
from atlas.house import House
from atlas.own_words import speaking
from atlas.speech.agreement import Agreement
from atlas.speech.normalize import spoken
from atlas.speech.sentences import Sentences
from atlas.speech.stt import MAX_UTTERANCE_SECONDS
from atlas.speech.tts import MAX_TEXT_CHARACTERS

PARTIAL_SECONDS = 0.8  # of new sound between two readings of an utterance that still goes on
STREAM_CHARACTERS = 5 * MAX_TEXT_CHARACTERS  # of one answer that is spoken while it is written
MOST_WAKE_NAMES = 64
LEAD_IN = silence(0.2)  # a recogniser misses the first word of sound that begins with it, as after a wake word


class Listening:
    """One utterance of a client that says itself where it ends; its words are told as soon as they stand."""

    def __init__(self, house: House, peer: Peer) -> None:
        self.reads = False  # whether `read_along` was started
        self._house = house
        self._peer = peer
        self._microphone = WyomingMicrophone()
        self._sound = AudioChunk(b"")
        self._pcm = bytearray()
        self._grew = anyio.Event()
        self._reading, self._read = anyio.CancelScope(), anyio.Event()
        self._agreement = Agreement()
        self._begun = False

    async def hear(self, event: Event) -> None:
        """Take more sound. Raises `RequestError` when it is too long."""
        self._pcm += self._microphone.sound(event).pcm
        if self._seconds > MAX_UTTERANCE_SECONDS:
            raise RequestError(
                f"an utterance may last {MAX_UTTERANCE_SECONDS:.0f} s",
                code="audio_too_long",
                hint="send longer recordings to /v1/audio/transcriptions",
            )
        self._grew.set()

    async def read_along(self) -> None:
        """Tell the words so far, again and again, whenever the recogniser is free: those that will stand."""
        seconds = 0.0
        try:
            with self._reading:
                while True:
                    await self._grew.wait()
                    self._grew = anyio.Event()
                    if self._seconds < seconds + PARTIAL_SECONDS:
                        continue
                    seconds = self._seconds
                    if (text := await self._house.stt.skim(self._heard)) is not None:
                        await self._tell(self._agreement.read(text))
        finally:
            self._read.set()

    async def finish(self) -> Utterance:
        """Tell the words of the whole, and return them with what else they may be."""
        await self.end()
        utterance = Utterance("", 0.0)
        if self._pcm:
            utterance = self._house.pick(await self._house.ear.transcribe(self._heard))
        await self._tell(self._agreement.finish(utterance.text))
        language = utterance.language or self._house.config.house.language
        await self._peer.send(asr.Transcript(utterance.text, language=language).event())
        await self._peer.send(asr.TranscriptStop().event())
        return utterance

    async def end(self) -> None:
        """Read no further along."""
        self._reading.cancel()
        if self.reads:
            await self._read.wait()

    @property
    def _seconds(self) -> float:
        return LEAD_IN.seconds + len(self._pcm) / SAMPLE_BYTES / HEARING_RATE

    @property
    def _heard(self) -> AudioChunk:
        return LEAD_IN + AudioChunk(bytes(self._pcm))

    async def _tell(self, words: str) -> None:
        """Tell new words. What was told stays told: where it turned out otherwise, the end says so."""
        if not words:
            return
        if not self._begun:
            self._begun = True
            await self._peer.send(asr.TranscriptStart(language=self._house.config.house.language).event())
        await self._peer.send(asr.TranscriptChunk(words).event())


class Detecting:
    """A client that waits for a wake word; it is told of each."""

    def __init__(self, house: House, actor: Actor, peer: Peer, request: Event) -> None:
        names = request.data.get("names")
        if names is not None and not (isinstance(names, list) and len(names) <= MOST_WAKE_NAMES):
            raise Fields(request.data).wrong("names", "a list of names")
        self._names = names
        self._stream = house.hears_wake_words(actor)
        self._peer = peer
        self._microphone = WyomingMicrophone()
        self._pace = SoundPace(anyio.current_time())
        self._detected = False

    async def hear(self, event: Event) -> None:
        """Take more sound, and tell a wake word that was said."""
        sound = self._microphone.sound(event)
        await anyio.sleep(self._pace.delay(sound.seconds, anyio.current_time()))
        phrase = self._stream.hear(sound)
        name = wake_name(phrase) if phrase else ""
        if name and (not self._names or name in self._names):
            self._detected = True
            timestamp = Fields(event.data).whole("timestamp", 0, 2**63)
            await self._peer.send(wake.Detection(name, timestamp).event())

    async def finish(self) -> None:
        """Say that there was none, when the sound is over and there was none."""
        if not self._detected:
            await self._peer.send(wake.NotDetected().event())
        self._detected = False
        self._stream.reset()


class WyomingSaying:
    """Words that come whole or in pieces, said sentence by sentence as one stretch of sound."""

    def __init__(self, house: House, peer: Peer) -> None:
        self._house = house
        self._tts = house.tts
        self._peer = peer
        self._sentences = Sentences()
        self._characters = 0
        self._begun = False

    async def add(self, text: str) -> None:
        """Take more words; returns when those that are complete sentences were said. Raises `RequestError`."""
        self._characters += len(text)
        if self._characters > STREAM_CHARACTERS:
            raise RequestError(f"{STREAM_CHARACTERS} characters are the most", code="string_too_long")
        await self._say(self._sentences.feed(text))

    async def finish(self) -> None:
        """Say the rest, and end the sound."""
        await self._say(self._sentences.finish())
        await self._begin()  # also what cannot be said is answered
        await self._peer.send(audio.AudioStop().event())

    async def _say(self, pieces: list[str]) -> None:
        for piece in pieces:
            with speaking(self._house.language_of(piece)):
                async with aclosing(self._tts.speak(spoken(piece.strip()))) as chunks:
                    async for chunk in chunks:
                        await self._begin()
                        step = chunk.rate // 10
                        for start in range(0, chunk.samples, step):
                            await self._peer.send(sound_event(chunk.cut(start, start + step)))

    async def _begin(self) -> None:
        if not self._begun:
            self._begun = True
            await self._peer.send(audio.AudioStart(self._tts.rate, SAMPLE_BYTES, 1).event())
