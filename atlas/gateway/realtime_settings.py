"""The Realtime session object: its defaults, changes to it that are checked first, and what they mean to the voice."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from atlas.conversation import Tool
from atlas.errors import RequestError
from atlas.fields import Json, number, object_of, wrong
from atlas.gateway.realtime_sound import RATE_OF_FORMAT
from atlas.gateway.speech import VOICE_NAMES
from atlas.house import House
from atlas.speech.endpoint import EndpointOptions
from atlas.voice.options import SessionOptions

MAX_INSTRUCTIONS_CHARACTERS = 20_000
SILENCE_MS_OF_EAGERNESS = {"low": 1_200, "medium": 700, "auto": 700, "high": 400}
SERVER_VAD: Json = {
    "type": "server_vad",
    "threshold": 0.5,
    "prefix_padding_ms": 700,
    "silence_duration_ms": 500,
    "idle_timeout_ms": None,
    "create_response": True,
    "interrupt_response": True,
}
SEMANTIC_VAD: Json = {
    "type": "semantic_vad",
    "eagerness": "auto",
    "create_response": True,
    "interrupt_response": True,
}
FORMAT_OF_BETA_NAME = {"pcm16": "audio/pcm", "g711_ulaw": "audio/pcmu", "g711_alaw": "audio/pcma"}
DELAYS = ("minimal", "low", "medium", "high", "xhigh")  # until words are told; here there is one pace
LIVE_MODELS = ("gpt-realtime-whisper", "gpt-live-transcribe")  # of OpenAI, which tell words while somebody speaks
MOST_TOOLS = 32
TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
TOOL_CHARACTERS = 20_000  # of one tool's description and parameters


@dataclass(frozen=True, slots=True)
class SessionDefaults:
    """What this house offers a session."""

    voice: str
    recogniser: str
    language: str
    languages: tuple[str, ...]


def own_of(house: House) -> SessionDefaults:
    """Return what `house` offers."""
    return SessionDefaults(
        house.tts.voice, house.config.speech.stt_model, house.config.house.language, house.config.house.spoken
    )


def opening(session_id: str, model: str, defaults: SessionDefaults, expires_at: int) -> Json:
    """Return the session object of a new connection."""
    return {
        "type": "realtime",
        "object": "realtime.session",
        "id": session_id,
        "model": model,
        "expires_at": expires_at,
        "output_modalities": ["audio"],
        "instructions": "",
        "tools": [],
        "tool_choice": "auto",
        "max_output_tokens": "inf",
        "tracing": None,
        "truncation": "auto",
        "prompt": None,
        "include": None,
        "audio": {
            "input": {
                "format": {"type": "audio/pcm", "rate": 24_000},
                "transcription": {"model": defaults.recogniser, "language": defaults.language},
                "noise_reduction": None,
                "turn_detection": dict(SERVER_VAD),
            },
            "output": {"format": {"type": "audio/pcm", "rate": 24_000}, "voice": defaults.voice, "speed": 1.0},
        },
    }


def merged(session: Json, change: Any, defaults: SessionDefaults) -> Json:
    """Return `session` with `change` laid over it, all of it or nothing.

    Only the fields that are present change; `null` turns a thing off. Beta names are understood. Raises
    `RequestError` with the field in `param`, as `session.audio.input.format`.
    """
    whole = copy.deepcopy(session)
    for name, value in current_names(object_of(change, "session")).items():
        if name not in FIELDS:
            raise unknown(f"session.{name}")
        FIELDS[name](whole, name, value, defaults)
    return whole


def options(session: Json) -> SessionOptions:
    """Return what the session object means to the voice."""
    detection, output = session["audio"]["input"]["turn_detection"], session["audio"]["output"]
    speak = session["output_modalities"] == ["audio"]
    answer = session["type"] == "realtime"  # a transcription session only writes down
    partial = "delay" in (session["audio"]["input"]["transcription"] or {})
    if detection is None:
        return SessionOptions(
            detect_turns=False, partial_words=partial, answer=answer, speak=speak, speed=output["speed"]
        )
    if detection["type"] == "semantic_vad":
        detection = SERVER_VAD | {"silence_duration_ms": SILENCE_MS_OF_EAGERNESS[detection["eagerness"]]} | detection
    silence = detection["silence_duration_ms"] / 1000
    return SessionOptions(
        endpoint=EndpointOptions(
            threshold=detection["threshold"], silence_seconds=silence, pause_seconds=min(0.2, silence)
        ),
        pre_roll_seconds=detection["prefix_padding_ms"] / 1000,
        partial_words=partial,
        answer=answer and detection["create_response"],
        interrupt=detection["interrupt_response"],
        speak=speak,
        speed=output["speed"],
    )


def tokens(value: Any) -> int | None:
    """Return a limit of tokens; "inf" is none."""
    return None if value == "inf" else int(value)


def current_names(given: Mapping[str, Any]) -> Json:
    """Return a session or response object with its Beta names replaced by those of today."""
    change = copy.deepcopy(dict(given))
    if "modalities" in change:
        modes = change.pop("modalities")
        # Beta asked for ["audio", "text"] where today's ["audio"] includes the transcript.
        both = isinstance(modes, list) and all(isinstance(m, str) for m in modes) and set(modes) == {"audio", "text"}
        change["output_modalities"] = ["audio"] if both else modes
    if "max_response_output_tokens" in change:
        change["max_output_tokens"] = change.pop("max_response_output_tokens")
    for old, side, name in (
        ("voice", "output", "voice"),
        ("speed", "output", "speed"),
        ("output_audio_format", "output", "format"),
        ("input_audio_format", "input", "format"),
        ("input_audio_transcription", "input", "transcription"),
        ("input_audio_noise_reduction", "input", "noise_reduction"),
        ("turn_detection", "input", "turn_detection"),
    ):
        if old in change:
            audio = object_of(change.setdefault("audio", {}), "session.audio")
            object_of(audio.setdefault(side, {}), f"session.audio.{side}")[name] = change.pop(old)
    return change


# ── checks: each takes the new whole, the field's name, the value given, and writes what holds from now on ─────────

Check = Callable[[Json, str, Any, SessionDefaults], None]


def unknown(param: str) -> RequestError:
    """Return the error of a field that nobody reads."""
    return RequestError(f"there is no field {param}", code="unknown_parameter", param=param)


def _text(longest: int) -> Check:
    def check(whole: Json, name: str, value: Any, defaults: SessionDefaults) -> None:
        if not isinstance(value, str):
            raise wrong(f"session.{name}", "a text", value, "invalid_type")
        if len(value) > longest:
            raise RequestError(
                f"session.{name} is longer than {longest} characters", code="string_too_long", param=f"session.{name}"
            )
        whole[name] = value

    return check


def _one_of(*allowed: Any) -> Check:
    def check(whole: Json, name: str, value: Any, defaults: SessionDefaults) -> None:
        if value not in allowed:
            raise wrong(f"session.{name}", " or ".join(json.dumps(choice) for choice in allowed), value)
        whole[name] = value

    return check


def _unchanged(whole: Json, name: str, value: Any, defaults: SessionDefaults) -> None:
    if value != whole.get(name):
        raise RequestError(
            f"session.{name} is fixed by the connection", code="immutable_field", param=f"session.{name}"
        )


def _by_connection(whole: Json, name: str, value: Any, defaults: SessionDefaults) -> None:
    """Take no other name for what the connection has chosen: stock clients name one of OpenAI's in every update."""
    if not isinstance(value, str) or len(value) > MAX_INSTRUCTIONS_CHARACTERS:
        raise wrong(f"session.{name}", "a text", value, "invalid_type")


