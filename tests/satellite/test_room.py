"""What a room does, with a wake word that is a tone and a house that is a list of messages."""

from __future__ import annotations

import base64
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from atlas.audio import HEARING_RATE, AudioChunk, silence
from atlas.errors import ConfigError
from atlas.satellite.earcons import MELODIES, RATE, earcon
from atlas.satellite.player import Player
from atlas.satellite.rings import Rings
from atlas.satellite.room import LEAD_SECONDS, SatelliteRoom, State
from atlas.satellite.settings import is_quiet, read_hours
from atlas.satellite.wake_listener import WakeListener
from tests.conftest import for_every, virtual_time
from tests.scripted_vad import voice
from tests.scripted_wake import ScriptedWake

CHUNK_SECONDS = 0.04
HALF_SECOND = bytes(RATE)


@pytest.fixture
def anyio_backend() -> Any:
    return virtual_time()


class Loudspeaker:
    """Writes down what it plays."""

    def __init__(self) -> None:
        self.played = b""

    @asynccontextmanager
    async def open(self) -> Any:
        yield self

    async def write(self, pcm: bytes) -> bool:
        self.played += pcm
        return True


class NoEcho:
    """An echo canceller in a room where nothing echoes."""

    def heard(self, chunk: AudioChunk) -> AudioChunk:
        return chunk


class Kitchen:
    """A room, its loudspeaker, what it sent to the house and which hooks it ran."""

    def __init__(self, canceller: Any = None, stopping: bool = False, follow_up_seconds: float = 0.0) -> None:
        self.stop = ScriptedWake("okay nabu", "hey jarvis", "stop")  # a tone of its own
        self.wake = ScriptedWake("okay nabu", "hey jarvis")
        self.loudspeaker = Loudspeaker()
        self.player = Player(self.loudspeaker.open)
        self.sent: list[dict[str, Any]] = []
        self.hooks: list[str] = []
        self.rings = Rings()
        thresholds: dict[str, float] = {}
        self.room = SatelliteRoom(
            send=lambda kind, **fields: self.sent.append({"type": kind, **fields}),
            player=self.player,
            waking=WakeListener(self.wake.listen(lambda phrase: thresholds.get(phrase, 0.0))),
            thresholds=thresholds,
            rings=self.rings,
            canceller=canceller,
            stopping=self.stop.listen() if stopping else None,
            hook=lambda event, **more: self.hooks.append(event),
            follow_up_seconds=follow_up_seconds,
        )
        self.room.connected(True)

    async def hear(self, sound: AudioChunk) -> None:
        """Say something in the room, at the speed of sound."""
        step = round(CHUNK_SECONDS * HEARING_RATE)
        for start in range(0, sound.samples, step):
            await anyio.sleep(CHUNK_SECONDS)
            self.room.hear(sound.cut(start, start + step))

    async def woken(self, phrase: str = "okay nabu") -> None:
        await self.hear(self.wake.call(phrase))
        self.house("atlas.woken", phrase=phrase)

    def house(self, kind: str, /, **fields: Any) -> None:
        self.room.take({**fields, "type": kind})

    async def spoken_to(self) -> None:
        """Somebody wakes it and says something; the house has understood."""
        await self.woken()
        self.house("input_audio_buffer.speech_started")
        await self.hear(voice(1.0))
        self.house("input_audio_buffer.committed")
        self.house("conversation.item.input_audio_transcription.completed", transcript="what time is it")

    async def answered(self, words: str, seconds: float = 0.5) -> None:
        self.house("response.created", response={"id": "resp_1"})
        self.house("response.output_audio_transcript.delta", response_id="resp_1", delta=words)
        sound = base64.b64encode(bytes(round(seconds * RATE) * 2)).decode()
        self.house("response.output_audio.delta", response_id="resp_1", delta=sound)
        self.house("response.done", response={"id": "resp_1", "status": "completed"})

    def kinds(self) -> list[str]:
        """What was sent, without repeats of sound."""
        kinds = [one["type"] for one in self.sent]
        return [kind for at, kind in enumerate(kinds) if at == 0 or kind != kinds[at - 1]]

    def seconds_sent(self) -> float:
        sound = [one["audio"] for one in self.sent if one["type"] == "input_audio_buffer.append"]
        return sum(len(base64.b64decode(part)) for part in sound) / 2 / RATE


