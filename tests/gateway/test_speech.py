"""Sound files to text and text to sound files, through the stock client."""

from __future__ import annotations

import base64
import io
import json
import logging
import struct
import wave
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import anyio
import httpx2
import numpy as np
import openai
import pytest

from atlas.audio import AudioChunk, silence
from atlas.errors import EngineError
from atlas.gateway import speech
from atlas.gateway.encode import FORMATS, SPEECH_RATE, available
from atlas.speech.wav import read_sound, write_wav
from tests.conftest import for_every
from tests.gateway.small_house import let_others_run, served
from tests.scripted_vad import voice

SPEECH = {"model": "tts-1", "voice": "alloy"}
SAID = write_wav(silence(0.5) + voice(1.0) + silence(0.5))


# ── to text ──


@pytest.fixture
async def world(config, data):
    async with served(config, data) as opened:
        yield opened


async def test_a_recording_becomes_text(config, data):
    async with served(config, data) as world:
        world.ear.lines = ["set a timer for ten minutes"]
        heard = await world.client().audio.transcriptions.create(model="whisper-1", file=("said.wav", SAID))
        assert heard.text == "set a timer for ten minutes"
        assert heard.usage.model_dump() == {"type": "duration", "seconds": 2}
        assert all(chunk.rate == 16_000 for chunk in world.ear.heard)


class Counted:
    """How many hold an engine at once: the one who does leaves the others time to come in."""

    def __init__(self) -> None:
        self.inside = self.most = 0

    @asynccontextmanager
    async def use(self) -> AsyncIterator[None]:
        self.inside += 1
        self.most = max(self.most, self.inside)
        try:
            await let_others_run()
            yield
        finally:
            self.inside -= 1


async def test_files_reach_the_recogniser_one_at_a_time_so_that_a_voice_waits_for_one_at_most(config, data):
    async with served(config, data) as world, anyio.create_task_group() as tasks:
        ear, hear = Counted(), world.ear.transcribe

        async def counted(sound):
            async with ear.use():
                return await hear(sound)

        world.ear.transcribe = counted
        for _ in range(6):
            tasks.start_soon(
                partial(world.client().audio.transcriptions.create, model="whisper-1", file=("a.wav", SAID))
            )
    assert (ear.most, len(world.ear.heard)) == (1, 6)


async def test_texts_reach_the_voice_one_at_a_time_and_no_slow_reader_holds_it(config, data):
    async with served(config, data) as world:
        voice, speak = Counted(), world.voice.speak

        async def counted(text, *, speed):
            async with voice.use():
                async for chunk in speak(text, speed=speed):
                    yield chunk

        world.voice.speak = counted
        long = {"input": "This one is long. " * 200, "response_format": "wav"}
        unread = world.client().audio.speech.with_streaming_response.create(**SPEECH, **long)
        async with unread, anyio.create_task_group() as tasks:
            for _ in range(6):
                tasks.start_soon(said, world)
    assert voice.most == 1
    assert [text for text, _ in world.voice.texts].count("one two") == 6


@pytest.mark.parametrize("language", ["en", "EN", "en-GB", "english", ""])
async def test_the_houses_language_goes_by_many_names(config, data, language):
    async with served(config, data) as world, world.http() as http:
        world.ear.lines = ["hello there"]
        form = {"model": "atlas", "language": language}
        reply = await http.post("/v1/audio/transcriptions", data=form, files={"file": ("said.wav", SAID)})
        assert reply.json()["text"] == "hello there"


@pytest.mark.parametrize(
    ("wanted", "text"),
    [
        ("text", "hello there\n"),
        ("srt", "1\n00:00:00,"),
        ("vtt", "WEBVTT\n\n00:00:00."),
    ],
)
async def test_a_transcript_may_be_plain_text_or_subtitles(config, data, wanted, text):
    async with served(config, data) as world:
        world.ear.lines = ["hello there"]
        heard = await world.client().audio.transcriptions.create(
            model="atlas", file=("said.wav", SAID), response_format=wanted
        )
        assert str(heard).startswith(text)
        assert "hello there" in str(heard)


async def test_a_verbose_transcript_says_when_each_part_was_said(config, data):
    async with served(config, data) as world:
        world.ear.lines = ["hello there"]
        heard = await world.client().audio.transcriptions.create(
            model="atlas", file=("said.wav", SAID), response_format="verbose_json", language="en"
        )
        assert (heard.language, heard.duration, heard.text) == ("english", 2.0, "hello there")
        (segment,) = heard.segments
        assert segment.text == "hello there"
        assert 0 <= segment.start < segment.end <= 2.0