def _hint(whole: Json, name: str, value: Any, defaults: SessionDefaults) -> None:
    """Keep and show what changes nothing here, and breaks no promise by that."""
    try:
        size = len(json.dumps(value, allow_nan=False))
    except ValueError as trouble:  # 1e999 is JSON, but nothing that could be shown again
        raise wrong(f"session.{name}", "JSON", value) from trouble
    if size > MAX_INSTRUCTIONS_CHARACTERS:
        raise RequestError(f"session.{name} is too long", code="string_too_long", param=f"session.{name}")
    whole[name] = value


def _tools(whole: Json, name: str, value: Any, defaults: SessionDefaults) -> None:
    tools = [] if value is None else value
    if not isinstance(tools, list) or len(tools) > MOST_TOOLS:
        raise wrong(f"session.{name}", f"a list of at most {MOST_TOOLS} functions", value, "invalid_type")
    whole[name] = [_tool(tool, f"session.{name}[{place}]") for place, tool in enumerate(tools)]
    names = [tool["name"] for tool in whole[name]]
    if twice := next((one for one in names if names.count(one) > 1), ""):
        raise RequestError(f"two tools are called {twice!r}", code="invalid_value", param=f"session.{name}")


def _tool(value: Any, param: str) -> Json:
    given = object_of(value, param)
    if given.get("type", "function") != "function":
        raise RequestError(
            f"{param}.type {given.get('type')!r} does not apply here: a client may bring functions",
            code="unsupported",
            param=f"{param}.type",
            hint="MCP servers are mounted in atlas.toml, behind the house's own gate",
        )
    name, text = given.get("name"), given.get("description") or ""
    parameters = given.get("parameters", {"type": "object", "properties": {}})
    if not isinstance(name, str) or not TOOL_NAME.fullmatch(name):
        raise wrong(f"{param}.name", "1 to 64 letters, digits, _ or -", name)
    if not isinstance(text, str):
        raise wrong(f"{param}.description", "a text", text, "invalid_type")
    object_of(parameters, f"{param}.parameters")
    try:
        size = len(json.dumps(parameters, allow_nan=False))
    except ValueError as trouble:  # 1e999 is JSON, but nothing that could be shown again
        raise wrong(f"{param}.parameters", "JSON", parameters) from trouble
    if len(text) + size > TOOL_CHARACTERS:
        raise RequestError(f"{param} is longer than {TOOL_CHARACTERS}", code="string_too_long", param=param)
    return {"type": "function", "name": name, "description": text, "parameters": parameters}


