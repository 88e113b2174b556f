"""Opens a voice session of a house for a door: the house's ears and voice, and what it answers and remembers."""

from __future__ import annotations

from dataclasses import replace

from atlas.conversation import Actor
from atlas.events import Emit, Event, SpeechOut
from atlas.house import House
from atlas.speech.wake import WakeStream
from atlas.voice.options import ReplyOptions, SessionOptions
from atlas.voice.reply import Answer
from atlas.voice.session import Session


def voice_session(
    house: House,
    actor: Actor,
    emit: Emit,
    options: SessionOptions,
    *,
    wake: WakeStream | None,
    reply: Answer | None = None,
    wish: ReplyOptions | None = None,
) -> Session:
    """Return a session that `actor` speaks in. `reply` answers instead of the house; without `wake` it never sleeps."""
    scaled = house.volumes.on(actor.device_key)

    async def tell(event: Event) -> None:
        if isinstance(event, SpeechOut):
            event = replace(event, audio=scaled(event.audio))
        await emit(event)

    return Session(
        stt=house.ear,
        tts=house.tts,
        vad=house.vad,
        wake=wake,
        actor=actor,
        reply=reply or house.reply,
        prepare=house.prepare,
        remember=house.remember,
        pick=house.pick,
        settle_seconds=house.settle_seconds,
        foresee=house.foresee,
        judge=house.judge,
        goes_on=house.goes_on,
        wants_silence=house.wants_silence,
        emit=tell,
        waiting=house.waiting,
        options=options,
        wish=wish,
    )