@asynccontextmanager
async def kitchen(canceller: Any = None, stopping: bool = False, follow_up_seconds: float = 0.0) -> Any:
    here = Kitchen(canceller, stopping, follow_up_seconds)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(here.player.run)
        yield here
        tasks.cancel_scope.cancel()


async def test_the_thresholds_that_the_house_sets_for_its_room_count_from_then_on() -> None:
    async with kitchen() as here:
        here.house("atlas.wake_thresholds", thresholds={"okay nabu": 0.6})
        await here.hear(here.wake.call("okay nabu"))
        assert here.kinds() == ["atlas.hello"]
        here.house("atlas.wake_thresholds", thresholds={})
        await here.hear(silence(0.1) + here.wake.call("okay nabu"))
        assert "atlas.wake" in here.kinds()


async def test_a_room_lets_its_microphone_wait_only_while_nobody_speaks_and_nothing_sounds() -> None:
    async with kitchen() as here:
        await here.hear(silence(3.0))
        assert here.room.hear(silence(CHUNK_SECONDS))
        assert not here.room.hear(voice(CHUNK_SECONDS))
        await here.hear(silence(3.0))
        assert here.room.hear(silence(CHUNK_SECONDS))
        await here.answered("Dinner is ready.")  # nobody asked
        assert not here.room.hear(silence(CHUNK_SECONDS))
        await here.hear(silence(3.0))
        assert here.room.hear(silence(CHUNK_SECONDS))
        here.room.press()
        assert not here.room.hear(silence(CHUNK_SECONDS))


async def test_nothing_that_is_said_leaves_the_machine_before_the_wake_word() -> None:
    async with kitchen() as here:
        await here.hear(voice(5.0))
        assert here.kinds() == ["atlas.hello"]


async def test_a_question_is_heard_answered_and_reported_as_played_and_the_room_sleeps_again() -> None:
    async with kitchen() as here:
        await here.spoken_to()
        await here.answered("It is noon.")
        await here.hear(silence(2.0))
        assert here.kinds()[-2:] == ["atlas.played", "atlas.sleep"]
        assert next(one for one in here.sent if one["type"] == "atlas.played")["played_ms"] == 500
        assert here.hooks == ["connected", "woken", "heard", "answering", "asleep"]


async def test_what_was_said_in_one_breath_is_sent_from_the_word_after_the_wake_word() -> None:
    async with kitchen() as here:
        await here.hear(here.wake.call("hey jarvis") + voice(1.0))
        woken = next(one for one in here.sent if one["type"] == "atlas.wake")
        assert woken["phrase"] == "hey jarvis"
        assert -20 < woken["level_db"] < 0
        assert here.seconds_sent() == pytest.approx(1.15, abs=0.1)


async def test_a_tone_says_that_it_is_awake_to_who_waits_for_it_and_not_over_who_speaks_on() -> None:
    async with kitchen() as here:
        await here.woken()
        await here.hear(silence(1.0))
        assert earcon("woken")[2_000:2_200] in here.loudspeaker.played
    async with kitchen() as here:
        await here.woken()
        here.house("input_audio_buffer.speech_started")
        await here.hear(voice(1.0))
        assert not any(here.loudspeaker.played)


async def test_who_says_the_wake_word_and_no_more_is_let_go_without_an_apology() -> None:
    async with kitchen() as here:
        await here.woken()
        await here.hear(silence(7.0))
        assert here.room.state is State.ASLEEP
        assert here.kinds()[-1] == "atlas.sleep"
        assert "failed" not in here.hooks


