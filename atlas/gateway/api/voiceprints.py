"""Voiceprints: record one's own voice to be known by it in rooms, see whose are known, and delete them."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from atlas.errors import RequestError
from atlas.gateway.api.caller import Caller, ResidentCaller
from atlas.gateway.api.recordings import read_recording
from atlas.gateway.api.resource import resource
from atlas.gateway.api.shapes import ID, ApiReply, Body
from atlas.speaker_identification import FEWEST_SENTENCES, SENTENCE_SECONDS, voice_of
from wall.roles import NAMED_BY_VOICE, may

SOUND_CHARACTERS = 700_000  # of base64: ten seconds of WAV at the hearing rate, with room to spare
router = resource("voices", asks=False)


class VoiceItem(ApiReply):
    """A person whose voice is known; nobody gets the voiceprint itself."""

    person: str
    sentences: int = Field(description="Of how many sentences")
    recorded: float = Field(description="Seconds since 1970")
    mine: bool


class VoicesReply(ApiReply):
    """Whose voices are known: for an owner everybody's, for others their own."""

    enabled: bool = Field(description="Whether this house knows anybody by voice: [voices] in atlas.toml")
    sentences: int = Field(description="How many sentences are to be recorded")
    named: bool = Field(description="Whether a room would call the caller by name: not an owner, nor a nameless device")
    voices: list[VoiceItem]


class NewVoice(Body):
    """Sentences of the caller's own, each a recording; only the voiceprint that is made of them is stored."""

    sounds: Annotated[
        list[Annotated[str, Field(max_length=SOUND_CHARACTERS)]],
        Field(min_length=FEWEST_SENTENCES, max_length=10, description="WAV, MP3, M4A, Ogg, FLAC or WebM in base64"),
    ]


@router.get("")
async def list_voices(caller: ResidentCaller) -> VoicesReply:
    """Tell whose voices are known here."""
    actor, speakers = caller.actor, caller.house.speaker_identification
    profiles = await speakers.store.list() if speakers else ()
    sees_all = may(actor.role, "manage")
    return VoicesReply(
        enabled=bool(speakers and speakers.encoder),
        sentences=FEWEST_SENTENCES,
        named=bool(actor.person) and actor.role in NAMED_BY_VOICE,
        voices=[
            VoiceItem(
                person=one.person, sentences=one.sentences, recorded=one.recorded, mine=_is_of(caller, one.person)
            )
            for one in profiles
            if sees_all or _is_of(caller, one.person)
        ],
    )


@router.post("", status_code=201)
async def record_voice(caller: ResidentCaller, new: NewVoice) -> VoiceItem:
    """Have rooms know the caller by voice, who must speak here alone; what was recorded before is replaced."""
    if not caller.actor.person:
        raise RequestError(
            "nobody knows whose voice that would be",
            code="no_person",
            hint="record it on a device of your own: an owner invites it with your name",
        )
    speakers = caller.house.speaker_identification
    if speakers is None or speakers.encoder is None:
        raise RequestError(
            "this house knows nobody by voice", code="not_found", hint="set enabled = true in [voices] of atlas.toml"
        )
    sounds = [
        await read_recording(sound, SENTENCE_SECONDS, f"sentence {number}", "sounds")
        for number, sound in enumerate(new.sounds, 1)
    ]
    voiceprint = await voice_of(speakers.encoder, sounds)
    profile = await speakers.store.put(caller.actor.person, voiceprint, len(sounds))
    return VoiceItem(person=profile.person, sentences=profile.sentences, recorded=profile.recorded, mine=True)


@router.delete("/{person}", status_code=204)
async def delete_voice(caller: ResidentCaller, person: ID) -> None:
    """Delete a voice, down to its bytes on the disk: one's own, or, as an owner, anybody's."""
    speakers = caller.house.speaker_identification
    may_delete = _is_of(caller, person) or may(caller.actor.role, "manage")
    if not (speakers and may_delete and await speakers.store.forget(person)):
        raise RequestError(
            f"there is no voice of {person} that you could delete",
            code="not_found",
            hint="its person may, and an owner",
        )


def _is_of(caller: Caller, person: str) -> bool:
    mine = caller.actor.person.casefold()
    return bool(mine) and mine == person.casefold()
