"""/v1/audio/transcriptions and /v1/audio/speech: a sound file to text, text to a sound file, as OpenAI has them."""

from __future__ import annotations

import base64
import math
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

import anyio
import anyio.to_thread
from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from atlas.audio import AudioChunk
from atlas.errors import RequestError
from atlas.fields import Fields
from atlas.gateway.auth import require
from atlas.gateway.encode import FORMATS, SPEECH_RATE, available, encoder
from atlas.gateway.files import FileWork
from atlas.gateway.wire import Stream, Write, json_body, sse, sse_error, while_wanted
from atlas.house import House
from atlas.own_words import speaking
from atlas.speech.normalize import spoken
from atlas.speech.recording import TranscriptPassage, transcribe_long, whole_text
from atlas.speech.resample import Resampler
from atlas.speech.sentences import pieces
from atlas.speech.tts import MAX_TEXT_CHARACTERS
from atlas.speech.wav import read_sound, wav_header

FILE_BYTES = 25 * 1024 * 1024  # OpenAI's own limit
TRANSCRIPT_FORMATS = ("json", "text", "verbose_json", "srt", "vtt")
FORM_FIELDS = frozenset(
    {"file", "model", "language", "prompt", "response_format", "temperature", "stream", "timestamp_granularities[]"}
    | {"timestamp_granularities", "include[]", "include", "chunking_strategy"}
)
HEARING_NAMES = ("atlas", "whisper-1", "gpt-4o-transcribe", "gpt-4o-mini-transcribe")  # the house has one recogniser
SPEAKING_NAMES = ("atlas", "tts-1", "tts-1-hd", "gpt-4o-mini-tts")  # and one voice, by whatever name clients know it
VOICE_NAMES = (
    *("atlas", "alloy", "ash", "ballad", "coral", "echo", "fable", "onyx", "nova", "sage", "shimmer", "verse"),
    *("marin", "cedar"),
)
SPEECH_FIELDS = ("model", "input", "voice", "response_format", "speed", "stream_format", "instructions")
LANGUAGE_NAMES = {"en": "english", "de": "german"}  # verbose_json spells it out


def routes(house: House, files: FileWork) -> list[Route]:
    """Return the URLs of this door."""

    async def transcriptions(request: Request) -> Response:
        require(request)
        async with request.form(max_files=1, max_fields=32) as form:
            recording = await _read_form(form, house, files)
        if recording.stream:
            return Stream(
                request, lambda write: _tell(recording, house, files, write), "text/event-stream", late=sse_error
            )
        return await _transcript(recording, house, files, request)

    async def speech(request: Request) -> Response:
        require(request)
        wanted = _read_speech(await json_body(request), house)
        if wanted.events:
            return Stream(
                request, lambda write: _say_events(wanted, house, files, write), "text/event-stream", late=sse_error
            )
        media_type = FORMATS[wanted.format].media_type
        # What breaks off is cut, not ended: nobody shall take half a reply for the whole.
        return Stream(request, lambda write: _say(wanted, house, files, write), media_type)

    return [
        Route("/v1/audio/transcriptions", transcriptions, methods=["POST"]),
        Route("/v1/audio/speech", speech, methods=["POST"]),
    ]


# ── a sound file to text ───────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Recording:
    """A checked request for a transcript."""

    sound: AudioChunk
    format: str
    stream: bool


