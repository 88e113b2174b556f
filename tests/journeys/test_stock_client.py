"""The unmodified OpenAI client talks to a running house, through every door."""

from __future__ import annotations

import base64
import io
import re
import wave
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from openai import APIStatusError, AsyncOpenAI, AuthenticationError, NotFoundError

from atlas.audio import AudioChunk
from tests.journeys.conftest import Running, write_wav

pytestmark = pytest.mark.real


def test_models_are_the_router_the_agents_and_the_encoder(house: Running) -> None:
    assert [model.id for model in house.client().models.list()] == ["atlas", "family", "work", "all-minilm-l6-v2"]


def test_health_names_every_part_and_needs_no_token(house: Running) -> None:
    health = house.health()
    assert health
    assert health["status"] == "ok"
    assert "smollm2-135m-instruct" in str(health)
    assert "whisper-tiny.en" in str(health)
    assert "en_US-joe-medium" in str(health)


def test_a_command_is_answered_without_a_model_and_says_so(house: Running) -> None:
    answer = house.client().chat.completions.create(
        model="atlas", messages=[{"role": "user", "content": "What time is it?"}]
    )
    details: dict[str, Any] = answer.choices[0].message.model_extra["atlas"]  # type: ignore[index]
    assert details["path"] == "command"
    assert details["tools"][0]["name"] == "clock.time"
    assert answer.choices[0].message.content == details["tools"][0]["text"]


def test_an_open_question_is_streamed_from_the_model(house: Running) -> None:
    stream = house.client().chat.completions.create(
        model="family",
        messages=[{"role": "user", "content": "Tell me a story about a lighthouse, in five sentences."}],
        stream=True,
        stream_options={"include_usage": True},
    )
    chunks = list(stream)
    words = [chunk.choices[0].delta.content for chunk in chunks if chunk.choices and chunk.choices[0].delta.content]
    assert words, "sentences that a busy machine makes at once may come in one piece"
    assert "lighthouse" in "".join(words).lower()
    assert chunks[-1].usage
    assert chunks[-1].usage.completion_tokens > 0


def test_texts_that_mean_alike_have_vectors_that_point_alike(house: Running) -> None:
    import numpy as np

    texts = ["Turn off the light.", "Switch the lamp off, please.", "Shares fell on Monday.", "again and again " * 300]
    made = house.client().embeddings.create(model="all-minilm-l6-v2", input=texts)  # as base64, unless it is told
    light, lamp, shares, _ = (np.array(item.embedding) for item in made.data)
    assert light.shape == (384,)
    assert light @ lamp > 0.6 > 0.3 > light @ shares
    assert [item.index for item in made.data if (item.model_extra or {}).get("atlas_cut")] == [3]
    assert made.usage.prompt_tokens > 512
    plain = house.client().embeddings.create(model="all-minilm-l6-v2", input=texts[0], encoding_format="float")
    assert np.allclose(plain.data[0].embedding, light, atol=1e-6)
    assert all(text not in house.log.read_text() for text in texts)


def test_what_is_spoken_can_be_heard_again(house: Running, tmp_path: Path) -> None:
    client = house.client()
    sound = client.audio.speech.create(
        model="tts-1", voice="alloy", input="The kitchen timer has ended.", response_format="wav"
    ).read()
    with wave.open(io.BytesIO(sound)) as file:
        assert file.getnchannels() == 1
        assert file.getnframes() > file.getframerate()
    words = client.audio.transcriptions.create(model="whisper-1", file=("said.wav", sound)).text
    assert "kitchen timer has ended" in words.lower()


async def test_a_spoken_request_is_answered_in_sound_over_realtime(
    house: Running, spoken: Callable[[str], AudioChunk], tmp_path: Path
) -> None:
    import numpy as np
    import soxr

    heard = np.frombuffer(spoken("What time is it?").pcm, np.int16)
    pcm = np.concatenate([soxr.resample(heard, 16_000, 24_000), np.zeros(24_000, np.int16)]).astype(np.int16).tobytes()
    client = AsyncOpenAI(base_url=f"{house.url}/v1", api_key=house.token)
    kinds: list[str] = []
    transcript, reply = "", b""
    async with client.realtime.connect(model="atlas") as connection:
        for start in range(0, len(pcm), 9600):
            await connection.input_audio_buffer.append(audio=base64.b64encode(pcm[start : start + 9600]).decode())
        async for event in connection:
            kinds.append(event.type)
            if event.type == "conversation.item.input_audio_transcription.completed":
                transcript = event.transcript
            elif event.type == "response.output_audio.delta":
                reply += base64.b64decode(event.delta)
            elif event.type == "response.done":
                assert event.response.status == "completed"
                break
    assert kinds[0] == "session.created"
    assert "what time is it" in transcript.lower()
    file = write_wav(tmp_path / "reply.wav", AudioChunk(reply, 24_000))
    words = house.client().audio.transcriptions.create(model="whisper-1", file=file).text
    hours = {"one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"}
    spoken_words = {*re.findall(r"[a-z']+|[0-9]", words.lower())}
    assert spoken_words & {*hours, "o'clock", *"0123456789"}, words


def test_a_wrong_token_an_unknown_model_and_a_missing_field_are_told_apart(house: Running) -> None:
    with pytest.raises(AuthenticationError):
        house.client("atlas_not-a-token").models.list()
    with pytest.raises(NotFoundError, match="no-such-model"):
        house.client().chat.completions.create(model="no-such-model", messages=[{"role": "user", "content": "hi"}])
    with pytest.raises(APIStatusError) as refusal:
        house.client().chat.completions.create(model="family", messages=[])
    assert refusal.value.status_code == 400
    assert house.client().models.list(), "nothing was lost"


def test_a_child_may_not_talk_to_the_work_agent(house: Running) -> None:
    token = house.new_token("tablet", "child")
    with pytest.raises(APIStatusError) as refusal:
        house.client(token).chat.completions.create(model="work", messages=[{"role": "user", "content": "hello"}])
    assert refusal.value.status_code == 403
    answer = house.client(token).chat.completions.create(
        model="family", messages=[{"role": "user", "content": "what's the date"}]
    )
    assert "202" in str(answer.choices[0].message.content)