async def test_after_a_question_of_the_house_the_answer_needs_no_wake_word() -> None:
    async with kitchen() as here:
        await here.spoken_to()
        await here.answered("Cancel all timers?")
        await here.hear(silence(2.0))
        assert here.room.state is State.LISTENING
        await here.hear(silence(9.0))
        assert here.room.state is State.ASLEEP


async def test_a_room_that_is_set_so_listens_on_after_an_answer_and_not_after_what_it_says_by_itself() -> None:
    async with kitchen(follow_up_seconds=6.0) as here:
        await here.spoken_to()
        await here.answered("It is noon.")
        await here.hear(silence(3.0))
        assert here.room.state is State.LISTENING
        await here.hear(silence(6.0))
        assert here.room.state is State.ASLEEP
        await here.answered("Dinner is ready.")
        await here.hear(silence(2.0))
        assert here.room.state is State.ASLEEP


async def test_the_wake_word_over_an_answer_silences_it_and_listens() -> None:
    async with kitchen() as here:
        await here.spoken_to()
        await here.answered("It is a long story.", seconds=20.0)
        await here.hear(silence(1.0))
        await here.woken()
        assert not here.player.busy
        assert here.room.state is State.LISTENING
        assert "atlas.played" not in here.kinds(), "what was not played to its end is not said to be"


async def test_without_echo_cancellation_the_house_does_not_hear_itself() -> None:
    async with kitchen() as here:
        await here.spoken_to()
        before = here.seconds_sent()
        await here.answered("It is noon.", seconds=5.0)
        await here.hear(voice(4.0))
        assert here.seconds_sent() == before


async def test_with_echo_cancellation_somebody_may_speak_over_the_answer() -> None:
    async with kitchen(NoEcho()) as here:
        await here.spoken_to()
        before = here.seconds_sent()
        await here.answered("It is a long story.", seconds=20.0)
        await here.hear(voice(1.0))
        assert here.seconds_sent() > before + 0.9
        here.house("input_audio_buffer.speech_started")
        assert not here.player.busy
        assert here.room.state is State.HEARING


async def test_an_announcement_is_played_in_a_room_that_sleeps_and_it_sleeps_on() -> None:
    async with kitchen() as here:
        await here.answered("Dinner is ready.", seconds=2.0)
        await here.hear(voice(3.0))
        assert here.room.state is State.ASLEEP
        assert here.seconds_sent() == 0
        assert here.kinds()[-1] == "atlas.played"


async def test_a_sentence_in_whose_middle_the_line_breaks_is_sent_whole_when_it_is_back() -> None:
    async with kitchen() as here:
        await here.hear(here.wake.call("okay nabu") + voice(1.0))
        here.house("atlas.woken", phrase="okay nabu")
        here.house("input_audio_buffer.speech_started")
        before = here.seconds_sent()
        here.room.connected(False)
        await here.hear(voice(1.0) + silence(3.0))
        assert here.seconds_sent() == before
        assert earcon("thinking")[2_000:2_200] in here.loudspeaker.played
        here.sent.clear()
        here.room.connected(True)
        assert here.kinds() == ["atlas.hello", "atlas.wake", "input_audio_buffer.append"]
        assert here.seconds_sent() == pytest.approx(before + 4.0, abs=0.1)
        here.house("atlas.woken", phrase="okay nabu")
        here.house("input_audio_buffer.speech_started")
        here.house("input_audio_buffer.committed")
        await here.answered("It is noon.")
        await here.hear(silence(2.0))
        assert "failed" not in here.hooks
        assert here.room.state is State.ASLEEP


async def test_a_call_that_the_house_has_heard_to_its_end_before_the_line_broke_is_not_made_again() -> None:
    async with kitchen() as here:
        await here.spoken_to()
        here.room.connected(False)
        here.sent.clear()
        here.room.connected(True)
        assert here.kinds() == ["atlas.hello"]
        assert "failed" in here.hooks