async def _read_form(form: FormData, house: House, files: FileWork) -> Recording:
    texts = {key: value for key, value in form.items() if isinstance(value, str)}
    fields = Fields(texts)
    fields.only(FORM_FIELDS)
    _check_name(fields, (*HEARING_NAMES, house.config.speech.stt_model))
    ours = house.config.house.spoken
    language = fields.text("language", "") or ours[0]
    if language.partition("-")[0].lower() not in (*ours, *(LANGUAGE_NAMES.get(one) for one in ours)):
        raise RequestError(
            f"this house listens in {', '.join(map(repr, ours))}, not in {language!r}",
            code="unsupported_language",
            param="language",
        )
    stream = fields.choice("stream", ("true", "false", "True", "False", "1", "0"), "false").lower() in ("true", "1")
    form_of = fields.choice("response_format", TRANSCRIPT_FORMATS, "json")
    if stream and form_of not in ("json", "text"):
        raise RequestError(
            f"a stream cannot be {form_of}", code="unsupported_value", param="response_format", hint="leave it out"
        )
    file = form.get("file")
    if not isinstance(file, UploadFile):
        raise RequestError(
            "file is missing", code="missing_field", param="file", hint="send the recording as a file of the form"
        )
    if file.size is not None and file.size > FILE_BYTES:
        raise RequestError("the file is larger than 25 MB", code="request_too_large", param="file")
    data = await file.read()
    sound = await anyio.to_thread.run_sync(read_sound, data, limiter=files.limiter)
    return Recording(sound, form_of, stream)


async def _transcript(recording: Recording, house: House, files: FileWork, request: Request) -> Response:
    passages: tuple[TranscriptPassage, ...] = ()

    async def listen() -> None:
        nonlocal passages
        passages = await transcribe_long(recording.sound, house.stt, house.vad, files.limiter)

    if not await while_wanted(request, listen):
        return Response(status_code=499)  # nobody reads it
    match recording.format:
        case "text":
            return PlainTextResponse(whole_text(passages) + "\n")
        case "srt":
            return PlainTextResponse(srt(passages))
        case "vtt":
            return PlainTextResponse(vtt(passages), media_type="text/vtt")
        case "verbose_json":
            return JSONResponse(_verbose(recording, passages, house))
        case _:
            return JSONResponse({"text": whole_text(passages), "usage": _duration(recording)})


async def _tell(recording: Recording, house: House, files: FileWork, write: Write) -> None:
    """Write each passage as soon as it is understood."""
    between = ""

    async def tell(passage: TranscriptPassage) -> None:
        nonlocal between
        await write(sse({"type": "transcript.text.delta", "delta": between + passage.utterance.text}))
        between = " "

    passages = await transcribe_long(recording.sound, house.stt, house.vad, files.limiter, tell)
    await write(sse({"type": "transcript.text.done", "text": whole_text(passages)}))
    await write(sse("[DONE]"))


def _duration(recording: Recording) -> dict[str, Any]:
    return {"type": "duration", "seconds": math.ceil(recording.sound.seconds)}


def _verbose(recording: Recording, passages: tuple[TranscriptPassage, ...], house: House) -> dict[str, Any]:
    # OpenAI's clients require the recogniser's private figures. These are the ones that say "nothing known".
    unknown = {"seek": 0, "tokens": [], "temperature": 0.0}
    unknown |= {"avg_logprob": 0.0, "compression_ratio": 1.0, "no_speech_prob": 0.0}
    return {
        "task": "transcribe",
        "language": _language_name(passages, house),
        "duration": round(recording.sound.seconds, 3),
        "text": whole_text(passages),
        "segments": [
            {"id": index, "start": round(passage.start_seconds, 3), "end": round(passage.end_seconds, 3)}
            | {"text": passage.utterance.text, **unknown}
            for index, passage in enumerate(passages)
        ],
        "usage": _duration(recording),
    }


def _language_name(passages: Sequence[TranscriptPassage], house: House) -> str:
    """Return the language in which most of a recording was spoken, as OpenAI's clients know it."""
    seconds: dict[str, float] = {}
    for passage in passages:
        its = passage.utterance
        seconds[its.language] = seconds.get(its.language, 0.0) + its.seconds
    language = max(seconds, key=lambda one: seconds[one], default="") or house.config.house.language
    return LANGUAGE_NAMES.get(language, language)


def srt(passages: Sequence[TranscriptPassage]) -> str:
    """Return passages as SubRip subtitles."""
    return "\n".join(f"{number}\n{_cue(passage, ',')}" for number, passage in enumerate(passages, 1))


def vtt(passages: Sequence[TranscriptPassage]) -> str:
    """Return passages as WebVTT subtitles."""
    return "\n".join(["WEBVTT\n", *(_cue(passage, ".") for passage in passages)])


