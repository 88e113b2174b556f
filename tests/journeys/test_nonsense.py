"""Nonsense gets a clear answer and loses nothing."""

from __future__ import annotations

import base64
import json
import wave
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from atlas.audio import AudioChunk, silence
from tests.journeys.conftest import Running, write_wav

pytestmark = pytest.mark.real
TEN_MEGABYTES = 10_000_000


def socket(house: Running, token: str | None = None) -> ClientConnection:
    headers = {"Authorization": f"Bearer {token or house.token}"}
    return connect(f"ws://127.0.0.1:{house.port}/v1/realtime?model=family", additional_headers=headers, max_size=None)


def next_of(connection: ClientConnection, kind: str) -> dict[str, object]:
    while True:
        event: dict[str, object] = json.loads(connection.recv(timeout=20))
        if event["type"] == kind:
            return event


def is_one_clear_answer(text: str) -> None:
    """What was wrong in one line, and what to do now in another."""
    wrong, now = text.strip().splitlines()
    assert wrong.startswith("atlas: ")
    assert now.strip().startswith("Now: ")


def test_a_recording_without_speech_is_said_to_be_one(house: Running, tmp_path: Path) -> None:
    noise = (np.random.default_rng(7).normal(0, 300, 48_000)).astype(np.int16).tobytes()
    for sound in (silence(3), AudioChunk(noise)):
        done = house.atlas("hear", str(write_wav(tmp_path / "quiet.wav", sound)))
        assert done.returncode != 0
        assert "nobody speak" in done.stderr
        assert "Traceback" not in done.stderr


def test_eight_kilohertz_in_stereo_is_heard_as_well(
    house: Running, spoken: Callable[[str], AudioChunk], tmp_path: Path
) -> None:
    import soxr

    mono = soxr.resample(np.frombuffer(spoken("What time is it?").pcm, np.int16), 16_000, 8_000).astype(np.int16)
    with wave.open(str(tmp_path / "phone.wav"), "wb") as out:
        out.setnchannels(2)
        out.setsampwidth(2)
        out.setframerate(8_000)
        out.writeframes(np.repeat(mono, 2).tobytes())
    assert "time" in house.turn_of("hear", str(tmp_path / "phone.wav"))["transcript"].lower()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("empty.wav", b""),
        ("text.wav", b"this is not sound at all, not even a little"),
        ("cut.wav", b"RIFF\x24\0\0\0WAVE"),
    ],
)
def test_a_file_that_is_no_sound_gets_one_sentence(house: Running, tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    done = house.atlas("hear", str(tmp_path / name))
    assert done.returncode != 0
    is_one_clear_answer(done.stderr)


def test_a_missing_file_gets_one_sentence(house: Running, tmp_path: Path) -> None:
    done = house.atlas("hear", str(tmp_path / "none.wav"))
    assert done.returncode != 0
    is_one_clear_answer(done.stderr)


def test_ten_minutes_of_sound_are_refused_by_hear_and_transcribed_by_the_gateway(
    house: Running, spoken: Callable[[str], AudioChunk], tmp_path: Path
) -> None:
    speech = spoken("What time is it?")
    long = write_wav(tmp_path / "long.wav", AudioChunk(speech.pcm + silence(600 - speech.seconds).pcm))
    done = house.atlas("hear", str(long))
    assert done.returncode != 0
    assert "long" in done.stderr
    words = house.client().audio.transcriptions.create(model="whisper-1", file=long).text
    assert "time" in words.lower()


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        ("{not json", "JSON"),
        ("[1, 2]", "object"),
        ('{"type": "no.such.event", "event_id": "e1"}', "no.such.event"),
        ('{"no": "type"}', "type"),
        ('{"type": "input_audio_buffer.append"}', "audio"),
        ('{"type": "input_audio_buffer.append", "audio": "!!!"}', "base64"),
        (
            '{"type": "session.update", "session": {"type": "realtime", "audio": {"output": {"voice": "nobody"}}}}',
            "voice",
        ),
        (b"\x00\x01\x02", "binary"),
    ],
)
def test_a_bad_event_is_answered_by_an_error_and_the_connection_goes_on(
    house: Running, frame: str | bytes, said: str
) -> None:
    with socket(house) as connection:
        connection.send(frame)
        error = next_of(connection, "error")["error"]
        assert said.lower() in json.dumps(error).lower(), error
        connection.send(json.dumps({"type": "session.update", "session": {"type": "realtime"}}))
        next_of(connection, "session.updated")


def test_a_message_of_ten_megabytes_is_refused_and_the_house_lives_on(house: Running) -> None:
    audio = base64.b64encode(bytes(TEN_MEGABYTES)).decode()
    with socket(house) as connection:
        next_of(connection, "session.created")
        try:
            connection.send(json.dumps({"type": "input_audio_buffer.append", "audio": audio}))
            error = next_of(connection, "error")["error"]
            assert "large" in json.dumps(error) or "limit" in json.dumps(error), error
        except ConnectionClosed as closed:
            assert closed.rcvd
            assert closed.rcvd.code == 1009
    assert house.health()


def test_a_wrong_token_is_refused_before_the_socket_opens(house: Running) -> None:
    with pytest.raises(InvalidStatus) as refusal, socket(house, "atlas_wrong"):
        pass
    assert refusal.value.response.status_code == 401