async def test_the_same_call_keeps_its_id_when_it_is_made_again_and_another_has_another() -> None:
    async with kitchen() as here:
        await here.woken()
        here.room.connected(False)
        here.room.connected(True)
        await here.hear(silence(7.0))
        await here.woken()
        first, again, another = (one["call_id"] for one in here.sent if one["type"] == "atlas.wake")
        assert first == again != another


async def test_what_is_answered_to_a_question_while_the_line_is_broken_is_sent_when_it_is_back() -> None:
    async with kitchen() as here:
        await here.spoken_to()
        await here.answered("For how long?")
        await here.hear(silence(1.5))
        assert here.hooks[-1] == "listening"
        (call,) = [one["call_id"] for one in here.sent if one["type"] == "atlas.call"]
        here.room.connected(False)
        await here.hear(voice(1.0) + silence(1.0))
        here.sent.clear()
        here.room.connected(True)
        assert here.kinds() == ["atlas.hello", "atlas.wake", "input_audio_buffer.append"]
        assert here.seconds_sent() >= 2.0
        (again,) = [one for one in here.sent if one["type"] == "atlas.wake"]
        assert (again["phrase"], again["call_id"]) == ("okay nabu", call)
        assert "failed" not in here.hooks


async def test_what_somebody_says_over_an_answer_when_the_line_breaks_is_sent_from_its_first_word() -> None:
    async with kitchen(NoEcho()) as here:
        await here.spoken_to()
        await here.answered("It is noon, and there is a lot more to say about that.", seconds=5.0)
        await here.hear(silence(1.5) + voice(0.5))
        here.house("input_audio_buffer.speech_started")
        await here.hear(voice(0.5))
        here.room.connected(False)
        here.sent.clear()
        await here.hear(voice(0.5))
        here.room.connected(True)
        assert here.kinds() == ["atlas.hello", "atlas.wake", "input_audio_buffer.append"]
        assert here.seconds_sent() == pytest.approx(LEAD_SECONDS + 1.0, abs=0.1)


async def test_a_house_that_dies_in_the_middle_of_a_sentence_is_told_by_a_tone() -> None:
    async with kitchen() as here:
        await here.woken()
        here.house("input_audio_buffer.speech_started")
        here.room.connected(False)
        await here.hear(silence(11.0))
        assert here.hooks[-3:] == ["disconnected", "failed", "asleep"]
        assert earcon("failed")[2_000:2_200] in here.loudspeaker.played
        await here.hear(here.wake.call("okay nabu"))
        assert here.hooks[-1] == "failed"
        here.room.connected(True)
        await here.hear(silence(0.5))
        await here.woken()
        assert here.room.state is State.LISTENING


async def test_a_cough_that_was_taken_for_speech_answers_nobody() -> None:
    async with kitchen() as here:
        await here.woken()
        here.house("input_audio_buffer.speech_started")
        here.house("input_audio_buffer.committed")
        here.house("conversation.item.input_audio_transcription.completed", transcript="")
        await here.hear(silence(4.0))
        assert here.room.state is State.ASLEEP
        assert "failed" not in here.hooks


async def test_what_needs_no_answer_ends_without_one_and_without_a_tone() -> None:
    async with kitchen() as here:
        await here.woken()
        here.house("input_audio_buffer.speech_started")
        await here.hear(voice(0.5))
        here.house("input_audio_buffer.committed")
        here.house("conversation.item.input_audio_transcription.completed", transcript="Stop.")
        await here.hear(silence(5.0))
        assert here.room.state is State.ASLEEP
        assert "failed" not in here.hooks


async def test_a_house_that_finds_no_words_for_a_minute_is_told_by_a_tone() -> None:
    async with kitchen() as here:
        await here.woken()
        here.house("input_audio_buffer.speech_started")
        here.house("input_audio_buffer.committed")
        await here.hear(silence(65.0))
        assert here.hooks[-2:] == ["failed", "asleep"]


