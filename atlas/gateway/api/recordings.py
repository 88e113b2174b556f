"""Recordings in the body of a request: base64 in, sound at the hearing rate out."""

from __future__ import annotations

import base64

import anyio.to_thread

from atlas.audio import AudioChunk
from atlas.errors import RequestError
from atlas.speech.wav import read_sound


async def read_recording(text: str, longest_seconds: float, name: str, param: str) -> AudioChunk:
    """Return a recording in base64 at the hearing rate. Raises `RequestError` and `SoundError` for what is none."""
    try:
        data = base64.b64decode(text, validate=True)
    except ValueError as wrong:  # also of characters that are no ASCII
        raise RequestError(f"{name} is not base64", code="invalid_value", param=param) from wrong
    return await anyio.to_thread.run_sync(read_sound, data, longest_seconds)