def _tool_choice(whole: Json, name: str, value: Any, defaults: SessionDefaults) -> None:
    named = isinstance(value, dict) and value.get("type") == "function" and isinstance(value.get("name"), str)
    if value not in (None, "auto", "none", "required") and not named:
        raise wrong(f"session.{name}", '"auto", "none", "required" or a function', value)
    whole[name] = "auto" if value is None else value


def client_tools(session: Json) -> tuple[Tool, ...]:
    """Return the tools that a client brings, as far as they may be used at all."""
    if session["tool_choice"] == "none":
        return ()
    return tuple(Tool(tool["name"], tool["description"], tool["parameters"]) for tool in session["tools"])


def _max_tokens(whole: Json, name: str, value: Any, defaults: SessionDefaults) -> None:
    if value != "inf" and (type(value) is not int or not 1 <= value <= 4096):
        raise wrong(f"session.{name}", 'a whole number from 1 to 4096, or "inf"', value)
    whole[name] = value


def _temperature(whole: Json, name: str, value: Any, defaults: SessionDefaults) -> None:
    whole[name] = number(value, f"session.{name}", 0, 2)


def _modalities(whole: Json, name: str, value: Any, defaults: SessionDefaults) -> None:
    if value not in (["audio"], ["text"]):
        raise wrong(f"session.{name}", '["audio"] or ["text"]', value)
    whole[name] = value


def _audio(whole: Json, name: str, value: Any, defaults: SessionDefaults) -> None:
    for side, part in object_of(value, "session.audio").items():
        if side not in AUDIO_FIELDS:
            raise unknown(f"session.audio.{side}")
        fields, place = AUDIO_FIELDS[side], f"session.audio.{side}"
        for key, given in object_of(part, place).items():
            if key not in fields:
                raise unknown(f"{place}.{key}")
            whole["audio"][side][key] = fields[key](whole["audio"][side][key], f"{place}.{key}", given, defaults)


def sound_format(now: Any, param: str, value: Any, defaults: SessionDefaults) -> Json:
    """Return a sound format with its rate."""
    if isinstance(value, str):  # the Beta's way
        value = {"type": FORMAT_OF_BETA_NAME.get(value, value)}
    given = object_of(value, param)
    kind = given.get("type", now["type"])
    if not isinstance(kind, str) or kind not in RATE_OF_FORMAT:
        raise wrong(f"{param}.type", f"one of {', '.join(RATE_OF_FORMAT)}", kind)
    if extra := set(given) - {"type", "rate"}:
        raise unknown(f"{param}.{min(extra)}")
    if given.get("rate", RATE_OF_FORMAT[kind]) != RATE_OF_FORMAT[kind]:
        raise wrong(f"{param}.rate", str(RATE_OF_FORMAT[kind]), given["rate"])
    return {"type": kind} | ({"rate": RATE_OF_FORMAT[kind]} if kind == "audio/pcm" else {})


