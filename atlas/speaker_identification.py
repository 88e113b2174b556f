"""Knows by voice which person speaks in a room, of those who have recorded theirs; gives nobody a right by that.

Only where a room listens that is nobody's own device, and only people whose standing is no higher than a room's: the
turn keeps the device's role, so a recording or an imitation gets what anybody in that room gets, and the person's name.
What is too short or too unlike to tell stays with who was heard there just before, if that voice is not another's:
"yes" and "and tomorrow?" belong to the sentence before them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

import anyio

from atlas import trace
from atlas.audio import AudioChunk
from atlas.conversation import Actor, Turn
from atlas.errors import RequestError, StoreError
from atlas.latest import Latest
from atlas.speech.voiceprints import VoiceEncoder, VoiceMatch, Voiceprint, match, mean
from atlas.store.devices import TokenDevice
from atlas.store.voiceprints import VoiceprintStore
from wall.roles import NAMED_BY_VOICE, ROOM

FOLLOWING_SECONDS = 30.0  # so soon after a sentence, what cannot be told is taken for the same person's
NOT_ANOTHERS = 0.25  # a voice less alike is somebody else's
MOST_DEVICES = 256
FEWEST_SENTENCES = 5  # of a profile
SENTENCE_SECONDS = 15.0  # none is longer
LEAST_ALIKE = 0.3  # sentences of one voice; below it somebody else spoke, or a noise


@dataclass(frozen=True, slots=True)
class _HeardVoice:
    person: str
    at: float


class SpeakerIdentification:
    """Names the speakers of turns. One for the house; without an encoder it names nobody, and its store is there."""

    def __init__(
        self,
        encoder: VoiceEncoder | None,
        store: VoiceprintStore,
        devices: Callable[[], Awaitable[Sequence[TokenDevice]]],
    ) -> None:
        self.encoder = encoder
        self.store = store
        self._devices = devices
        self._last = Latest[str, _HeardVoice](MOST_DEVICES)  # by device

    async def identified(self, turn: Turn) -> Turn:
        """Return the turn as that of the person whose voice it is; as it is where nobody's is known.

        A store that fails costs no turn. Cancelling is safe.
        """
        actor = turn.actor
        if self.encoder is None or actor.role != ROOM or actor.person or not actor.room or turn.channel != "voice":
            return turn
        with trace.current().stage("voice"):
            person = await self._person(turn, self.encoder)
        trace.current().mark("voice")
        if not person:
            self._last.pop(actor.device, None)
            return turn
        self._last[actor.device] = _HeardVoice(person, anyio.current_time())
        return replace(turn, actor=replace(actor, person=person), voice=person)

    async def _person(self, turn: Turn, encoder: VoiceEncoder) -> str:
        try:
            known = await self.store.voiceprints()
            named = await self._named_by_voice()
            voiceprint = await encoder.encode(turn.sound) if known and turn.sound else None
        except StoreError as trouble:
            trace.line("nobody is known by voice", device=turn.actor.device, error=trouble)
            return ""
        whose = None if voiceprint is None else match(voiceprint, known)  # among all: an owner's is not a son's
        if whose and whose.person:
            return whose.person if whose.person.casefold() in named else ""
        before = self._before(turn.actor, whose)
        return before if before.casefold() in named else ""

    def _before(self, actor: Actor, whose: VoiceMatch | None) -> str:
        """Return who was heard on this device just before, if this may be the same voice."""
        last = self._last.get(actor.device)
        if last is None or anyio.current_time() - last.at > FOLLOWING_SECONDS:
            return ""
        may_be = whose is None or (whose.closest == last.person and whose.score >= NOT_ANOTHERS)
        return last.person if may_be else ""

    async def _named_by_voice(self) -> frozenset[str]:
        """Return the people, in small letters, all of whose devices have a standing that a room may speak for."""
        devices = [one for one in await self._devices() if one.person]
        higher = {one.person.casefold() for one in devices if one.role not in NAMED_BY_VOICE}
        return frozenset(one.person.casefold() for one in devices) - higher


async def voice_of(encoder: VoiceEncoder, sounds: Sequence[AudioChunk]) -> Voiceprint:
    """Return the voiceprint of one person's sentences.

    Raises `RequestError` when one is too short, or is unlike the others: two people, or mostly noise.
    """
    voiceprints = []
    for number, sound in enumerate(sounds, 1):
        voiceprint = await encoder.encode(sound)
        if voiceprint is None:
            raise RequestError(
                f"sentence {number} is too short to know a voice by",
                code="voice_too_short",
                param="sounds",
                hint="speak for two or three seconds",
            )
        voiceprints.append(voiceprint)
    whole = mean(voiceprints)
    for number, one in enumerate(voiceprints, 1):
        if float(one @ whole) < LEAST_ALIKE:
            raise RequestError(
                f"sentence {number} does not sound like the same voice",
                code="voice_unlike",
                param="sounds",
                hint="record all of them alone, in a quiet room",
            )
    return whole
