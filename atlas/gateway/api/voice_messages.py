"""Voice messages: recorded or written for a room, a person or everybody; hear and delete them."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Request
from fastapi.responses import Response
from pydantic import Field

from atlas import trace
from atlas.audio import HEARING_RATE, AudioChunk
from atlas.errors import EngineError, RequestError, StoreError
from atlas.gateway.api.caller import Caller, ToolCaller, require_part
from atlas.gateway.api.recordings import read_recording
from atlas.gateway.api.resource import resource
from atlas.gateway.api.shapes import ApiReply, Body, OptionalName, ToolReply
from atlas.speech.message_sounds import LONGEST_SECONDS, MessageSounds
from atlas.speech.recording import transcribe_long, whole_text
from atlas.speech.wav import wav_header

SOUND_CHARACTERS = 3_500_000  # of base64: a minute of WAV at the hearing rate; phones record a tenth of that
TEXT_CHARACTERS = 1_900
router = resource("voice-messages")
MessageID = Annotated[str, Path(min_length=1, max_length=60, description="The id of a message")]


class VoiceMessage(ApiReply):
    """One message, without its sound."""

    id: str
    text: str = Field(description="Its words, as far as they were understood")
    room: str = Field(description="The room that it is for; empty, with no person, is everybody")
    person: str = Field(description="The person whom it is for")
    sender: str = Field(description="The person who left it; empty when nobody knows")
    sender_room: str
    at: float = Field(description="Seconds since 1970")
    heard_at: float | None = Field(description="When it was played to whom it is for")
    mine: bool = Field(description="Whether the caller left it")
    seconds: float = Field(default=0.0, description="Of its sound; 0 for one that is words alone")


class WaitingVoiceMessage(ApiReply):
    """One that waits for somebody else, of which even an owner is told no more."""

    id: str
    person: str
    at: float = Field(description="Seconds since 1970")


class VoiceMessagesReply(ToolReply):
    """The messages for the caller and those that they left, the oldest first."""

    messages: list[VoiceMessage]
    others: list[WaitingVoiceMessage] = Field(
        default=[], description="What others have not heard yet: for an owner, who may delete it"
    )


class VoiceMessageReply(ToolReply):
    """The message that was left, heard or deleted."""

    message: VoiceMessage


class NewVoiceMessage(Body):
    """A message: words, or a recording, or both."""

    text: Annotated[str, Field(max_length=TEXT_CHARACTERS)] = ""
    room: OptionalName = ""
    person: OptionalName = ""
    sound: Annotated[
        str,
        Field(
            max_length=SOUND_CHARACTERS,
            description="WAV, MP3, M4A, Ogg, FLAC or WebM in base64, a minute at most; its words are understood here",
        ),
    ] = ""


@router.get("")
async def list_voice_messages(caller: ToolCaller) -> VoiceMessagesReply:
    """Tell which messages there are for the caller, and which they have left."""
    reply = await caller.use(VoiceMessagesReply, "messages.list")
    if sounds := caller.house.sounds:
        for message in reply.messages:
            message.seconds = round(await sounds.seconds(message.id), 1)
    return reply


@router.post("", status_code=201)
async def leave_voice_message(caller: ToolCaller, new: NewVoiceMessage, request: Request) -> VoiceMessageReply:
    """Leave a message: it is played where those are whom it is for, and stays until it is deleted."""
    if new.sound:  # whoever the gate lets hear no messages leaves none, and their sound costs the house nothing
        await caller.use(VoiceMessagesReply, "messages.list")
    sound = await read_recording(new.sound, LONGEST_SECONDS, "sound", "sound") if new.sound else None
    text = new.text or (await _words(caller, sound, request) if sound else "")
    if sound is None:
        return await _leave(caller, new, text)
    sounds = _sounds(caller)
    with sounds.awaiting():
        reply = await _leave(caller, new, text, recorded=True)
        try:
            await sounds.put(reply.message.id, sound)
        except StoreError:  # who spoke shall not believe that it is stored
            await caller.use(VoiceMessageReply, "messages.delete", message=reply.message.id)
            raise
    reply.message.seconds = round(sound.seconds, 1)
    return reply


@router.get(
    "/{message}/sound",
    response_class=Response,
    responses={200: {"content": {"audio/wav": {}}, "description": "The sound, as a WAV file"}},
)
async def hear_voice_message(caller: ToolCaller, message: MessageID) -> Response:
    """Send the sound of a message that the caller may hear. That it was heard is told by `POST …/heard`."""
    listed = await caller.use(VoiceMessagesReply, "messages.list")
    sound = await _sounds(caller).get(message) if message in {one.id for one in listed.messages} else None
    if sound is None:
        raise RequestError("there is no sound of such a message", code="not_found")
    wav = wav_header(HEARING_RATE, sound.samples) + sound.pcm
    return Response(wav, media_type="audio/wav", headers={"cache-control": "no-store"})


@router.post("/{message}/heard")
async def note_heard(caller: ToolCaller, message: MessageID) -> VoiceMessageReply:
    """Note that the caller has heard a message: no room plays it any more."""
    return await caller.use(VoiceMessageReply, "messages.heard", message=message)


@router.delete("/{message}")
async def delete_voice_message(caller: ToolCaller, message: MessageID) -> VoiceMessageReply:
    """Delete a message and its sound, for good."""
    reply = await caller.use(VoiceMessageReply, "messages.delete", message=message)
    if caller.house.sounds:
        await caller.house.sounds.drop(reply.message.id)
    return reply


async def _leave(caller: Caller, new: NewVoiceMessage, text: str, *, recorded: bool = False) -> VoiceMessageReply:
    return await caller.use(
        VoiceMessageReply, "messages.leave", text=text, room=new.room, person=new.person, recorded=recorded
    )


async def _words(caller: Caller, sound: AudioChunk, request: Request) -> str:
    """Return what is said in a recording; "" where nobody understands it: its sound says it all the same."""
    house = caller.house
    try:
        passages = await transcribe_long(sound, house.stt, house.vad, request.app.state.files.limiter)
    except EngineError as trouble:
        trace.line("a message was not understood", device=caller.actor.device, error=trouble)
        return ""
    return whole_text(passages)[:TEXT_CHARACTERS]


def _sounds(caller: Caller) -> MessageSounds:
    return require_part(caller.house.sounds, "this house stores no sound")
