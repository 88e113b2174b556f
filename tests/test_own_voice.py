"""What a person passes on to others goes out in that person's own voice."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from atlas.conversation import Actor, ConfirmationRequest, ToolCall, ToolResult, Turn
from atlas.events import Event, ToolFinished, ToolStarted
from atlas.own_voice import OwnVoices
from atlas.speech.message_sounds import MessageSounds
from tests.scripted_vad import voice

CALL = ToolCall("call_1", "broadcast.say", {"text": "dinner is ready"})
ID = "broadcast_0123456789abcdef"
DONE = ToolResult("call_1", True, "done", {"broadcast": {"id": ID}})
ASK = ConfirmationRequest("ask_1", "Shall I say that everywhere?", "confirm", 60.0, "broadcast.say", "")
ASKED = ToolResult("call_1", False, ASK.sentence, error="confirm", ask=ASK)


def turn(**fields: Any) -> Turn:
    return Turn("turn_1", "tell everyone dinner is ready", Actor("Anna", "kitchen", "adult"), 0.0, **fields)


async def test_the_sound_is_stored_before_anybody_is_told_and_nobody_says_it_without(tmp_path: Any) -> None:
    sounds, seen = MessageSounds(tmp_path), list[tuple[bool, bool]]()

    async def emit(event: Event) -> None:
        seen.append((sounds.awaited, bool(await sounds.get(ID))))

    with OwnVoices(sounds).of(turn(sound=voice(2.0)), emit) as tell:
        await tell(ToolStarted(CALL))
        await tell(ToolFinished(CALL, DONE))
    assert seen == [(True, False), (False, True)]


async def test_what_was_refused_typed_or_is_no_message_leaves_no_sound(tmp_path: Any) -> None:
    sounds = MessageSounds(tmp_path / "m")

    async def emit(event: Event) -> None: ...

    for words, call, result in (
        (turn(), CALL, DONE),
        (turn(sound=voice(1.0)), CALL, ToolResult("call_1", False, "no")),
        (turn(sound=voice(1.0)), ToolCall("call_1", "timers.start", {}), DONE),
    ):
        with OwnVoices(sounds).of(words, emit) as tell:
            await tell(ToolStarted(call))
            await tell(ToolFinished(call, result))
    assert await sounds.ids("broadcast") == set()
    assert not sounds.awaited


async def test_whoever_hangs_up_as_a_message_is_passed_on_holds_no_other_message_back(tmp_path: Any) -> None:
    sounds = MessageSounds(tmp_path)

    async def gone(event: Event) -> None:
        raise RuntimeError("the wire is gone")

    with pytest.raises(RuntimeError), OwnVoices(sounds).of(turn(sound=voice(1.0)), gone) as tell:
        await tell(ToolStarted(CALL))
    assert not sounds.awaited


@pytest.mark.parametrize("seconds", [3.0, 0.0], ids=["spoken", "typed"])
async def test_what_needed_a_yes_goes_out_in_the_sound_in_which_it_was_asked_for(tmp_path: Any, seconds: float) -> None:
    sounds = MessageSounds(tmp_path)
    voices = OwnVoices(sounds)

    async def emit(event: Event) -> None: ...

    again = replace(CALL, id="call_2")
    for words, call, result in (
        (turn(sound=voice(seconds) if seconds else None), CALL, ASKED),
        (turn(sound=voice(1.0)), again, ASKED),  # a yes that came too soon: it is asked again
        (turn(sound=voice(1.0)), again, DONE),
    ):
        with voices.of(words, emit) as tell:
            await tell(ToolStarted(call))
            await tell(ToolFinished(call, result))
    assert await sounds.seconds(ID) == seconds
