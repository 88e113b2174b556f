"""Stories of people and a house that speak with each other, in virtual time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import anyio
import pytest

from atlas import trace
from atlas.audio import HEARING_RATE, AudioChunk
from atlas.errors import EngineError, LlmGone, RequestError
from atlas.events import (
    Committed,
    Event,
    Hush,
    SpeechOut,
    SpeechStarted,
    SpeechStopped,
    TextDelta,
    ToolFinished,
    ToolStarted,
    Transcribed,
    TurnEnded,
    TurnStarted,
    Woken,
)
from atlas.voice.mouth import AHEAD_SECONDS
from atlas.voice.options import ReplyOptions, SessionOptions
from atlas.voice.turns import TurnState
from tests.conftest import for_every, virtual_time
from tests.scripted_stt import ScriptedStt
from tests.scripted_vad import voice
from tests.scripted_wake import ScriptedWake
from tests.voice.world import WORD_SECONDS, House, World, world


@pytest.fixture
def anyio_backend() -> Any:
    return virtual_time()


def spoke(event: Event) -> bool:
    return isinstance(event, SpeechOut)


@for_every(("seconds", "waits"), [(1.5, False), (9.0, True)])
async def test_who_must_wait_two_seconds_hears_so_and_it_is_no_part_of_the_reply(seconds: float, waits: bool) -> None:
    house = House(tool_seconds=seconds, waiting="One moment.")
    async with world("what is new", house=house) as small:
        await small.speak(1.0)
        end = await small.ended()
        assert small.tts.texts == [*(["One moment."] if waits else []), "It is noon now."]
        assert end.text == "It is noon now."
        times = dict(zip(map(type, reversed(small.event)), reversed(small.times), strict=True))  # the first of each
        assert (times[SpeechOut] - times[TurnStarted] < 2.2) == waits or not waits
    assert house.remembered[-1][1] == "It is noon now."


async def test_a_question_is_answered_in_the_order_of_a_conversation() -> None:
    async with world("what is new") as small:
        await small.speak(1.0)
        end = await small.ended()
        assert small.kinds() == [
            "SpeechStarted",
            "SpeechStopped",
            "Committed",
            "Transcribed",
            "TurnStarted",
            "TextDelta",
            "SpeechOut",
            "TurnEnded",
        ]
        assert (end.end, end.text) == ("done", "It is noon now.")
        assert small.house.turns[0].text == "what is new"
        assert small.house.turns[0].spoken
        assert "".join(event.text for event in small.all(SpeechOut)) == "It is noon now."
        assert small.house.remembered == [(end.turn_id, "It is noon now.")]
        assert small.session.state is TurnState.LISTENING


async def test_the_utterance_has_its_first_word_whole_and_its_words_are_looked_up_once() -> None:
    async with world("what is new") as small:
        await small.keep_quiet(2.0)
        await small.speak(1.0)
        await small.ended()
        (guessed,) = small.stt.heard
        assert guessed.seconds == pytest.approx(1.0 + 0.7 + 0.06, abs=0.03), (
            "pre-roll, speech, the first of the silence"
        )
        started = small.all(SpeechStarted)[0].at_sample / HEARING_RATE
        assert started == pytest.approx(2.0 - 0.7, abs=0.05)


async def test_sound_is_never_given_out_far_ahead_of_its_playing() -> None:
    async with world() as small:
        await small.speak(1.0)
        await small.ended()
        given = 0.0
        first = next(at for at, event in zip(small.times, small.event, strict=True) if isinstance(event, SpeechOut))
        for at, event in zip(small.times, small.event, strict=True):
            if isinstance(event, SpeechOut):
                given += event.audio.seconds
                assert given - (at - first) <= AHEAD_SECONDS + 0.001
        assert given == pytest.approx(4 * WORD_SECONDS)


async def test_the_turn_ends_when_its_sound_is_over_and_not_when_its_words_are() -> None:
    async with world() as small:
        await small.speak(1.0)
        await small.ended()
        first = small.times[small.event.index(small.all(SpeechOut)[0])]
        assert small.times[-1] - first >= 4 * WORD_SECONDS - 0.001


async def test_speaking_over_the_reply_stops_it_and_listens_again() -> None:
    house = House(answer="One two three four. Five six seven eight. Nine ten eleven twelve.")
    async with world("tell me numbers", "no the letters", house=house) as small:
        await small.speak(1.0)
        await small.until(spoke)
        await small.keep_quiet(1.0)
        await small.speak(1.0)
        first = await small.ended(1)
        assert first.end == "interrupted"
        hush = small.all(Hush)[0]
        assert hush.turn_id == first.turn_id
        assert 1000 <= hush.played_ms <= 2200
        assert hush.heard == "One two three four." or hush.heard.startswith("One two three")
        assert house.remembered[0] == (first.turn_id, hush.heard), "only heard words are remembered"
        sounds = small.all(SpeechOut)
        assert sum(event.audio.seconds for event in sounds) <= hush.played_ms / 1000 + AHEAD_SECONDS + 0.11
        second = await small.ended(2)
        assert (second.end, house.turns[1].text) == ("done", "no the letters")
        kinds = small.kinds()
        assert kinds.index("Hush") < len(kinds) - 1 - kinds[::-1].index("Committed"), "hushed before the next commit"


async def test_the_model_stops_when_it_is_spoken_over() -> None:
    house = House(answer=" ".join(["word"] * 2000) + ".")
    async with world("tell me a story", house=house) as small:
        await small.speak(1.0)
        await small.until(lambda event: isinstance(event, TextDelta))
        await small.speak(1.0)
        await small.ended()
        assert house.stopped == 1


async def test_a_cough_over_the_reply_does_not_stop_it() -> None:
    async with world("what is new", "hm") as small:
        await small.speak(1.0)
        await small.until(spoke)
        await small.speak(0.25)
        end = await small.ended()
        assert end.end == "done"
        assert len(small.all(SpeechStarted)) == 1, "nobody is told of a cough"
        assert small.house.turns == small.house.turns[:1]


@for_every("text", ["Stop.", "never mind"])
async def test_stop_said_over_the_reply_stops_it_however_short_it_is_and_wants_no_answer(text: str) -> None:
    async with world("what is new", text) as small:
        await small.speak(1.0)
        await small.until(spoke)
        await small.speak(0.25)
        end = await small.ended()
        assert end.end == "interrupted"
        await small.keep_quiet(2.0)
        assert len(small.house.turns) == 1
        assert [event.text for event in small.all(Transcribed)] == ["what is new", text]


async def test_a_long_winded_stop_wants_no_answer_either() -> None:
    async with world("what is new", "stop") as small:
        await small.speak(1.0)
        await small.until(spoke)
        await small.speak(0.8)
        await small.ended()
        await small.keep_quiet(3.0)
        assert len(small.house.turns) == 1
        assert small.session.state is TurnState.LISTENING


async def test_stop_without_a_reply_is_for_the_house_to_answer() -> None:
    async with world("stop") as small:
        await small.speak(0.5)
        await small.ended()
        assert small.house.turns[0].text == "stop"


async def test_a_pause_in_the_middle_of_a_sentence_does_not_cut_it() -> None:
    async with world(stt=ScriptedStt(lambda sound: f"{sound.seconds:.0f} seconds", seconds=0.05)) as small:
        await small.speak(1.0)
        await small.keep_quiet(0.5)
        await small.speak(1.0)
        await small.ended()
        assert len(small.all(Committed)) == 1
        assert small.house.turns[0].text == "3 seconds"


async def test_a_whole_command_ends_the_turn_early() -> None:
    async with world("set a timer") as small:
        await small.speak(1.0)
        await small.ended()
        began = small.times[0] + 1.0 - 0.16
        stopped = small.times[small.event.index(small.all(SpeechStopped)[0])]
        assert stopped - began < 0.5, "not the 0.7 s of an ordinary sentence"


async def test_who_stops_behind_and_is_waited_for_longer_than_behind_a_sentence() -> None:
    async with world("set a timer and", "set a timer and what time is it") as small:
        await small.speak(1.0)
        await small.keep_quiet(0.9)
        await small.speak(0.5)
        await small.ended()
        assert [turn.text for turn in small.house.turns] == ["set a timer and what time is it"]


@for_every(
    ("tool", "texts"),
    [
        ("clock.time", ["what time is it", "what time is it in tokyo"]),
        ("timers.start", ["what time is it", "in tokyo"]),
    ],
)
async def test_who_goes_on_in_one_breath_has_said_one_sentence_unless_it_is_done_already(
    tool: str, texts: list[str]
) -> None:
    house = House(tool=tool, tool_seconds=0.01)
    async with world("what time is it", "in tokyo", house=house) as small:
        await small.speak(1.0)
        await small.keep_quiet(0.4)
        await small.speak(0.8)
        await small.ended(2)
        assert [turn.text for turn in house.turns] == texts


async def test_what_is_said_after_more_than_a_breath_is_a_sentence_of_its_own() -> None:
    house = House(tool="clock.time", tool_seconds=0.01)
    async with world("what time is it", "in tokyo", house=house) as small:
        await small.speak(1.0)
        await small.keep_quiet(1.0)
        await small.speak(0.8)
        await small.ended(2)
        assert [turn.text for turn in house.turns] == ["what time is it", "in tokyo"]


async def test_a_moment_between_two_words_is_no_end_though_the_first_of_them_are_a_command() -> None:
    async with world("set a timer", "set a timer for ten minutes", stt_seconds=0.01) as small:
        await small.speak(0.6)
        await small.keep_quiet(0.1)
        await small.speak(0.6)
        await small.ended()
        assert [turn.text for turn in small.house.turns] == ["set a timer for ten minutes"]


async def test_a_command_that_could_go_on_is_waited_for_but_not_as_long_as_a_sentence() -> None:
    async with world("set a timer for ten minutes") as small:
        await small.speak(1.0)
        await small.ended()
        began = small.times[0] + 1.0 - 0.16
        stopped = small.times[small.event.index(small.all(SpeechStopped)[0])]
        assert 0.3 < stopped - began < 0.5, "neither at once nor after the 0.7 s of an ordinary sentence"


async def test_a_command_that_goes_on_after_a_breath_is_one_command() -> None:
    async with world("set a timer for ten minutes", "and thirty seconds") as small:
        await small.speak(1.0)
        await small.keep_quiet(0.3)  # the guess is known, and is a command
        await small.speak(1.0)
        await small.ended()
        assert len(small.house.turns) == 1
        assert len(small.all(Committed)) == 1


async def test_nothing_acts_before_the_commit() -> None:
    async with world("set a timer", stt_seconds=0.3) as small:
        await small.speak(1.0)
        await small.keep_quiet(0.25)  # the guess is under way
        await small.speak(1.0)
        assert small.house.turns == []
        await small.ended()
        assert len(small.house.turns) == 1


async def test_noise_gives_no_turn() -> None:
    async with world("") as small:
        await small.speak(0.5)
        await small.until(lambda event: isinstance(event, Transcribed))
        await small.keep_quiet(2.0)
        assert small.house.turns == []
        assert small.all(TurnStarted) == []
        assert small.session.state is TurnState.LISTENING


async def test_a_recogniser_that_fails_is_said_aloud_and_the_session_lives_on() -> None:
    gone = EngineError("the recogniser is gone")
    async with world(gone, gone, "what is new") as small:
        await small.speak(1.0)
        end = await small.ended()
        assert (end.end, end.error) == ("failed", "the recogniser is gone")
        assert small.tts.texts == ["A part of me isn't working right now."]
        assert small.all(Transcribed)[0].error == "the recogniser is gone"
        await small.speak(1.0)
        assert (await small.ended(2)).end == "done"


async def test_a_guess_that_fails_costs_nothing() -> None:
    async with world(EngineError("busy"), "what is new") as small:
        await small.speak(1.0)
        assert (await small.ended()).end == "done"
        assert small.house.turns[0].text == "what is new"


async def test_a_voice_that_fails_leaves_the_text() -> None:
    async with world() as small:
        small.tts.broken = True
        await small.speak(1.0)
        end = await small.ended()
        assert (end.end, end.error) == ("failed", "the voice is gone")
        assert "".join(event.text for event in small.all(SpeechOut)) == "It is noon now."
        assert small.sound_seconds == 0
        small.tts.broken = False
        await small.speak(1.0)
        assert (await small.ended(2)).end == "done"


async def test_an_agent_that_fails_is_said_aloud() -> None:
    house = House(trouble=LlmGone("no model"))
    async with world(house=house) as small:
        await small.speak(1.0)
        end = await small.ended()
        assert (end.end, end.error) == ("failed", "no model")
        assert small.tts.texts == ["I lost my train of thought.", "Please ask me again in a moment."]


async def test_a_cancel_during_a_tool_ends_the_tool_and_the_turn() -> None:
    house = House(tool_seconds=30)
    async with world(house=house) as small:
        await small.speak(1.0)
        await small.until(lambda event: isinstance(event, ToolStarted))
        await small.session.cancel()
        assert isinstance(small.event[-1], TurnEnded)
        assert small.event[-1].end == "cancelled"
        assert len(small.all(ToolFinished)) == 1
        with pytest.raises(RequestError):
            await small.session.cancel()


async def test_an_announcement_waits_until_nobody_speaks() -> None:
    async with world() as small:
        async with anyio.create_task_group() as tasks:
            await small.speak(1.0)
            tasks.start_soon(small.session.say, "Your pizza timer is done.")
            await small.ended(2)
        started = [event.reason for event in small.all(TurnStarted)]
        assert started == ["nobody else was asked", "announcement"]
        assert small.tts.texts == ["It is noon now.", "Your pizza timer is done."]
        assert len(small.house.turns) == 1
        assert len(small.house.remembered) == 1, "an announcement is no part of the conversation"


async def test_two_announcements_come_one_after_the_other() -> None:
    async with world() as small:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(small.session.say, "The first.")
            tasks.start_soon(small.session.say, "The second.")
        assert sorted(small.tts.texts) == ["The first.", "The second."]
        starts = [type(event) for event in small.event if isinstance(event, (TurnStarted, TurnEnded))]
        assert starts == [TurnStarted, TurnEnded] * 2
        assert [event.end for event in small.all(TurnEnded)] == ["done", "done"]


async def test_an_announcement_to_a_session_that_ends_says_so() -> None:
    failed: list[bool] = []

    async def say(small: World) -> None:
        with pytest.raises(EngineError):
            await small.session.say("Your pizza timer is done.")
        failed.append(True)

    async with anyio.create_task_group() as tasks, world(house=House(tool_seconds=60)) as small:
        await small.speak(1.0)
        await small.until(lambda event: isinstance(event, ToolStarted))
        tasks.start_soon(say, small)
        await small.keep_quiet(0.2)
    assert failed == [True]


async def test_an_announcement_that_has_begun_is_said_to_its_end_and_counts_as_said() -> None:
    async with world() as small:
        with anyio.move_on_after(WORD_SECONDS) as patience:
            await small.session.say("Your pizza timer is done.")
        assert not patience.cancelled_caught, "whoever gives up here has it said again"
        assert [event.end for event in small.all(TurnEnded)] == ["done"]


async def test_whoever_gives_up_on_a_cancel_leaves_the_session_whole() -> None:
    class Slow(House):
        async def remember(self, turn_id: str, heard: str) -> None:
            await anyio.sleep(1.0)

    async with world(house=Slow()) as small, anyio.create_task_group() as tasks:
        await small.speak(1.0)
        await small.until(spoke)
        tasks.start_soon(small.session.say, "Your pizza timer is done.")
        await small.keep_quiet(0.1)
        with anyio.move_on_after(0.1):
            await small.session.cancel()
        await small.ended(2)
    assert small.tts.texts[-1] == "Your pizza timer is done."


async def test_a_memory_that_hangs_costs_no_end() -> None:
    class Absent(House):
        async def remember(self, turn_id: str, heard: str) -> None:
            await anyio.sleep_forever()

    async with world(house=Absent()) as small:
        await small.speak(1.0)
        assert (await small.ended()).end == "done"


async def test_ten_turns_in_a_row_leave_no_task_behind() -> None:
    import trio

    async with world() as small:
        await small.keep_quiet(0.1)
        before = trio.lowlevel.current_statistics().tasks_living
        for count in range(1, 11):
            await small.speak(0.8)
            assert (await small.ended(count)).end == "done"
        await small.keep_quiet(0.5)
        assert trio.lowlevel.current_statistics().tasks_living == before
        assert len(small.house.turns) == 10


async def test_speech_is_told_to_start_and_stop_in_pairs() -> None:
    async with world("what is new", "no wait", "hm", "stop", "go on") as small:
        for seconds in (1.0, 0.8, 0.25, 0.9, 0.3):
            await small.speak(seconds)
            await small.keep_quiet(1.2)
        await small.keep_quiet(5.0)
        turns = [event for event in small.event if isinstance(event, (SpeechStarted, SpeechStopped))]
        assert len(turns) % 2 == 0
        for start, stop in zip(turns[::2], turns[1::2], strict=True):
            assert isinstance(start, SpeechStarted)
            assert isinstance(stop, SpeechStopped)
            assert start.utterance_id == stop.utterance_id
            assert start.at_sample < stop.at_sample


async def test_a_speech_of_a_minute_is_cut_where_the_recogniser_ends_and_nothing_is_lost() -> None:
    async with world("a long story", options=SessionOptions(answer=False)) as small:
        await small.speak(60.0)
        await small.keep_quiet(2.0)
        seconds = [event.seconds for event in small.all(Committed)]
        assert max(seconds) <= 28.0
        assert sum(seconds) >= 60.0


# ── who decides what ────────────────────────────────────────────────────────────────────────────────


async def test_without_automatic_answers_words_wait_until_an_answer_is_asked_for() -> None:
    async with world("buy milk", "and bread", options=SessionOptions(answer=False)) as small:
        for _ in range(2):
            await small.speak(0.8)
            await small.keep_quiet(1.0)
        assert small.house.turns == []
        await small.session.respond()
        await small.ended()
        assert small.house.turns[0].text == "buy milk and bread"


async def test_push_to_talk_commits_every_sample_and_answers_when_asked() -> None:
    async with world("what is new", options=SessionOptions(detect_turns=False)) as small:
        await small.hear(voice(1.003))
        await small.session.commit()
        await small.session.respond()
        await small.ended()
        assert small.kinds()[:2] == ["Committed", "Transcribed"]
        assert small.stt.heard[0].samples == voice(1.003).samples
        assert small.house.turns[0].text == "what is new"
        await small.session.clear()
        with pytest.raises(RequestError) as trouble:
            await small.session.commit()
        assert trouble.value.code == "input_audio_buffer_commit_empty"


async def test_push_to_talk_with_nothing_said_is_answered_honestly() -> None:
    async with world(options=SessionOptions(detect_turns=False)) as small:
        await small.keep_quiet(1.0)
        await small.session.commit()
        await small.session.respond()
        assert (await small.ended()).text == "I didn't hear anything."
        assert small.house.turns == []


async def test_what_was_cleared_is_never_heard_of_again() -> None:
    async with world(options=SessionOptions(detect_turns=False)) as small:
        await small.speak(1.0)
        await small.session.clear()
        with pytest.raises(RequestError):
            await small.session.commit()
        assert small.event == []


async def test_clearing_in_the_middle_of_speech_closes_what_was_opened() -> None:
    async with world() as small:
        await small.speak(0.8)
        await small.session.clear()
        await small.keep_quiet(2.0)
        assert small.kinds() == ["SpeechStarted", "SpeechStopped"]


async def test_typed_words_are_answered_and_a_second_answer_is_refused_meanwhile() -> None:
    async with world() as small:
        await small.session.respond(ReplyOptions(text="hello", speak=False, instructions="be brief"))
        with pytest.raises(RequestError) as trouble:
            await small.session.respond(ReplyOptions(text="again"))
        assert trouble.value.code == "conversation_already_has_active_response"
        await small.ended()
        turn = small.house.turns[0]
        assert (turn.text, turn.spoken, turn.instructions) == ("hello", False, "be brief")
        assert small.all(SpeechOut) == []


async def test_a_turn_knows_whether_it_was_spoken_typed_or_said_by_nobody() -> None:
    async with world("yes", "please") as small:
        await small.speak(1.0)
        await small.keep_quiet(2.0)
        await small.ended()
        for count, wish in enumerate((ReplyOptions(text="yes"), ReplyOptions(prompt="yes")), 2):
            await small.session.respond(wish)
            await small.ended(count)
        assert [(turn.text, turn.channel) for turn in small.house.turns] == [
            ("yes", "voice"),
            ("yes", "chat"),
            ("yes", None),
        ]
        assert all(turn.spoken for turn in small.house.turns), "every reply is heard"


async def test_words_that_are_partly_typed_are_typed() -> None:
    async with world("yes", options=SessionOptions(answer=False)) as small:
        await small.speak(1.0)
        await small.keep_quiet(2.0)
        await small.session.respond(ReplyOptions(text="please"))
        await small.ended()
        assert [(turn.text, turn.channel) for turn in small.house.turns] == [("yes please", "chat")]


async def test_a_reply_that_may_not_be_interrupted_is_not_and_the_words_are_kept() -> None:
    house = House(answer="One two three four five six seven eight.")
    async with world("what is new", "me too", house=house, options=SessionOptions(interrupt=False)) as small:
        await small.speak(1.0)
        await small.until(spoke)
        await small.speak(1.0)
        end = await small.ended()
        assert end.end == "done"
        assert [event.text for event in small.all(Transcribed)] == ["what is new", "me too"]
        assert len(house.turns) == 1


async def test_who_pauses_while_such_a_reply_ends_and_then_goes_on_loses_no_word() -> None:
    house = House(answer="One two three.")
    by_length = ScriptedStt(lambda sound: f"{sound.seconds:.0f} seconds", seconds=0.05)
    async with world(house=house, stt=by_length, options=SessionOptions(interrupt=False)) as small:
        await small.speak(1.0)
        await small.until(spoke)
        await small.keep_quiet(0.3)
        await small.speak(0.6)
        await small.until(lambda event: isinstance(event, TurnEnded))  # in the pause
        await small.speak(1.0)
        await small.ended(2)
        assert house.turns[1].text == "3 seconds"


async def test_stop_works_even_on_a_reply_that_may_not_be_interrupted() -> None:
    house = House(answer="One two three four five six seven eight.")
    async with world("what is new", "stop", house=house, options=SessionOptions(interrupt=False)) as small:
        await small.speak(1.0)
        await small.until(spoke)
        await small.speak(0.4)
        assert (await small.ended()).end == "interrupted"


async def test_a_client_that_heard_less_has_that_remembered() -> None:
    async with world() as small:
        await small.speak(1.0)
        end = await small.ended()
        heard = await small.session.truncate(end.turn_id, 900)
        assert heard == "It is"
        assert small.house.remembered[-1] == (end.turn_id, "It is")
        with pytest.raises(RequestError) as trouble:
            await small.session.truncate(end.turn_id, 60_000)
        assert trouble.value.param == "audio_end_ms"
        with pytest.raises(RequestError):
            await small.session.truncate("turn_unknown", 1)


async def test_words_said_while_the_first_words_are_still_being_recognised_are_answered_with_them() -> None:
    async with world("set", "a timer for ten minutes", stt_seconds=1.5) as small:
        await small.speak(0.6)
        await small.keep_quiet(0.8)
        await small.speak(1.5)
        await small.ended()
        assert [turn.text for turn in small.house.turns] == ["set a timer for ten minutes"]


async def test_push_to_talk_for_a_minute_loses_nothing() -> None:
    async with world("a long story", options=SessionOptions(detect_turns=False)) as small:
        await small.hear(voice(60.0))
        await small.session.commit()
        await small.session.respond()
        await small.ended()
        assert sum(sound.samples for sound in small.stt.heard) == voice(60.0).samples
        assert max(sound.seconds for sound in small.stt.heard) <= 28.0


# ── the wake word ───────────────────────────────────────────────────────────────────────────────────


async def test_asleep_nothing_is_heard_until_the_wake_word() -> None:
    wake = ScriptedWake()
    async with world("what is new", wake=wake) as small:
        await small.speak(1.0)
        await small.keep_quiet(1.0)
        assert small.event == []
        await small.hear(wake.call())
        await small.until(lambda event: isinstance(event, Woken))
        await small.keep_quiet(0.3)
        await small.speak(1.0)
        assert (await small.ended()).end == "done"


async def test_after_an_answer_it_sleeps_and_what_a_television_says_then_is_no_command() -> None:
    wake = ScriptedWake()
    async with world("what is new", wake=wake) as small:
        await small.hear(wake.call())
        await small.keep_quiet(0.3)
        await small.speak(1.0)
        await small.ended(1)
        await small.keep_quiet(0.2)
        assert small.session.state is TurnState.ASLEEP
        await small.speak(1.0)
        await small.keep_quiet(2.0)
        assert len(small.house.turns) == 1


async def test_after_a_question_of_the_house_and_after_what_it_says_by_itself_no_wake_word_is_wanted() -> None:
    wake = ScriptedWake()
    async with world("what is new", house=House(answer="For how long?"), wake=wake) as small:
        await small.hear(wake.call())
        await small.keep_quiet(0.3)
        await small.speak(1.0)
        await small.ended(1)
        await small.keep_quiet(2.0)
        assert small.session.state is TurnState.LISTENING
        await small.keep_quiet(9.0)
        assert small.session.state is TurnState.ASLEEP
        await small.session.say("Your pizza timer is done.")
        await small.keep_quiet(2.0)
        assert small.session.state is TurnState.LISTENING


async def test_where_it_is_set_so_one_may_go_on_after_an_answer_without_the_wake_word() -> None:
    wake = ScriptedWake()
    async with world("what is new", wake=wake, options=SessionOptions(after_answer_seconds=5.0)) as small:
        await small.hear(wake.call())
        await small.keep_quiet(0.3)
        await small.speak(1.0)
        await small.ended(1)
        await small.keep_quiet(3.0)
        await small.speak(1.0)
        await small.ended(2)
        await small.keep_quiet(6.0)
        assert small.session.state is TurnState.ASLEEP
        await small.speak(1.0)
        await small.keep_quiet(2.0)
        assert len(small.house.turns) == 2


async def test_an_announcement_is_said_even_while_asleep() -> None:
    async with world(wake=ScriptedWake()) as small:
        await small.session.say("Your pizza timer is done.")
        assert small.tts.texts == ["Your pizza timer is done."]


async def test_the_wake_word_over_an_announcement_stops_it_and_listens() -> None:
    wake = ScriptedWake()
    async with world("what is new", wake=wake) as small, anyio.create_task_group() as tasks:
        tasks.start_soon(small.session.say, "Your pizza timer is done, and so is the one for the eggs.")
        await small.until(spoke)
        await small.hear(wake.call())
        assert (await small.ended()).end == "interrupted"
        await small.speak(1.0)
        assert (await small.ended(2)).end == "done"
        assert small.house.turns[0].text == "what is new"


# ── what it costs ───────────────────────────────────────────────────────────────────────────────────


async def test_the_timings_of_a_turn_are_at_hand_when_it_ends() -> None:
    seen: dict[str, int] = {}
    async with world() as small:
        inner = small.session._tell

        async def tell(event: Event) -> None:
            if isinstance(event, TurnEnded):
                seen.update(trace.current().milliseconds())
            await inner(event)

        small.session._tell = tell
        await small.speak(1.0)
        await small.ended()
    assert {"vad_ms", "stt_ms", "tts_ms", "first_text_at_ms", "first_sound_at_ms", "words_at_ms"} <= set(seen)
    assert 600 <= seen["vad_ms"] <= 800, "the silence that was waited"


async def test_sound_that_comes_faster_than_it_is_spoken_is_heard_all_the_same() -> None:
    async with world("what is new") as small:
        whole = voice(1.0) + AudioChunk(bytes(2 * HEARING_RATE * 2))
        await small.session.hear(whole)
        await small.ended()
        assert len(small.house.turns) == 1


async def test_options_may_change_in_the_middle() -> None:
    async with world("what is new") as small:
        await small.speak(0.8)
        await small.session.configure(replace(small.session.options, detect_turns=False))
        assert small.kinds() == ["SpeechStarted", "SpeechStopped"]
        await small.speak(0.5)
        await small.session.commit()
        await small.session.configure(replace(small.session.options, detect_turns=True))
        await small.speak(0.8)
        await small.ended()
        assert len(small.house.turns) == 1


async def test_only_behind_a_question_are_words_heard_as_its_answer() -> None:
    house = House(answer="For how long?")
    async with world("what is new", "ten minutes", "and now", house=house) as small:
        await small.speak(1.0)
        await small.ended(1)
        house.answer = "The timer is set."
        await small.speak(1.0)
        await small.ended(2)
        await small.speak(1.0)
        await small.ended(3)
        assert [turn.text for turn in house.turns] == ["what is new", "answer: ten minutes", "and now"]


async def test_a_question_to_somebody_known_by_voice_is_answered_in_their_conversation() -> None:
    house = House(answer="For how long?", person="ada")
    async with world("what is new", "ten minutes", house=house) as small:
        await small.speak(1.0)
        await small.ended(1)
        house.person = ""  # too short to tell whose voice it is
        await small.speak(1.0)
        await small.ended(2)
        await small.speak(1.0)
        await small.ended(3)
        assert [turn.actor.person for turn in small.judged] == ["ada", ""]


class BusyStt(ScriptedStt):
    """A recogniser that somebody else is being heard by."""

    @property
    def idle(self) -> bool:
        return False


async def test_words_are_read_as_soon_as_it_grows_quiet_where_nobody_else_is_being_heard() -> None:
    for stt, reads in ((ScriptedStt(["what is new"]), 1), (BusyStt(["what is new"]), 0)):
        async with world(stt=stt) as small:
            await small.speak(1.0)
            await small.speak(0.064, level=0.007)  # the detector is not sure that it is over
            assert len(stt.heard) == reads
            await small.keep_quiet(0.064)
            assert len(stt.heard) == 1


async def test_what_was_read_in_a_quiet_moment_is_forgotten_when_the_sentence_goes_on() -> None:
    async with world("turn on", "turn on the light", stt_seconds=0.01) as small:
        await small.speak(1.0)
        await small.speak(0.064, level=0.007)
        await small.speak(0.5)
        await small.ended()
        assert [turn.text for turn in small.house.turns] == ["turn on the light"]