async def test_a_muted_room_hears_nothing_and_plays_on() -> None:
    async with kitchen() as here:
        here.room.mute(True)
        await here.hear(here.wake.call() + voice(1.0))
        assert here.kinds() == ["atlas.hello"]
        await here.answered("Dinner is ready.")
        await here.hear(silence(2.0))
        assert here.kinds()[-1] == "atlas.played"
        here.room.mute(False)
        await here.woken()
        assert here.room.state is State.LISTENING


async def test_the_others_in_the_house_answer_where_this_room_is_farther_away() -> None:
    async with kitchen() as here:
        await here.hear(here.wake.call())
        here.house("atlas.not_nearest")
        before = here.seconds_sent()
        await here.hear(voice(2.0))
        assert here.seconds_sent() == before
        assert not any(here.loudspeaker.played), "only the one that answers makes a sound"


async def test_a_timer_rings_here_when_the_house_is_away_until_a_button_or_the_wake_word() -> None:
    async with kitchen() as here:
        here.house("atlas.rings", rings=[{"id": "timer_1", "tone": "timer", "in_seconds": 10}])
        await here.hear(silence(5.0))
        here.room.connected(False)
        await here.hear(silence(30.0))
        assert here.hooks.count("ringing") == 6
        await here.hear(here.wake.call())
        await here.hear(silence(30.0))
        assert here.hooks.count("ringing") == 6
        here.room.connected(True)
        assert here.sent[-1] == {"type": "atlas.rang", "ids": ["timer_1"]}


async def test_while_the_house_is_there_it_rings_and_this_room_says_stop_without_a_wake_word() -> None:
    async with kitchen() as here:
        here.house("atlas.rings", rings=[{"id": "timer_1", "tone": "timer", "in_seconds": 1}])
        await here.hear(silence(10.0))
        assert "ringing" not in here.hooks
        here.house("atlas.ring", id="timer_1", tone="timer", text="Your timer has ended.", times=0)
        await here.answered("Your timer has ended.")
        await here.hear(silence(2.5))
        assert earcon("timer")[2_000:2_200] in here.loudspeaker.played
        assert here.room.state is State.LISTENING
        here.house("atlas.rings", rings=[])
        here.room.connected(False)
        await here.hear(silence(30.0))
        assert here.hooks.count("ringing") == 1, "what somebody has stopped is not rung again"


async def test_what_the_house_rang_rings_on_here_when_it_dies_before_somebody_stopped_it() -> None:
    async with kitchen() as here:
        here.house("atlas.rings", rings=[{"id": "timer_1", "tone": "timer", "in_seconds": 1}])
        await here.hear(silence(2.0))
        here.house("atlas.ring", id="timer_1", tone="timer", text="Your timer has ended.", times=0)
        here.house("atlas.rings", rings=[{"id": "timer_1", "tone": "timer", "in_seconds": -1}])
        here.room.connected(False)
        await here.hear(silence(10.0))
        assert here.hooks.count("ringing") > 1
        here.room.press()
        before = here.hooks.count("ringing")
        await here.hear(silence(30.0))
        assert here.hooks.count("ringing") == before
        here.room.connected(True)
        assert here.sent[-1] == {"type": "atlas.rang", "ids": ["timer_1"]}


async def test_a_ring_that_was_stopped_while_the_house_was_there_is_not_taken_up_when_it_dies_at_once() -> None:
    async with kitchen(stopping=True) as here:
        here.house("atlas.rings", rings=[{"id": "timer_1", "tone": "timer", "in_seconds": 1}])
        await here.hear(silence(2.0))
        here.house("atlas.ring", id="timer_1", tone="timer", text="Your timer has ended.", times=0)
        await here.answered("Your timer has ended.", seconds=4.0)
        await here.hear(silence(1.0) + here.stop.call("stop"))
        here.room.connected(False)
        await here.hear(silence(30.0))
        assert here.hooks.count("ringing") == 1