def _voice(now: Any, param: str, value: Any, defaults: SessionDefaults) -> str:
    name = value.get("id") if isinstance(value, dict) else value
    if name not in (defaults.voice, *VOICE_NAMES):
        raise wrong(
            param, f"the house's voice {defaults.voice!r}, or a name that stands for it ({VOICE_NAMES[0]})", name
        )
    return defaults.voice  # the house has one voice, and says so in session.updated


def _speed(now: Any, param: str, value: Any, defaults: SessionDefaults) -> float:
    return number(value, param, 0.25, 1.5)


def _transcription(now: Any, param: str, value: Any, defaults: SessionDefaults) -> Json | None:
    if value is None:
        return None
    given = object_of(value, param)
    if extra := set(given) - {"model", "language", "languages", "prompt", "keywords", "delay"}:
        raise unknown(f"{param}.{min(extra)}")
    language = given.get("language") or defaults.language
    if not isinstance(language, str) or language.partition("-")[0].lower() not in defaults.languages:
        raise wrong(f"{param}.language", " or ".join(map(repr, defaults.languages)), language, "unsupported_language")
    delay = given.get("delay") or ("low" if given.get("model") in LIVE_MODELS else None)
    if delay not in (None, *DELAYS):
        raise wrong(f"{param}.delay", f"one of {', '.join(DELAYS)}", delay)
    live = {"delay": delay} if delay else {}
    return {"model": defaults.recogniser, "language": language.partition("-")[0].lower(), **live}


def _noise_reduction(now: Any, param: str, value: Any, defaults: SessionDefaults) -> None:
    if value is not None:
        object_of(value, param)
    # There is none: the recogniser and the speech detector were trained on noise. What holds is shown, not the wish.


def _turn_detection(now: Any, param: str, value: Any, house_defaults: SessionDefaults) -> Json | None:
    if value is None:
        return None
    given = {key: part for key, part in object_of(value, param).items() if part is not None}
    kind = given.get("type", now["type"] if now else "server_vad")
    if kind not in ("server_vad", "semantic_vad"):
        raise wrong(f"{param}.type", '"server_vad" or "semantic_vad"', kind)
    defaults = SERVER_VAD if kind == "server_vad" else SEMANTIC_VAD
    for key, part in given.items():
        _check_detection(f"{param}.{key}", key, part, defaults)
    same = now is not None and now["type"] == kind
    return (now if same else dict(defaults)) | given


def _check_detection(param: str, key: str, value: Any, defaults: Json) -> None:
    if key not in defaults:
        raise unknown(param)
    match key:
        case "threshold":
            number(value, param, 0.0, 1.0)
        case "prefix_padding_ms":
            number(value, param, 0, 2_000)
        case "silence_duration_ms":
            number(value, param, 100, 10_000)
        case "idle_timeout_ms":
            raise RequestError(f"{param}: the house does not speak up unasked", code="unsupported", param=param)
        case "eagerness":
            if not isinstance(value, str) or value not in SILENCE_MS_OF_EAGERNESS:
                raise wrong(param, f"one of {', '.join(SILENCE_MS_OF_EAGERNESS)}", value)
        case "create_response" | "interrupt_response":
            if not isinstance(value, bool):
                raise wrong(param, "true or false", value, "invalid_type")


FIELDS: dict[str, Check] = {
    "type": _one_of("realtime", "transcription"),
    "model": _by_connection,
    "id": _unchanged,
    "object": _unchanged,
    "expires_at": _unchanged,
    "instructions": _text(MAX_INSTRUCTIONS_CHARACTERS),
    "output_modalities": _modalities,
    "audio": _audio,
    "max_output_tokens": _max_tokens,
    "temperature": _temperature,
    "tools": _tools,
    "tool_choice": _tool_choice,
    "prompt": _one_of(None),
    "tracing": _hint,
    "truncation": _hint,
    "include": _hint,
    "parallel_tool_calls": _hint,
    "reasoning": _hint,
}
AUDIO_FIELDS: dict[str, dict[str, Callable[[Any, str, Any, SessionDefaults], Any]]] = {
    "input": {
        "format": sound_format,
        "transcription": _transcription,
        "noise_reduction": _noise_reduction,
        "turn_detection": _turn_detection,
    },
    "output": {"format": sound_format, "voice": _voice, "speed": _speed},
}
