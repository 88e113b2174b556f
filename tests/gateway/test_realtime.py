"""The Realtime door, tried by the stock client of OpenAI over a real server."""

from __future__ import annotations

import base64
import gc
import json
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
import websockets

from atlas.agents.agent import AgentAnswer
from atlas.audio import AudioChunk, silence
from atlas.bell import Ringing
from atlas.config import Config
from atlas.conversation import Actor, Turn
from atlas.errors import EngineError, StoreError
from atlas.events import Emit
from atlas.gateway import files, realtime
from atlas.gateway.realtime_items import Items, read_item
from atlas.gateway.realtime_sound import CODES, LEVELS, Inward, Outward, SoundPace
from atlas.gateway.realtime_wire import TRANSCRIPTION
from atlas.speech.resample import resampled
from atlas.speech.wav import write_wav
from tests.conftest import for_every
from tests.gateway.small_house import SmallHouse, let_others_run, served
from tests.processes import until
from tests.scripted_vad import voice
from wall.roles import Role

RATE = 24_000
MOST_KEPT = 4  # of a kind: threads and timers of the loop come and go by themselves


def wire(sound: AudioChunk) -> str:
    return base64.b64encode(resampled(sound, RATE).pcm).decode()


def utterance(seconds: float = 1.0) -> str:
    """Somebody speaks, and is quiet for long enough."""
    return wire(silence(0.6) + voice(seconds) + silence(1.0))