def test_every_earcon_is_short_and_ends_in_silence() -> None:
    for name in MELODIES:
        sound = earcon(name)
        assert 0.03 * RATE * 2 < len(sound) < 1.6 * RATE * 2
        assert sound[-2:] == b"\0\0" or abs(int.from_bytes(sound[-2:], "little", signed=True)) < 500


async def test_stop_silences_what_speaks_or_rings_here_by_itself_without_a_wake_word() -> None:
    async with kitchen(stopping=True) as here:
        await here.answered("Dinner is ready, come down all of you.", seconds=9.0)
        await here.hear(silence(1.0) + here.stop.call("stop"))
        assert not here.player.busy
        assert here.hooks[-1] == "silent"
        assert "atlas.silence" in here.kinds()
        assert here.room.state is State.ASLEEP
    async with kitchen(stopping=True) as here:
        here.house("atlas.rings", rings=[{"id": "timer_1", "tone": "timer", "in_seconds": 10}])
        await here.hear(silence(5.0))
        here.room.connected(False)
        await here.hear(silence(12.0) + here.stop.call("stop") + silence(20.0))
        assert here.hooks.count("ringing") == 2
        here.room.connected(True)
        assert here.sent[-1] == {"type": "atlas.rang", "ids": ["timer_1"]}


async def test_stop_is_no_wake_word_where_nothing_speaks_by_itself() -> None:
    async with kitchen(stopping=True) as here:
        await here.hear(here.stop.call("stop"))
        assert here.kinds() == ["atlas.hello"]
        await here.spoken_to()
        await here.answered("It is a long story.", seconds=9.0)
        await here.hear(silence(1.0) + here.stop.call("stop"))
        assert here.player.busy, "an answer is stopped by the house, which hears the room meanwhile"


async def test_a_house_that_takes_a_while_is_heard_to_think_and_one_that_answers_at_once_is_not() -> None:
    async with kitchen() as here:
        await here.spoken_to()
        await here.hear(silence(1.0))
        assert earcon("thinking")[2_000:2_200] in here.loudspeaker.played
    async with kitchen() as here:
        await here.spoken_to()
        await here.answered("It is noon.", seconds=3.0)
        await here.hear(silence(2.0))
        assert earcon("thinking")[2_000:2_200] not in here.loudspeaker.played


async def test_in_quiet_hours_it_whispers_and_an_alarm_rings_as_ever() -> None:
    async with kitchen() as here:
        here.player.hush_factor = lambda: 0.25
        await here.spoken_to()
        loud = base64.b64encode(b"\x00\x40" * RATE).decode()
        here.house("response.created", response={"id": "resp_1"})
        here.house("response.output_audio.delta", response_id="resp_1", delta=loud)
        await here.hear(silence(0.5))
        assert b"\x00\x10" * 200 in here.loudspeaker.played
        assert b"\x00\x40" * 200 not in here.loudspeaker.played
    async with kitchen() as here:
        here.player.hush_factor = lambda: 0.25
        here.house("atlas.ring", id="alarm_1", tone="alarm", text="Good morning.", times=0)
        await here.answered("Good morning.")
        await here.hear(silence(2.5))
        assert earcon("alarm")[2_000:2_200] in here.loudspeaker.played


@for_every(
    ("hours", "minute", "quiet"),
    [
        ("22:00-07:00", 23 * 60, True),
        ("22:00-07:00", 6 * 60 + 59, True),
        ("22:00-07:00", 7 * 60, False),
        ("13:00-14:30", 13 * 60 + 10, True),
        ("13:00-14:30", 14 * 60 + 30, False),
        ("", 0, False),
    ],
)
def test_quiet_hours_may_go_over_midnight(hours: str, minute: int, quiet: bool) -> None:
    assert is_quiet(read_hours(hours), minute) == quiet


def test_what_are_no_hours_is_refused() -> None:
    for text in ("22-7", "24:00-07:00", "22:00", "late"):
        with pytest.raises(ConfigError):
            read_hours(text)