def _cue(passage: TranscriptPassage, point: str) -> str:
    start, end = _clock(passage.start_seconds, point), _clock(passage.end_seconds, point)
    return f"{start} --> {end}\n{passage.utterance.text}\n"


def _clock(seconds: float, point: str) -> str:
    milliseconds = round(seconds * 1000)
    minutes, rest = divmod(milliseconds, 60_000)
    return f"{minutes // 60:02}:{minutes % 60:02}:{rest // 1000:02}{point}{rest % 1000:03}"


# ── text to sound ──────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Saying:
    """A checked request for speech."""

    sentences: tuple[str, ...]
    language: str
    format: str
    speed: float
    events: bool


def _read_speech(body: dict[str, Any], house: House) -> Saying:
    fields = Fields(body)
    fields.only(SPEECH_FIELDS)
    _check_name(fields, (*SPEAKING_NAMES, house.config.speech.voice))
    text = fields.text("input", longest=MAX_TEXT_CHARACTERS)
    fields.choice("voice", (*VOICE_NAMES, house.tts.voice), "atlas")
    fields.text("instructions", "", MAX_TEXT_CHARACTERS)  # how to sound: taken, though this voice sounds one way
    language = house.language_of(text)
    speakable = (spoken(piece, language) for piece in pieces(text))
    texts = tuple(piece for piece in speakable if any(letter.isalnum() for letter in piece))
    if not texts:
        raise RequestError("input has nothing that can be said", code="invalid_value", param="input")
    return Saying(
        sentences=texts,
        language=language,
        format=fields.choice("response_format", available(), "mp3"),
        speed=fields.number("speed", 0.25, 4) or 1.0,
        events=fields.choice("stream_format", ("audio", "sse"), "audio") == "sse",
    )


async def _say(wanted: Saying, house: House, files: FileWork, write: Write) -> None:
    """Write the sound, sentence by sentence, in the format wanted."""
    if wanted.format != "wav":
        await _encoded(wanted, house, files, write)
        return
    if len(wanted.sentences) > 1:
        # How long it will be is not known yet; OpenAI's own WAVs say so in the same way.
        await write(wav_header(SPEECH_RATE))
        await _encoded(wanted, house, files, write)
        return
    sound = bytearray()  # one sentence is ready all at once anyway, and its header can tell the truth

    async def collect(piece: bytes) -> None:
        sound.extend(piece)

    await _encoded(wanted, house, files, collect)
    whole = AudioChunk(bytes(sound), SPEECH_RATE)
    await write(wav_header(SPEECH_RATE, whole.samples) + whole.pcm)


async def _say_events(wanted: Saying, house: House, files: FileWork, write: Write) -> None:
    """Write the sound as server-sent events."""

    async def event(piece: bytes) -> None:
        if not piece:
            return
        await write(sse({"type": "speech.audio.delta", "audio": base64.b64encode(piece).decode()}))

    await _say(wanted, house, files, event)
    usage = {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}  # a voice has none
    await write(sse({"type": "speech.audio.done", "usage": usage}))


async def _encoded(wanted: Saying, house: House, files: FileWork, write: Callable[[bytes], Awaitable[None]]) -> None:
    """Write the sound, encoded. The voice is held for a sentence at a time, and never while its reader is slow."""
    out = await anyio.to_thread.run_sync(encoder, wanted.format)
    resampler = Resampler(house.tts.rate, SPEECH_RATE)
    for sentence in wanted.sentences:
        with speaking(wanted.language):
            async with files.limiter, aclosing(house.tts.speak(sentence, speed=wanted.speed)) as chunks:
                sound = [resampler.feed(chunk) async for chunk in chunks]
        for chunk in sound:
            await write(await anyio.to_thread.run_sync(out.feed, chunk))
    last = await anyio.to_thread.run_sync(out.feed, resampler.flush())
    await write(last + await anyio.to_thread.run_sync(out.finish))


def _check_name(fields: Fields, names: Sequence[str]) -> None:
    name = fields.text("model")
    if name not in names:
        raise RequestError(
            f"there is no model {name!r} for this",
            code="model_not_found",
            param="model",
            hint=f"use {', '.join(names)}",
        )