class Caller:
    """A client, and everything it was told so far."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        self.messages: list[Any] = []
        self._read = 0

    async def until(self, kind: str) -> Any:
        """Return the next event of this kind that was not waited for yet."""
        with anyio.fail_after(20):
            while True:
                for place in range(self._read, len(self.messages)):
                    if self.messages[place].type == kind:
                        self._read = place + 1
                        return self.messages[place]
                self._read = len(self.messages)
                self.messages.append(await self.connection.recv())

    def kinds(self, *left_out: str) -> list[str]:
        """The story so far, without the repeats of sound and transcript."""
        kinds = [event.type for event in self.messages if event.type not in left_out]
        return [kind for place, kind in enumerate(kinds) if not (kind.endswith(".delta") and kind in kinds[:place])]

    async def send(self, kind: str, **fields: Any) -> None:
        await self.connection.send({"type": kind, **fields})

    async def refused(self, kind: str, **fields: Any) -> Any:
        """Send an event that must be refused; return the error."""
        await self.send(kind, event_id="mine", **fields)
        error = (await self.until("error")).error
        assert error.event_id == "mine"
        assert error.message
        return error

    async def hear(self, sound: str | None = None) -> None:
        await self.connection.input_audio_buffer.append(audio=sound or utterance())

    def text(self, kind: str) -> str:
        return "".join(event.delta for event in self.messages if event.type == kind)

    def sound(self) -> AudioChunk:
        parts = [event.delta for event in self.messages if event.type == "response.output_audio.delta"]
        return AudioChunk(b"".join(base64.b64decode(part) for part in parts), RATE)


@asynccontextmanager
async def calling(small: SmallHouse, role: Role = "owner", model: str = "atlas", **query: str) -> AsyncIterator[Caller]:
    async with small.client(role).realtime.connect(model=model, extra_query=query) as connection:
        caller = Caller(connection)
        await caller.until("session.created")
        yield caller


@pytest.fixture
async def small(config: Config, data: Path) -> AsyncIterator[SmallHouse]:
    async with served(config, data) as house:
        house.chat.words = ("The sky ", "is blue.")
        house.ear.lines = ["why is the sky blue"]
        yield house


# ── what stays ─────────────────────────────────────────────────────────────────────────────────────


def objects() -> Counter[str]:
    """Count what this process holds, by type; weak references of a database are tidied by the hundred."""
    gc.collect()
    kinds = Counter(f"{type(one).__module__}.{type(one).__qualname__}" for one in gc.get_objects())
    kinds.pop("atlas.recent_log.RecentLine", None)  # the last lines of the log, so many and no more
    return Counter(
        {kind: number for kind, number in kinds.items() if kind.startswith(("atlas.", "anyio.", "asyncio."))}
    )


async def test_sessions_that_came_and_went_leave_nothing_behind(small: SmallHouse) -> None:
    async def talk(sessions: int) -> None:
        small.ear.lines = ["why is the sky blue"] * sessions
        for _ in range(sessions):
            async with calling(small) as caller:
                await caller.hear()
                await caller.until("response.done")
        for notes in (small.chat.turns, small.chat.prepared, small.ear.heard, small.voice.texts):
            notes.clear()  # of the test's own

    def grown() -> list[str]:
        now = objects()
        return [kind for kind, number in now.items() if number > before[kind] + MOST_KEPT]

    await talk(3)
    before = objects()
    await talk(2 * MOST_KEPT)
    await until(lambda: not grown())


# ── one turn ───────────────────────────────────────────────────────────────────────────────────────


async def test_one_spoken_turn_in_the_documented_order(small: SmallHouse) -> None:
    async with calling(small) as caller:
        await caller.hear()
        done = await caller.until("response.done")
        await caller.until("rate_limits.updated")
        assert caller.kinds() == [
            "session.created",
            "conversation.created",
            "input_audio_buffer.speech_started",
            "input_audio_buffer.speech_stopped",
            "input_audio_buffer.committed",
            "conversation.item.added",
            "conversation.item.done",
            "conversation.item.input_audio_transcription.delta",
            "conversation.item.input_audio_transcription.completed",
            "response.created",
            "response.output_item.added",
            "conversation.item.added",
            "response.content_part.added",
            "response.output_audio_transcript.delta",
            "response.output_audio.delta",
            "response.output_audio.done",
            "response.output_audio_transcript.done",
            "response.content_part.done",
            "response.output_item.done",
            "conversation.item.done",
            "atlas.turn",
            "atlas.timings",
            "response.done",
            "rate_limits.updated",
        ]
        assert done.response.status == "completed"
        assert done.response.output[0].content[0].transcript == "The sky is blue."
        assert done.response.usage.input_token_details.cached_tokens == 8
        assert caller.text("response.output_audio_transcript.delta") == "The sky is blue."
        assert caller.sound().seconds == pytest.approx(0.4, abs=0.02)
        assert len({event.event_id for event in caller.messages}) == len(caller.messages)


async def test_while_somebody_speaks_the_agent_gets_ready_for_exactly_what_it_will_be_asked(small: SmallHouse) -> None:
    async with calling(small) as caller:
        await caller.send("session.update", session={"type": "realtime", "instructions": "Rhyme."})
        await caller.hear(wire(silence(0.6) + voice(1.0) + silence(0.3)))
        with anyio.fail_after(20):
            await small.chat.knows_words.wait()
        assert small.chat.turns == [], "the speaker may go on"
        await caller.hear(wire(silence(1.0)))
        await caller.until("response.done")
        before, words = small.chat.prepared
        (question_turn,) = small.chat.turns
        assert (before.text, words.text, question_turn.text) == ("", "why is the sky blue", "why is the sky blue")
        for turn in (before, words):
            assert (turn.actor, turn.spoken, turn.instructions) == (question_turn.actor, True, "Rhyme.")


async def upload(small: SmallHouse, texts: list[str]) -> None:
    file = ("said.wav", write_wav(voice(1.0)))
    texts.append((await small.client().audio.transcriptions.create(model="whisper-1", file=file)).text)


async def test_while_somebody_speaks_and_waits_for_the_answers_sound_no_file_is_begun(small: SmallHouse) -> None:
    small.ear.lines, texts = ["why is the sky blue", *["a recording"] * 2], []
    async with calling(small) as caller:
        await caller.hear(wire(silence(0.6) + voice(1.0)))
        await caller.until("input_audio_buffer.speech_started")
        with anyio.move_on_after(1) as patience:
            await upload(small, texts)
        assert patience.cancelled_caught
        assert small.ear.heard == []
        await caller.hear(wire(silence(1.0)))
        await caller.until("response.output_audio.delta")
        await upload(small, texts)
    assert texts == ["a recording"]


async def test_who_talks_on_or_is_a_guest_holds_no_file_back(
    small: SmallHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    for role, seconds in (("guest", 10.0), ("adult", 0.1)):
        monkeypatch.setattr(files, "LONGEST_SECONDS", seconds)
        small.ear.lines, texts = ["a recording"], []
        async with calling(small, role) as caller:
            await caller.hear(wire(silence(0.6) + voice(1.0)))
            await caller.until("input_audio_buffer.speech_started")
            with anyio.fail_after(5):
                await upload(small, texts)
        assert texts == ["a recording"]


async def test_every_event_belongs_to_its_item_and_its_response(small: SmallHouse) -> None:
    async with calling(small) as caller:
        await caller.hear()
        await caller.until("response.done")
        of = {event.type: event for event in caller.messages}
        user = of["input_audio_buffer.committed"].item_id
        assert of["input_audio_buffer.speech_started"].item_id == user
        assert of["input_audio_buffer.committed"].previous_item_id is None
        assert of["conversation.item.input_audio_transcription.completed"].item_id == user
        reply = of["response.output_item.added"].item.id
        assert of["conversation.item.added"].item.id == reply
        assert of["conversation.item.added"].previous_item_id == user
        response = of["response.created"].response.id
        for kind in ("response.output_audio.done", "response.content_part.done", "response.output_item.done"):
            assert of[kind].response_id == response
        assert of["response.done"].response.id == response
        assert of["input_audio_buffer.speech_started"].audio_start_ms == 0, (
            "0.7 s before the first word: all that there was"
        )


async def test_the_turn_says_who_answered_which_way_and_what_it_took(small: SmallHouse) -> None:
    async with calling(small) as caller:
        await caller.hear()
        turn = await caller.until("atlas.turn")
        assert (turn.agent, turn.path) == ("family", "model")
        assert turn.reason
        timings = await caller.until("atlas.timings")
        assert {"vad_ms", "stt_ms", "first_sound_at_ms"} <= set(timings.milliseconds)


async def test_a_tool_that_ran_is_shown_with_its_receipt(small: SmallHouse) -> None:
    small.ear.lines = ["set a timer"]
    async with calling(small) as caller:
        await caller.hear()
        started = await caller.until("atlas.tool_started")
        assert (started.name, started.arguments) == ("timers.start", {"seconds": 600})
        finished = await caller.until("atlas.tool_finished")
        assert finished.ok
        assert finished.receipt["changed"] == "timer set for 10 minutes"
        await caller.until("response.done")
        assert caller.text("response.output_audio_transcript.delta") == "Timer set for 10 minutes."


async def test_speaking_over_the_reply_cancels_it_and_tells_what_was_heard(small: SmallHouse) -> None:
    small.chat.words = ("One two three four five six seven eight nine ten eleven twelve. ",) * 5
    small.ear.lines = ["count", "no stop counting now", "no stop counting now"]
    async with calling(small) as caller:
        await caller.hear()
        for _ in range(8):
            await caller.until("response.output_audio.delta")
        await caller.hear(wire(voice(1.0)))
        await caller.until("input_audio_buffer.speech_started")
        done = await caller.until("response.done")
        assert done.response.status == "cancelled"
        assert done.response.status_details.reason == "turn_detected"
        kinds = caller.kinds()
        assert kinds.index("response.output_audio.done") < kinds.index("conversation.item.truncated")
        assert kinds.index("conversation.item.truncated") < kinds.index("response.done")
        heard = done.response.output[0].content[0].transcript
        assert "".join(small.chat.words).startswith(heard)
        assert 0 < len(heard) < 60
        await caller.hear(wire(silence(1.0)))
        small.chat.words = ("All right.",)
        assert (await caller.until("response.done")).response.status == "completed"
        assert small.chat.turns[-1].history[-1].text == heard, "history keeps only the words that were heard"


async def test_who_says_how_much_it_played_the_moment_it_is_told_of_speech_is_waited_for(
    small: SmallHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    small.chat.endless = True
    answer, may_end = small.chat.respond, anyio.Event()

    async def reluctant(turn: Turn, emit: Emit) -> AgentAnswer | None:
        try:
            return await answer(turn, emit)
        finally:
            with anyio.CancelScope(shield=True):
                await may_end.wait()

    monkeypatch.setattr(small.chat, "respond", reluctant)
    async with calling(small) as caller:
        await caller.hear()
        item_id = (await caller.until("response.output_audio.delta")).item_id
        await caller.hear(wire(voice(1.0)))
        await caller.until("input_audio_buffer.speech_started")
        await caller.connection.conversation.item.truncate(item_id=item_id, content_index=0, audio_end_ms=0)
        await let_others_run()
        may_end.set()
        await caller.until("response.done")
        assert "error" not in caller.kinds()
        await caller.until("conversation.item.truncated")
        small.chat.endless = False


async def test_a_reply_that_is_cancelled_by_the_client(small: SmallHouse) -> None:
    small.chat.endless = True
    async with calling(small) as caller:
        await caller.hear()
        created = await caller.until("response.created")
        await caller.until("response.output_audio.delta")  # the agent speaks
        await caller.connection.response.cancel(response_id=created.response.id)
        done = await caller.until("response.done")
        assert (done.response.status, done.response.status_details.reason) == ("cancelled", "client_cancelled")
        with anyio.fail_after(5):
            await small.chat.cancelled.wait()
        assert (await caller.refused("response.cancel")).code == "response_cancel_not_active"


async def test_push_to_talk(small: SmallHouse) -> None:
    async with calling(small) as caller:
        await caller.connection.session.update(
            session={"type": "realtime", "audio": {"input": {"turn_detection": None}}}
        )
        updated = await caller.until("session.updated")
        assert updated.session.audio.input.turn_detection is None
        await caller.hear(wire(voice(1.0)))
        await caller.connection.input_audio_buffer.commit()
        await caller.connection.response.create()
        await caller.until("response.done")
        kinds = caller.kinds()
        assert "input_audio_buffer.speech_started" not in kinds
        assert kinds.index("input_audio_buffer.committed") < kinds.index("response.created")
        assert small.ear.heard[-1].seconds == pytest.approx(1.0, abs=0.03)
        assert small.chat.turns[-1].text == "why is the sky blue"


async def test_sound_that_was_cleared_is_gone(small: SmallHouse) -> None:
    async with calling(small) as caller:
        await caller.connection.session.update(
            session={"type": "realtime", "audio": {"input": {"turn_detection": None}}}
        )
        await caller.hear(wire(voice(1.0)))
        await caller.connection.input_audio_buffer.clear()
        await caller.until("input_audio_buffer.cleared")
        assert (await caller.refused("input_audio_buffer.commit")).code == "input_audio_buffer_commit_empty"


async def test_typed_words_are_answered_in_text(small: SmallHouse) -> None:
    async with calling(small) as caller:
        await caller.connection.session.update(session={"type": "realtime", "output_modalities": ["text"]})
        await caller.connection.conversation.item.create(
            item={"type": "message", "role": "user", "content": [{"type": "input_text", "text": "why is it blue"}]}
        )
        await caller.until("conversation.item.done")
        await caller.connection.response.create(response={"metadata": {"topic": "sky"}, "instructions": "be brief"})
        done = await caller.until("response.done")
        assert done.response.output[0].content[0].text == "The sky is blue."
        assert done.response.metadata == {"topic": "sky"}
        assert caller.text("response.output_text.delta") == "The sky is blue."
        assert caller.sound().samples == 0
        turn = small.chat.turns[-1]
        assert (turn.text, turn.spoken, turn.instructions) == ("why is it blue", False, "be brief")


async def test_messages_that_waited_for_one_answer_stay_sentences(small: SmallHouse) -> None:
    async with calling(small) as caller:
        for text in ("who is there", "is it late?", "turn it on"):
            await caller.connection.conversation.item.create(
                item={"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
            )
        await caller.connection.response.create()
        await caller.until("response.done")
        assert small.chat.turns[-1].text == "who is there. is it late? turn it on"


async def test_a_greeting_that_only_instructions_ask_for(small: SmallHouse) -> None:
    async with calling(small) as caller:
        await caller.connection.response.create(response={"instructions": "Greet the user."})
        assert (await caller.until("response.done")).response.status == "completed"
        assert small.chat.turns[-1].text == "Greet the user."


async def test_a_response_out_of_band_leaves_the_conversation_alone(small: SmallHouse) -> None:
    async with calling(small) as caller:
        await caller.connection.response.create(
            response={
                "conversation": "none",
                "output_modalities": ["text"],
                "metadata": {"for": "a title"},
                "input": [
                    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hello"}]},
                    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hi"}]},
                    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "a title please"}]},
                ],
            }
        )
        done = await caller.until("response.done")
        assert done.response.conversation_id is None
        assert "conversation.item.added" not in caller.kinds()
        turn = small.chat.turns[-1]
        assert (turn.text, turn.remembered, [m.text for m in turn.history]) == (
            "a title please",
            False,
            ["hello", "hi"],
        )


async def test_an_answer_is_not_started_twice(small: SmallHouse) -> None:
    small.chat.endless = True
    async with calling(small) as caller:
        await caller.hear()
        await caller.until("response.created")
        assert (await caller.refused("response.create")).code == "conversation_already_has_active_response"
        await caller.connection.response.cancel()
        await caller.until("response.done")


async def test_who_mutes_an_answer_is_told_the_rest_of_its_words_and_hears_no_more_of_it(small: SmallHouse) -> None:
    small.chat.words = ("The sky is blue. " * 30,)
    async with calling(small) as caller:
        await caller.hear()
        await caller.until("response.output_audio.delta")
        await caller.send("atlas.mute")
        done = await caller.until("response.done")
        assert done.response.status == "completed"
        assert caller.text("response.output_audio_transcript.delta").count("blue") == 30
        assert caller.sound().seconds < 3, "of twelve"


async def test_noise_gives_no_response(small: SmallHouse) -> None:
    small.ear.lines = ["", "", "why is the sky blue"]
    async with calling(small) as caller:
        await caller.hear()
        completed = await caller.until("conversation.item.input_audio_transcription.completed")
        assert completed.transcript == ""
        small.ear.lines = ["why is the sky blue"]
        await caller.hear()
        await caller.until("response.done")
        assert caller.kinds().count("response.created") == 1


@pytest.mark.parametrize("transcription", [{"model": "gpt-live-transcribe"}, {"delay": "low"}])
@pytest.mark.parametrize("detection", [None, {"type": "server_vad"}])
async def test_who_wants_live_words_is_told_them_while_somebody_speaks(
    small: SmallHouse, transcription: dict[str, str], detection: dict[str, str] | None
) -> None:
    small.ear.skims = ["why is", "why is the sk"]
    async with calling(small) as caller:
        audio = {"input": {"transcription": transcription, "turn_detection": detection}}
        await caller.send("session.update", session={"type": "realtime", "audio": audio})
        updated = await caller.until("session.updated")
        assert updated.session.audio.input.transcription.delay == "low"
        for left in (1, 0):
            await caller.hear(wire(voice(2.0)))
            await until(lambda left=left: len(small.ear.skims) <= left)
        first = await caller.until(f"{TRANSCRIPTION}.delta")
        assert first.delta == "why"
        assert "input_audio_buffer.committed" not in caller.kinds()
        await caller.hear(wire(silence(1.0)))
        if detection is None:
            await caller.send("input_audio_buffer.commit")
        assert (await caller.until("input_audio_buffer.committed")).item_id == first.item_id
        completed = await caller.until(f"{TRANSCRIPTION}.completed")
        assert (completed.item_id, completed.transcript) == (first.item_id, "why is the sky blue")
        assert caller.text(f"{TRANSCRIPTION}.delta") == "why is the sky blue"


async def test_a_wish_for_live_words_that_nobody_knows_is_refused(small: SmallHouse) -> None:
    async with calling(small) as caller:
        audio = {"input": {"transcription": {"delay": "none"}}}
        wrong = await caller.refused("session.update", session={"type": "realtime", "audio": audio})
        assert (wrong.code, wrong.param) == ("invalid_value", "session.audio.input.transcription.delay")
        assert "minimal" in wrong.message


async def test_a_recogniser_that_fails_is_told_and_said(small: SmallHouse) -> None:
    small.ear.trouble = EngineError("gone")
    async with calling(small) as caller:
        await caller.hear()
        failed = await caller.until("conversation.item.input_audio_transcription.failed")
        assert failed.error.code == "transcription_failed"
        done = await caller.until("response.done")
        assert done.response.status == "failed"
        assert caller.text("response.output_audio_transcript.delta") == "A part of me isn't working right now."
        small.ear.trouble = None
        await caller.hear()
        assert (await caller.until("response.done")).response.status == "completed"


async def test_a_voice_that_fails_leaves_the_words(small: SmallHouse) -> None:
    small.voice.trouble = EngineError("gone")
    async with calling(small) as caller:
        await caller.hear()
        done = await caller.until("response.done")
        assert done.response.status == "failed"
        assert done.response.output[0].content[0].transcript == "The sky is blue."


async def test_a_client_that_nobody_listens_to_does_not_swallow_announcements(small: SmallHouse) -> None:
    async with calling(small, device="kitchen", announce="false"):
        assert not await small.house.announce("kitchen", "Your pizza timer is done.")


async def test_an_announcement_is_spoken_as_a_response_of_its_own(small: SmallHouse) -> None:
    async with calling(small, device="kitchen") as caller:
        assert await small.house.announce("kitchen", "Your pizza timer is done.")
        done = await caller.until("response.done")
        assert done.response.output[0].content[0].transcript == "Your pizza timer is done."
        turn = next(event for event in caller.messages if event.type == "atlas.turn")
        assert (turn.agent, turn.reason) == ("house", "announcement")
    with anyio.fail_after(5):
        while await small.house.announce("kitchen", "Nobody is there."):
            await anyio.lowlevel.checkpoint()


# ── items ──────────────────────────────────────────────────────────────────────────────────────────


async def test_a_client_that_hears_the_wake_word_itself_says_which_and_when_it_listens_for_it_again(
    small: SmallHouse,
) -> None:
    small.ear.lines = ["why is the sky blue"] * 2
    async with calling(small) as caller:
        await caller.send("atlas.hello")
        details = await caller.until("atlas.device")
        assert (details.device, details.wake_words) == ("the owner", ["okay nabu"])
        await caller.send("atlas.wake", phrase="okay nabu")
        assert (await caller.until("atlas.woken")).phrase == "okay nabu"
        await caller.hear()
        await caller.until("response.done")
        await caller.send("atlas.sleep")
        await caller.hear()
        await caller.until("response.done")
        assert [turn.wake_word for turn in small.chat.turns] == ["okay nabu", ""]
        assert (await caller.refused("atlas.wake", phrase=["okay"])).param == "phrase"


async def test_a_room_that_wakes_itself_is_told_its_thresholds_and_each_new_one_at_once(small: SmallHouse) -> None:
    await small.house.wakes.set_threshold("the satellite", "okay nabu", 0.6)
    async with calling(small, "satellite") as kitchen, calling(small, "owner") as phone:
        await kitchen.send("atlas.hello")
        assert (await kitchen.until("atlas.wake_thresholds")).thresholds == {"okay nabu": 0.6}
        assert await small.house.wakes.set_threshold("the satellite", "okay nabu", 0.7)
        assert (await kitchen.until("atlas.wake_thresholds")).thresholds == {"okay nabu": 0.7}
        assert not await small.house.wakes.set_threshold("the owner", "okay nabu", 0.7), "that is no room"
        await phone.send("atlas.hello")
        assert (await phone.until("atlas.wake_thresholds")).thresholds == {"okay nabu": 0.7}


async def test_no_guest_answers_for_the_rooms_by_saying_how_near_it_is(small: SmallHouse) -> None:
    async with (
        calling(small, "satellite") as kitchen,
        calling(small, "adult") as study,
        calling(small, "guest") as guest,
    ):
        for room in (kitchen, study, guest):
            await room.send("atlas.hello")
            await room.until("atlas.device")
        await guest.send("atlas.wake", phrase="okay nabu", level_db=0)
        await guest.until("atlas.woken")
        await kitchen.send("atlas.wake", phrase="okay nabu", level_db=-40)
        await study.send("atlas.wake", phrase="okay nabu", level_db=-60)
        await kitchen.until("atlas.woken")
        await study.until("atlas.not_nearest")


async def test_a_call_that_comes_again_over_a_new_line_is_heard_once(small: SmallHouse) -> None:
    small.ear.lines = ["add milk to the list", "what time is it"]
    for number, word in ((1, "atlas.woken"), (2, "atlas.not_nearest")):
        async with calling(small, "satellite") as kitchen:
            await kitchen.send("atlas.hello", plays=True)
            await kitchen.send("atlas.wake", phrase="okay nabu", level_db=-40, call_id="call one")
            await kitchen.until(word)
            if number == 1:
                await kitchen.hear()
                await kitchen.until("input_audio_buffer.committed")
            assert (await kitchen.refused("atlas.wake", call_id=5)).param == "call_id"


async def test_an_answer_to_a_question_that_comes_again_over_a_new_line_is_heard_once(small: SmallHouse) -> None:
    small.ear.lines = ["set a timer", "ten minutes"]
    async with calling(small, "satellite") as kitchen:
        await kitchen.send("atlas.hello", plays=True)
        await kitchen.send("atlas.wake", phrase="okay nabu", level_db=-40, call_id="call one")
        for call in ("", "call two"):
            if call:
                await kitchen.send("atlas.call", call_id=call)
            await kitchen.hear()
            await kitchen.until("response.done")
        assert (await kitchen.refused("atlas.call", call_id=5)).param == "call_id"
    async with calling(small, "satellite") as kitchen:
        await kitchen.send("atlas.hello", plays=True)
        await kitchen.send("atlas.wake", phrase="okay nabu", level_db=-40, call_id="call two")
        await kitchen.until("atlas.not_nearest")


async def test_what_a_room_says_it_rang_is_bounded(small: SmallHouse) -> None:
    async with calling(small) as caller:
        for ids in ("timer_1", ["timer_1"] * 65, [1], ["t" * 10_000], None):
            assert (await caller.refused("atlas.rang", ids=ids)).param == "ids"
        await caller.send("atlas.rang", ids=["timer_1"])
        await caller.send("input_audio_buffer.clear")
        await caller.until("input_audio_buffer.cleared")


async def test_a_room_that_rings_heeds_what_is_about_the_ring_and_no_other_talk(small: SmallHouse) -> None:
    small.ear.lines = ["the bus stop is over there", "stop it", "why is the sky blue"]
    small.house.is_about_ring = lambda text: text == "stop it"
    async with calling(small) as caller, anyio.create_task_group() as tasks:
        await caller.send("atlas.hello", plays=True)
        await caller.until("atlas.device")
        (speaker,) = small.house._speakers.near("the owner", "")
        assert speaker.ring
        tasks.start_soon(speaker.ring, "Your timer has ended.", Ringing("timer_1", "timer"))
        assert (await caller.until("atlas.ring")).tone == "timer"
        rung = (await caller.until("response.done")).response
        await caller.send("atlas.played", response_id=rung.id)
        for _ in range(2):
            await caller.hear()
            await caller.until("conversation.item.input_audio_transcription.completed")
        await caller.until("response.done")
        await caller.send("atlas.wake", phrase="okay nabu")
        await caller.hear()
        await caller.until("response.done")
        assert [turn.text for turn in small.chat.turns] == ["stop it", "why is the sky blue"]


async def test_a_page_is_told_what_rings_so_that_it_shows_that_once(small: SmallHouse) -> None:
    async with calling(small) as caller, anyio.create_task_group() as tasks:
        await caller.send("input_audio_buffer.clear")
        await caller.until("input_audio_buffer.cleared")
        (speaker,) = small.house._speakers.near("the owner", "")
        assert speaker.ring
        for times in (0, 1):
            tasks.start_soon(speaker.ring, "Your timer has ended.", Ringing("timer_1", "timer", times))
            assert (await caller.until("atlas.ring")).id == "timer_1"
            await caller.until("response.done")


async def test_whoever_called_a_room_in_the_moment_of_a_ring_is_answered(small: SmallHouse) -> None:
    small.ear.lines = ["why is the sky blue", "and the sea", "the bus is late"]
    small.house.is_about_ring = lambda text: False
    async with calling(small) as caller, anyio.create_task_group() as tasks:
        await caller.send("atlas.hello", plays=True)
        await caller.until("atlas.device")
        await caller.send("atlas.wake", phrase="")
        await caller.until("atlas.woken")
        (speaker,) = small.house._speakers.near("the owner", "")
        assert speaker.ring
        tasks.start_soon(speaker.ring, "Your timer has ended.", Ringing("timer_1", "timer"))
        await caller.until("atlas.ring")
        rung = (await caller.until("response.done")).response
        await caller.send("atlas.played", response_id=rung.id)
        for _ in range(2):
            await caller.hear()
            await caller.until("response.done")
        await caller.send("atlas.sleep")
        tasks.start_soon(speaker.ring, "Your timer has ended.", Ringing("timer_1", "timer"))
        await caller.until("atlas.ring")
        await caller.send("atlas.played", response_id=(await caller.until("response.done")).response.id)
        await caller.hear()
        await caller.until("conversation.item.input_audio_transcription.completed")
        assert [turn.text for turn in small.chat.turns] == ["why is the sky blue", "and the sea"]


async def test_a_ring_that_is_silenced_in_the_middle_was_heard_and_is_not_waited_for(small: SmallHouse) -> None:
    async with calling(small) as caller, anyio.create_task_group() as tasks:
        await caller.send("atlas.hello", plays=True)
        await caller.until("atlas.device")
        (speaker,) = small.house._speakers.near("the owner", "")
        assert speaker.ring
        tasks.start_soon(speaker.ring, "Your timer has ended.", Ringing("timer_1", "timer"))
        await caller.until("response.created")
        await caller.send("atlas.silence")
        await caller.send("response.cancel")
        assert (await caller.until("response.done")).response.status in ("cancelled", "completed")
    # What rang has returned by now without an error, though nothing was reported as played.


async def test_stop_said_to_a_timer_that_rings_is_obeyed_without_a_word(small: SmallHouse) -> None:
    small.ear.lines = ["stop", "why is the sky blue"]
    small.house.wants_silence = small.house.is_about_ring = lambda text: text == "stop"
    async with calling(small) as caller, anyio.create_task_group() as tasks:
        await caller.send("atlas.hello", plays=True)
        await caller.until("atlas.device")
        (speaker,) = small.house._speakers.near("the owner", "")
        assert speaker.ring
        tasks.start_soon(speaker.ring, "Your timer has ended.", Ringing("timer_1", "timer"))
        rung = (await caller.until("response.done")).response
        await caller.send("atlas.played", response_id=rung.id)
        await caller.hear()
        await caller.until("conversation.item.input_audio_transcription.completed")
        await caller.send("atlas.wake", phrase="okay nabu")
        await caller.hear()
        await caller.until("response.done")
        assert [turn.text for turn in small.chat.turns] == ["why is the sky blue"]


async def test_items_can_be_put_in_order_looked_at_and_taken_out(small: SmallHouse) -> None:
    async with calling(small) as caller:
        for item_id, role, previous in (("b", "user", None), ("a", "system", "root"), ("c", "assistant", "b")):
            kind = "output_text" if role == "assistant" else "input_text"
            item = {
                "id": item_id,
                "type": "message",
                "role": role,
                "content": [{"type": kind, "text": f"{role} words"}],
            }
            await caller.send("conversation.item.create", item=item, previous_item_id=previous)
            added = await caller.until("conversation.item.added")
            assert added.previous_item_id == (None if previous == "root" else previous)
        await caller.connection.conversation.item.retrieve(item_id="a")
        assert (await caller.until("conversation.item.retrieved")).item.content[0].text == "system words"
        await caller.connection.conversation.item.delete(item_id="a")
        assert (await caller.until("conversation.item.deleted")).item_id == "a"
        assert (await caller.refused("conversation.item.retrieve", item_id="a")).code == "item_not_found"
        await caller.connection.response.create()
        await caller.until("response.done")
        assert small.chat.turns[-1].text == "user words"
        earlier = "Earlier you were told: user words\nEarlier you said: assistant words"
        assert small.chat.turns[-1].instructions == earlier
        assert small.chat.turns[-1].tainted, "what the client says we said may be a stranger's words"


async def test_a_history_that_a_client_brings_is_known_and_not_answered(small: SmallHouse) -> None:
    heard = {"type": "input_audio", "audio": None, "transcript": "my name is Mia"}
    said = {"type": "output_text", "text": "Hello Mia."}
    asked = {"type": "input_text", "text": "what is my name"}
    async with calling(small) as caller:
        for role, part in (("user", heard), ("assistant", said), ("user", asked)):
            await caller.send("conversation.item.create", item={"type": "message", "role": role, "content": [part]})
        await caller.send("response.create")
        await caller.until("response.done")
        assert small.chat.turns[-1].text == "what is my name"
        assert (
            small.chat.turns[-1].instructions == "Earlier you were told: my name is Mia\nEarlier you said: Hello Mia."
        )
        corrected = {"type": "message", "role": "user", "content": [heard | {"transcript": "my name is Tia"}]}
        await caller.send("conversation.item.create", item=corrected, previous_item_id="root")
        small.ear.lines = ["and now"]
        await caller.hear()
        await caller.until("response.done")
        assert small.chat.turns[-1].text == "and now"
        assert small.chat.turns[-1].instructions.startswith("Earlier you were told: my name is Tia\n")


async def test_what_is_typed_before_an_answer_began_is_answered_after_it(small: SmallHouse) -> None:
    def typed(text: str) -> dict[str, Any]:
        return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}

    small.chat.goes_on = anyio.Event()
    async with calling(small) as caller:
        await caller.send("conversation.item.create", item=typed("first"))
        await caller.send("response.create")
        await caller.until("response.created")
        await caller.send("conversation.item.create", item=typed("tell me about cats"))
        await caller.until("conversation.item.done")
        small.chat.goes_on.set()
        await caller.until("response.done")
        await caller.send("conversation.item.create", item=typed("and about dogs"))
        await caller.send("response.create")
        await caller.until("response.done")
    assert [turn.text for turn in small.chat.turns] == ["first", "tell me about cats. and about dogs"]
    assert small.chat.turns[-1].instructions == ""


async def test_a_client_whose_items_have_the_ids_of_the_house_s_next_ones_is_answered_all_the_same(
    small: SmallHouse,
) -> None:
    def typed(item_id: str) -> dict[str, Any]:
        content = [{"type": "input_text", "text": "mine"}]
        return {"id": item_id, "type": "message", "role": "user", "content": content}

    small.chat.goes_on = anyio.Event()
    async with calling(small) as caller:
        await caller.hear(wire(silence(0.6) + voice(1.0)))
        utterance_item = (await caller.until("input_audio_buffer.speech_started")).item_id
        await caller.send("conversation.item.create", item=typed(utterance_item))
        await caller.until("conversation.item.done")
        await caller.hear(wire(silence(1.0)))
        response_id = (await caller.until("response.created")).response.id
        await caller.send("conversation.item.create", item=typed(response_id.replace("resp_", "item_")))
        await caller.until("conversation.item.done")
        small.chat.goes_on.set()
        response = (await caller.until("response.done")).response
        assert response.status == "completed"
        await caller.connection.conversation.item.retrieve(item_id=utterance_item)
        retrieved = (await caller.until("conversation.item.retrieved")).item
        assert retrieved.content[0].transcript == "why is the sky blue"


async def test_a_client_that_played_less_has_the_rest_forgotten(small: SmallHouse) -> None:
    async with calling(small) as caller:
        await caller.hear()
        item = (await caller.until("response.done")).response.output[0].id
        await caller.connection.conversation.item.truncate(item_id=item, content_index=0, audio_end_ms=210)
        truncated = await caller.until("conversation.item.truncated")
        assert truncated.audio_end_ms == 210
        await caller.connection.conversation.item.retrieve(item_id=item)
        assert (await caller.until("conversation.item.retrieved")).item.content[0].transcript == "The sky"
        error = await caller.refused("conversation.item.truncate", item_id=item, content_index=0, audio_end_ms=60_000)
        assert (error.code, error.param) == ("invalid_value", "audio_end_ms")
        await caller.hear()
        small.ear.lines = ["and then"]
        await caller.until("response.done")
        assert small.chat.turns[-1].history[-1].text == "The sky"


# ── the session object ─────────────────────────────────────────────────────────────────────────────


async def test_trouble_of_the_house_is_not_blamed_on_the_client(
    small: SmallHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(turn_id: str, heard: str) -> None:
        raise StoreError("the disk is full")

    async with calling(small) as caller:
        await caller.hear()
        item = (await caller.until("response.output_item.done")).item
        await caller.until("response.done")
        monkeypatch.setattr(small.house, "remember", broken)
        error = await caller.refused("conversation.item.delete", item_id=item.id)
        assert (error.type, error.code) == ("server_error", "server_error")


async def test_a_change_is_laid_over_the_session_and_shown_whole(small: SmallHouse) -> None:
    async with calling(small) as caller:
        await caller.connection.session.update(
            session={
                "type": "realtime",
                "instructions": "be brief",
                "audio": {
                    "input": {"turn_detection": {"type": "server_vad", "silence_duration_ms": 300}},
                    "output": {"voice": "marin", "speed": 1.25},
                },
            }
        )
        session = (await caller.until("session.updated")).session
        assert session.audio.input.turn_detection.silence_duration_ms == 300
        assert session.audio.input.turn_detection.threshold == 0.5
        assert session.audio.output.voice == small.voice.voice, "a name that stands for the house's one voice"
        assert session.audio.output.speed == 1.25
        await caller.connection.session.update(
            session={
                "type": "realtime",
                "audio": {"input": {"turn_detection": {"type": "semantic_vad", "eagerness": "high"}}},
            }
        )
        session = (await caller.until("session.updated")).session
        assert session.audio.input.turn_detection.type == "semantic_vad"
        assert session.instructions == "be brief"
        await caller.hear()
        await caller.until("response.done")
        assert small.voice.texts[-1][1] == 1.25
        assert small.chat.turns[-1].instructions == "be brief"


async def test_names_of_the_beta_are_understood(small: SmallHouse) -> None:
    async with calling(small) as caller:
        beta = {
            "modalities": ["audio", "text"],
            "voice": "alloy",
            "input_audio_format": "g711_ulaw",
            "output_audio_format": "pcm16",
            "input_audio_transcription": None,
            "turn_detection": {"type": "server_vad", "threshold": 0.6},
            "max_response_output_tokens": 100,
            "temperature": 0.8,
        }
        await caller.send("session.update", session=beta)
        session = (await caller.until("session.updated")).session
        assert session.output_modalities == ["audio"]
        assert session.audio.input.format.type == "audio/pcmu"
        assert session.audio.input.transcription is None
        assert session.audio.input.turn_detection.threshold == 0.6
        assert session.max_output_tokens == 100


WRONG_SESSIONS: list[tuple[Any, str, str]] = [
    ({"audio": {"output": {"voice": "bond"}}}, "invalid_value", "session.audio.output.voice"),
    ({"audio": {"output": {"speed": 9}}}, "invalid_value", "session.audio.output.speed"),
    ({"audio": {"input": {"format": {"type": "audio/opus"}}}}, "invalid_value", "session.audio.input.format.type"),
    (
        {"audio": {"input": {"format": {"type": "audio/pcm", "rate": 16000}}}},
        "invalid_value",
        "session.audio.input.format.rate",
    ),
    (
        {"audio": {"input": {"turn_detection": {"type": "server_vad", "threshold": 7}}}},
        "invalid_value",
        "session.audio.input.turn_detection.threshold",
    ),
    (
        {"audio": {"input": {"turn_detection": {"type": "psychic"}}}},
        "invalid_value",
        "session.audio.input.turn_detection.type",
    ),
    (
        {"audio": {"input": {"turn_detection": {"type": "server_vad", "idle_timeout_ms": 5000}}}},
        "unsupported",
        "session.audio.input.turn_detection.idle_timeout_ms",
    ),
    ({"audio": {"input": {"colour": 1}}}, "unknown_parameter", "session.audio.input.colour"),
    ({"audio": []}, "invalid_type", "session.audio"),
    ({"colour": 1}, "unknown_parameter", "session.colour"),
    ({"output_modalities": ["smell"]}, "invalid_value", "session.output_modalities"),
    ({"tools": [{"type": "mcp", "server_label": "x"}]}, "unsupported", "session.tools[0].type"),
    ({"tools": [{"type": "function", "name": "two words"}]}, "invalid_value", "session.tools[0].name"),
    ({"tools": [{"type": "function", "name": "f", "parameters": []}]}, "invalid_type", "session.tools[0].parameters"),
    ({"tools": [{"type": "function", "name": "f"}] * 2}, "invalid_value", "session.tools"),
    (
        {"tools": [{"type": "function", "name": "f", "description": "x" * 30_000}]},
        "string_too_long",
        "session.tools[0]",
    ),
    ({"tool_choice": "perhaps"}, "invalid_value", "session.tool_choice"),
    ({"id": "sess_1"}, "immutable_field", "session.id"),
    ({"model": 7}, "invalid_type", "session.model"),
    ({"instructions": 7}, "invalid_type", "session.instructions"),
    ({"instructions": "x" * 30_000}, "string_too_long", "session.instructions"),
    ({"max_output_tokens": 0}, "invalid_value", "session.max_output_tokens"),
    ({"type": "translation"}, "invalid_value", "session.type"),
    ([], "invalid_type", "session"),
]


async def test_a_wrong_session_is_refused_whole(small: SmallHouse) -> None:
    async with calling(small) as caller:
        for change, code, param in WRONG_SESSIONS:
            both = {"instructions": "lost", **change} if isinstance(change, dict) else change
            error = await caller.refused("session.update", session=both)
            assert (error.code, error.param) == (code, param)
        await caller.send("session.update", session={})
        assert (await caller.until("session.updated")).session.instructions == ""


async def test_a_model_that_a_client_names_in_every_update_costs_it_nothing_else(small: SmallHouse) -> None:
    async with calling(small) as caller:
        await caller.send("session.update", session={"model": "gpt-realtime", "instructions": "Rhyme."})
        session = (await caller.until("session.updated")).session
        assert (session.model, session.instructions) == ("atlas", "Rhyme.")


@pytest.mark.parametrize("name", ["audio/pcmu", "audio/pcma"])
async def test_telephone_sound_goes_both_ways(small: SmallHouse, name: str) -> None:
    async with calling(small) as caller:
        kind = {"format": {"type": name}}
        await caller.send("session.update", session={"audio": {"input": kind, "output": kind}})
        await caller.until("session.updated")
        line = resampled(silence(0.6) + voice(1.0) + silence(1.0), 8_000)
        outward = Outward(name, 8_000)
        await caller.hear(outward.pack(line))
        await caller.until("response.done")
        parts = [event.delta for event in caller.messages if event.type == "response.output_audio.delta"]
        assert sum(len(base64.b64decode(part)) for part in parts) / 8_000 == pytest.approx(0.4, abs=0.02)
        assert small.ear.heard[-1].seconds == pytest.approx(1.8, abs=0.3)


# ── nonsense ───────────────────────────────────────────────────────────────────────────────────────


REFUSED: list[tuple[str, Any, str, str | None]] = [
    ("make.coffee", {}, "unknown_event", "type"),
    ("input_audio_buffer.append", {}, "missing_required_parameter", "audio"),
    ("input_audio_buffer.append", {"audio": 7}, "invalid_type", "audio"),
    ("input_audio_buffer.append", {"audio": "not base64!"}, "invalid_base64", "audio"),
    ("input_audio_buffer.append", {"audio": "AAAA"}, "invalid_audio", "audio"),
    ("input_audio_buffer.commit", {}, "input_audio_buffer_commit_empty", None),
    ("conversation.item.create", {}, "missing_required_parameter", "item"),
    ("conversation.item.create", {"item": 7}, "invalid_type", "item"),
    ("conversation.item.create", {"item": {"type": "function_call_output"}}, "invalid_type", "item.call_id"),
    ("conversation.item.create", {"item": {"type": "mcp_call"}}, "unsupported", "item.type"),
    ("conversation.item.create", {"item": {"type": ["message"]}}, "unsupported", "item.type"),
    ("conversation.item.create", {"item": {"type": "message", "role": "cat"}}, "invalid_value", "item.role"),
    ("conversation.item.create", {"item": {"role": "user", "content": []}}, "invalid_type", "item.content"),
    (
        "conversation.item.create",
        {"item": {"role": "user", "content": [{"type": "input_image", "image_url": "x"}]}},
        "unsupported",
        "item.content[0].type",
    ),
    (
        "conversation.item.create",
        {"item": {"role": "user", "content": [{"type": "input_text", "text": "x" * 60_000}] * 2}},
        "string_too_long",
        "item.content",
    ),
    (
        "conversation.item.create",
        {"item": {"role": "user", "content": [{"type": "input_text", "text": "a"}]}, "previous_item_id": "gone"},
        "item_not_found",
        "item_id",
    ),
    ("conversation.item.retrieve", {"item_id": "gone"}, "item_not_found", "item_id"),
    ("conversation.item.retrieve", {"item_id": {}}, "item_not_found", "item_id"),
    ("conversation.item.delete", {}, "missing_required_parameter", "item_id"),
    ("conversation.item.truncate", {"item_id": "gone", "audio_end_ms": 1}, "item_not_found", "item_id"),
    ("response.create", {"response": 7}, "invalid_type", "response"),
    ("response.create", {"response": []}, "invalid_type", "response"),
    ("response.create", {"response": {"tools": [{}]}}, "invalid_value", "response.tools[0].name"),
    ("response.create", {"response": {"colour": 1}}, "unknown_parameter", "response.colour"),
    ("response.create", {"response": {"conversation": "x"}}, "invalid_value", "response.conversation"),
    ("response.create", {"response": {"metadata": {"a": 1}}}, "invalid_value", "response.metadata"),
    ("response.create", {"response": {"input": "x"}}, "invalid_type", "response.input"),
    ("response.create", {"response": {"input": [{"type": "item_reference"}]}}, "item_not_found", "item_id"),
    ("response.cancel", {}, "response_cancel_not_active", None),
    ("response.cancel", {"response_id": "resp_gone"}, "response_cancel_not_active", "response_id"),
    ("output_audio_buffer.clear", {}, "unsupported", "type"),
    ("session.update", {}, "missing_required_parameter", "session"),
]


async def test_an_event_that_cannot_be_carried_out_is_refused_and_the_talk_goes_on(small: SmallHouse) -> None:
    async with calling(small) as caller:
        for kind, fields, code, param in REFUSED:
            error = await caller.refused(kind, **fields)
            assert (kind, error.code, error.param) == (kind, code, param)
            assert error.type == "invalid_request_error"
        await caller.hear()
        assert (await caller.until("response.done")).response.status == "completed"


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        ("{", "invalid_json"),
        ("[]", "invalid_json"),
        ("7", "invalid_json"),
        ("{}", "missing_required_parameter"),
        ('{"type": 7}', "missing_required_parameter"),
        ('{"type": "make.coffee", "event_id": "\\ud800"}', "invalid_json"),
        ('{"type": "session.update", "session": {"tracing": NaN}}', "invalid_json"),
        ('{"type": "session.update", "session": {"tracing": 1e999}}', "invalid_value"),
        (b"\0\1\2", "invalid_message"),
        ("x" * 10_000_000, "message_too_large"),
        ("[" * 100_000, "invalid_json"),
        ('{"type":"session.update","session":' + '{"a":' * 900 + "1" + "}" * 900 + "}", "invalid_json"),
        ('{"type":"session.update","session":{"tracing":' + "[" * 900 + "]" * 900 + "}}", "invalid_json"),
    ],
)
async def test_nonsense_is_answered_and_loses_nothing(small: SmallHouse, frame: str | bytes, code: str) -> None:
    async with calling(small) as caller:
        await caller.hear(wire(silence(0.6) + voice(0.5)))
        await caller.connection.send_raw(frame)
        assert (await caller.until("error")).error.code == code
        await caller.hear(wire(voice(0.5) + silence(1.0)))
        assert (await caller.until("response.done")).response.status == "completed"
        assert caller.kinds().count("input_audio_buffer.committed") == 1, "what was said before it is not lost"


async def test_more_words_than_a_turn_takes_are_refused_and_lose_nothing(small: SmallHouse) -> None:
    async with calling(small) as caller:
        for _ in range(3):
            content = [{"type": "input_text", "text": "long " * 18_000}]
            await caller.send("conversation.item.create", item={"type": "message", "role": "user", "content": content})
            added = await caller.until("conversation.item.added")
        error = await caller.refused("response.create")
        assert error.code == "context_length_exceeded"
        await caller.send("conversation.item.delete", item_id=added.item.id)
        await caller.send("response.create")
        assert (await caller.until("response.done")).response.status == "completed"
        assert len(small.chat.turns[-1].text) > 170_000


async def test_a_flood_is_read_no_faster_than_it_is_worked_off(small: SmallHouse) -> None:
    async with calling(small) as caller:
        for _ in range(1000):
            await caller.send("make.coffee")
        for _ in range(1000):
            await caller.until("error")
        await caller.hear()
        assert (await caller.until("response.done")).response.status == "completed"


async def test_a_client_that_never_reads_is_let_go(small: SmallHouse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(realtime, "SEND_SECONDS", 0.2)
    url = small.url.replace("http", "ws") + "/v1/realtime?device=deaf"
    header = {"Authorization": f"Bearer {small.tokens['owner']}"}
    async with websockets.connect(url, additional_headers=header, max_queue=1, close_timeout=0) as deaf:
        content = [{"type": "input_text", "text": "long " * 18_000}]
        item = {"id": "long", "type": "message", "role": "user", "content": content}
        await deaf.send(json.dumps({"type": "conversation.item.create", "item": item}))
        with anyio.move_on_after(5):
            for _ in range(300):  # 27 MB to read: more than any buffer on the way holds
                await deaf.send('{"type": "conversation.item.retrieve", "item_id": "long"}')
        with anyio.fail_after(20):
            while await small.house.announce("deaf", "Are you there?"):
                await anyio.lowlevel.checkpoint()
    async with calling(small) as caller:
        await caller.hear()
        assert (await caller.until("response.done")).response.status == "completed"


@pytest.mark.parametrize("moment", ["session.created", "response.created", "response.output_audio.delta"])
async def test_a_client_may_leave_at_any_moment(small: SmallHouse, moment: str) -> None:
    small.chat.words = ("One two three four five six seven eight. ",)
    async with calling(small, device="phone") as caller:
        if moment != "session.created":
            await caller.hear()
            await caller.until(moment)
        await caller.connection.close()
    with anyio.fail_after(5):
        while await small.house.announce("phone", "Are you there?"):
            await anyio.lowlevel.checkpoint()
    small.ear.lines = ["why is the sky blue"]
    async with calling(small) as caller:
        await caller.hear()
        assert (await caller.until("response.done")).response.status == "completed"


async def test_what_was_heard_before_the_line_broke_is_remembered(small: SmallHouse) -> None:
    small.chat.words = ("One two three four five six seven eight nine ten. ",) * 3
    async with calling(small, device="phone") as caller:
        await caller.hear()
        for _ in range(6):
            await caller.until("response.output_audio.delta")
        await caller.connection.close()
    memory, phone = small.house.memory_of("family", Actor("", "phone", "owner"))
    with anyio.fail_after(20):
        while True:
            text = (await memory.exchanges(phone))[-1].messages[-1].text
            if len(text) < len("".join(small.chat.words)):
                break
    assert text.startswith("One")
    assert text in "".join(small.chat.words)


async def test_a_session_ends_after_its_hour(small: SmallHouse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(realtime, "SESSION_SECONDS", 0.1)
    async with calling(small) as caller:
        assert (await caller.until("error")).error.code == "session_expired"
        with pytest.raises(websockets.ConnectionClosedOK):
            await caller.connection.recv()


# ── who may come in ────────────────────────────────────────────────────────────────────────────────


@for_every(
    ("query", "role", "status"),
    [
        ("", None, 401),
        ("", "wrong", 401),
        ("?model=gpt-12", "owner", 404),
        ("?model=work", "guest", 403),
        ("?device=kitchen", "guest", 403),
        ("?room=kitchen", "guest", 403),
        (
            "?room=kitchen",
            "satellite",
            403,
        ),  # its room is its token's: nobody claims a room to hear what was said there
        ("?device=" + "x" * 200, "owner", 400),
    ],
)
async def test_who_may_not_come_in_is_refused_before_the_door_opens(
    small: SmallHouse, query: str, role: Any, status: int
) -> None:
    token = small.tokens.get(role, "wrong")
    header = {"Authorization": f"Bearer {token}"} if role else {}
    with pytest.raises(websockets.InvalidStatus) as refused:
        async with websockets.connect(
            f"{small.url.replace('http', 'ws')}/v1/realtime{query}", additional_headers=header
        ):
            pass
    assert refused.value.response.status_code == status
    assert json.loads(refused.value.response.body)["error"]["message"]


async def test_a_browser_brings_its_token_as_a_subprotocol(small: SmallHouse) -> None:
    protocols = ["realtime", f"openai-insecure-api-key.{small.tokens['adult']}"]
    url = small.url.replace("http", "ws") + "/v1/realtime"
    async with websockets.connect(url, subprotocols=protocols) as browser:  # type: ignore[arg-type]
        assert browser.subprotocol == "realtime"
        assert json.loads(await browser.recv())["type"] == "session.created"


async def test_the_model_names_the_agent(small: SmallHouse) -> None:
    async with calling(small, model="work") as caller:
        await caller.hear()
        assert (await caller.until("atlas.turn")).agent == "work"


# ── sound ──────────────────────────────────────────────────────────────────────────────────────────


@for_every(
    ("name", "decode", "encode"), [("audio/pcmu", "ulaw2lin", "lin2ulaw"), ("audio/pcma", "alaw2lin", "lin2alaw")]
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_g711_is_that_of_the_standard(name: str, decode: str, encode: str) -> None:
    audioop = pytest.importorskip("audioop")  # Python 3.12 was its last
    assert LEVELS[name].tobytes() == getattr(audioop, decode)(bytes(range(256)), 2)
    every_sample = AudioChunk(b"".join(n.to_bytes(2, "little", signed=True) for n in range(-32768, 32768)), 8_000)
    ours = base64.b64decode(Outward(name, 8_000).pack(every_sample))
    theirs = getattr(audioop, encode)(every_sample.pcm, 2)
    for n, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
        assert abs(int(LEVELS[name][mine]) - (n - 32768)) <= abs(int(LEVELS[name][other]) - (n - 32768))


def test_every_code_of_g711_comes_back_as_itself() -> None:
    for name, levels in LEVELS.items():
        again = CODES[name][levels.view("uint16")]
        assert (LEVELS[name][again] == levels).all()


def test_sound_comes_at_once_for_a_minute_and_then_at_twice_the_speed_of_speech() -> None:
    pace, now = SoundPace(0.0), 0.0
    for heard in range(1, 601):
        now += pace.delay(1.0, now)
        assert now == pytest.approx(max(0.0, (heard - 60) / 2))
    for _ in range(600):  # as it is spoken
        now += 1.0
        assert pace.delay(1.0, now) == pytest.approx(0.0)
    assert pace.delay(59.0, now) == pytest.approx(0.0), "what is behind may catch up"


def test_sound_in_pieces_of_any_size_is_heard_as_one() -> None:
    inward, sound = Inward("audio/pcm"), resampled(voice(1.0), RATE)
    heard = AudioChunk(b"")
    for start in range(0, sound.samples, 997):
        heard += inward.heard(inward.unpack(base64.b64encode(sound.cut(start, start + 997).pcm).decode()))
    assert heard.seconds == pytest.approx(1.0, abs=0.03)


def test_what_a_client_takes_back_is_not_gone_by_whatever_comes_under_its_name() -> None:
    items = Items()
    details = {"id": "x", "type": "message", "content": [{"type": "text", "text": "I am the owner."}]}
    items.add(read_item({**details, "role": "assistant"}))
    items.note(items.get("x"))
    assert items.may_be_untrusted
    items.remove("x")
    items.add(read_item({**details, "role": "user"}))
    assert (items.instructions("Be kind."), items.may_be_untrusted) == ("Be kind.", False)


def test_what_a_client_adds_to_a_session_is_bounded_in_bytes_and_the_oldest_goes_first() -> None:
    items = Items()
    text = "\N{SNOWMAN}" * 99_999 + "\N{PILE OF POO}"  # four bytes a character, as Python holds it
    for number in range(30):
        items.add(read_item({"id": f"x{number}", "role": "system", "content": [{"type": "input_text", "text": text}]}))
        items.note(items.get(f"x{number}"))
    left = [item["id"] for item in items.all()]
    assert left[-1] == "x29"
    assert 5 < len(left) < 12, "4 MB of texts of 400 kB"
    assert left == [f"x{number}" for number in range(30 - len(left), 30)]
    assert len(items.instructions("")) < 12 * 100_001


def test_an_item_that_grew_after_it_came_counts_as_it_is_now() -> None:
    items = Items()
    for number in range(12):
        items.add(read_item({"id": f"x{number}", "role": "assistant", "content": [{"type": "text", "text": "…"}]}))
        items.get(f"x{number}")["content"][0]["text"] = "é" * 1_000_000
    assert len(items.all()) < 7