async def test_a_transcript_may_come_as_it_is_understood(config, data):
    async with served(config, data) as world:
        world.ear.lines = ["hello there"]
        stream = await world.client().audio.transcriptions.create(model="atlas", file=("said.wav", SAID), stream=True)
        events = [event async for event in stream]
        assert [event.type for event in events] == ["transcript.text.delta", "transcript.text.done"]
        assert events[0].delta == events[1].text == "hello there"


async def test_a_long_recording_is_told_part_by_part(config, data):
    async with served(config, data) as world:
        world.ear.lines = ["first", "second", "third"]
        long = write_wav(voice(12.0) + silence(2.0) + voice(12.0) + silence(2.0) + voice(12.0))
        stream = await world.client().audio.transcriptions.create(model="atlas", file=("long.wav", long), stream=True)
        events = [event async for event in stream]
        deltas = [event.delta for event in events[:-1]]
        assert len(deltas) > 1
        assert "".join(deltas) == events[-1].text


async def test_a_recording_without_speech_is_no_words(config, data):
    async with served(config, data) as world:
        silent = write_wav(silence(2.0))
        for wanted in ("json", "verbose_json"):
            heard = await world.client().audio.transcriptions.create(
                model="atlas", file=("silent.wav", silent), response_format=wanted
            )
            assert heard.text == ""
        subtitles = await world.client().audio.transcriptions.create(
            model="atlas", file=("silent.wav", silent), response_format="srt"
        )
        assert subtitles == ""


def stereo_8khz_8bit(seconds: float) -> bytes:
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(2)
        file.setsampwidth(1)
        file.setframerate(8_000)
        hum = np.sin(2 * np.pi * 200 * np.arange(int(8_000 * seconds)) / 8_000) * 60 + 128
        file.writeframes(np.repeat(hum.astype(np.uint8), 2).tobytes())
    return out.getvalue()


async def test_an_old_stereo_recording_is_heard_like_any_other(config, data):
    async with served(config, data) as world:
        world.ear.lines = ["hello"]
        file = ("old.wav", stereo_8khz_8bit(1.5))
        heard = await world.client().audio.transcriptions.create(model="atlas", file=file)
        assert heard.text == "hello"


@for_every(
    ("file", "says"),
    [
        (b"", "empty"),
        (b"RIFF", "not a WAV"),
        (b"<html>no sound</html>", "not a sound file"),
        (SAID[:60], "cut short"),
        (write_wav(AudioChunk(b"")), "no sound in it"),
        (b"RIFF" + struct.pack("<I", 36) + SAID[8:34] + b"\x63\x00" + SAID[36:], "99 bits"),
        (write_wav(silence(605.0)), "more than 600 s"),
    ],
)
async def test_what_is_no_usable_sound_is_a_clear_400(world, file, says):
    with pytest.raises(openai.BadRequestError, match=f"(?i){says}") as trouble:
        await world.client().audio.transcriptions.create(model="atlas", file=("x.wav", file))
    assert (trouble.value.code, trouble.value.param) == ("invalid_sound", "file")
    assert world.ear.heard == []


@pytest.mark.parametrize(
    ("change", "param"),
    [
        ({"model": "gpt-4o"}, "model"),
        ({"response_format": "diarized_json"}, "response_format"),
        ({"language": "de"}, "language"),
        ({"stream": True, "response_format": "srt"}, "response_format"),
        ({"extra_body": {"colour": "red"}}, "colour"),
    ],
)
async def test_what_cannot_be_transcribed_so_is_refused_by_name(config, data, change, param):
    async with served(config, data) as world:
        with pytest.raises(openai.APIStatusError) as trouble:
            await world.client().audio.transcriptions.create(**{"model": "atlas", "file": ("x.wav", SAID)} | change)
        assert trouble.value.status_code in (400, 404)
        assert trouble.value.param == param


async def test_a_form_without_a_file_or_no_form_at_all_is_told_what_is_missing(config, data):
    async with served(config, data) as world, world.http() as http:
        for sent in ({"data": {"model": "atlas"}}, {"files": {"file": ("x.wav", SAID)}}, {"json": {"model": "atlas"}}):
            reply = await http.post("/v1/audio/transcriptions", **sent)
            assert reply.status_code == 400
            assert "missing" in reply.json()["error"]["message"]
        broken = {"content": b"--x\r\nnonsense", "headers": {"content-type": "multipart/form-data; boundary=x"}}
        assert (await http.post("/v1/audio/transcriptions", **broken)).status_code == 400


async def test_a_recogniser_that_is_gone_is_a_503_that_keeps_its_secrets(config, data):
    async with served(config, data) as world:
        world.ear.trouble = EngineError("ctranslate2 fell over at 0xdeadbeef")
        with pytest.raises(openai.InternalServerError) as trouble:
            await world.client().audio.transcriptions.create(model="atlas", file=("x.wav", SAID))
        assert trouble.value.status_code == 503
        assert "0xdeadbeef" not in str(trouble.value)


# ── to sound ──


async def said(world, **wanted) -> bytes:
    reply = await world.client().audio.speech.create(**SPEECH | {"input": "one two"} | wanted)
    return reply.content


@pytest.mark.parametrize("wanted", sorted(FORMATS))
async def test_text_becomes_sound_in_every_format_as_long_as_it_was_said(world, wanted):
    assert set(available()) == set(FORMATS), "the FFmpeg that comes with PyAV writes them all"
    file = await said(world, response_format=wanted, input="one two three four five. And six seven eight nine ten.")
    sound = AudioChunk(file, SPEECH_RATE) if wanted == "pcm" else read_sound(file)
    assert sound.seconds == pytest.approx(sum(len(text.split()) for text, _ in world.voice.texts) / 10, abs=0.12)


async def test_one_sentence_is_a_wav_that_says_its_length(config, data):
    async with served(config, data) as world:
        with wave.open(io.BytesIO(await said(world, response_format="wav"))) as file:
            assert (file.getnchannels(), file.getsampwidth(), file.getframerate()) == (1, 2, SPEECH_RATE)
            assert file.getnframes() == pytest.approx(0.2 * SPEECH_RATE, abs=2)


async def test_more_sentences_begin_before_the_last_is_made(config, data):
    async with served(config, data) as world:
        begun = -1
        async with world.client().audio.speech.with_streaming_response.create(
            model="tts-1", voice="alloy", input="This is the first one. " * 40, response_format="pcm"
        ) as reply:
            async for _ in reply.iter_bytes(2_048):
                begun = len(world.voice.texts) if begun < 0 else begun
        assert begun < len(world.voice.texts)


async def test_the_speed_reaches_the_voice(config, data):
    async with served(config, data) as world:
        await said(world, speed=2.0)
        assert world.voice.texts[0][1] == 2.0


async def test_sound_may_come_as_events(config, data):
    async with served(config, data) as world, world.http() as http:
        body = {
            "model": "atlas",
            "voice": "atlas",
            "input": "one two",
            "response_format": "pcm",
            "stream_format": "sse",
        }
        reply = await http.post("/v1/audio/speech", json=body)
        assert reply.headers["content-type"].startswith("text/event-stream")
        events = [json.loads(line.removeprefix("data: ")) for line in reply.text.split("\n\n") if line]
        assert {event["type"] for event in events[:-1]} == {"speech.audio.delta"}
        assert events[-1]["type"] == "speech.audio.done"
        sound = b"".join(base64.b64decode(event["audio"]) for event in events[:-1])
        assert AudioChunk(sound, SPEECH_RATE).seconds == pytest.approx(0.2, abs=0.001)


@for_every(
    ("change", "param"),
    [
        ({"model": "gpt-4o"}, "model"),
        ({"voice": "darth vader"}, "voice"),
        ({"input": ""}, "input"),
        ({"input": " … !"}, "input"),
        ({"input": "x" * 4097}, "input"),
        ({"response_format": "midi"}, "response_format"),
        ({"speed": 5}, "speed"),
        ({"speed": "fast"}, "speed"),
        ({"stream_format": "morse"}, "stream_format"),
        ({"extra_body": {"colour": "red"}}, "colour"),
    ],
)
async def test_what_cannot_be_said_so_is_refused_by_name(world, change, param):
    with pytest.raises(openai.APIStatusError) as trouble:
        await said(world, **change)
    assert trouble.value.status_code in (400, 404)
    assert trouble.value.param == param
    assert world.voice.texts == []


async def test_a_format_that_this_machine_cannot_write_gets_the_list_of_those_it_can(config, data, monkeypatch):
    monkeypatch.setattr(speech, "available", lambda: ("wav", "pcm"))
    async with served(config, data) as world:
        with pytest.raises(openai.BadRequestError, match="one of wav, pcm"):
            await said(world, response_format="aac")


async def test_a_voice_that_is_gone_is_a_503_before_the_first_sound(config, data):
    async with served(config, data) as world:
        world.voice.trouble = EngineError("piper is gone")
        with pytest.raises(openai.InternalServerError):
            await said(world)


async def test_a_voice_that_breaks_off_leaves_no_file_that_looks_whole(config, data, caplog):
    caplog.set_level(logging.INFO)
    async with served(config, data) as world, world.http() as http:
        world.voice.trouble, world.voice.fails_after = EngineError("piper is gone"), 1
        body = {"model": "tts-1", "voice": "alloy", "input": "This is the first. And the second."}
        with pytest.raises(httpx2.RemoteProtocolError, match="incomplete"):
            await http.post("/v1/audio/speech", json=body | {"response_format": "pcm"})
    assert "reply broke off" in caplog.text
    assert "Traceback" not in caplog.text, "a voice that fails is no mistake of ours"
