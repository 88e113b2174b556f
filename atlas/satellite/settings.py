"""What one satellite is told: where its house is, which devices it hears and speaks through, and how it behaves."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from atlas.config import ENGLISH_EARS
from atlas.errors import ConfigError

SYSTEMS = ("pulse", "alsa")
HOOKS = (
    *("connected", "disconnected", "woken", "heard", "answering", "listening", "asleep", "failed"),
    *("ringing", "silent", "muted", "unmuted", "near_miss"),
)
_HOURS = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)-([01]?\d|2[0-3]):([0-5]\d)")
_FORMAT = re.compile(r"(\d{4,6})x([1-8])")


@dataclass(frozen=True, slots=True)
class SoundDevice:
    """A microphone or loudspeaker of the machine. An empty system is the one that is there; an empty name, its own."""

    system: str = ""  # "pulse" (also PipeWire's) or "alsa"
    name: str = ""
    rate: int = 0  # 0 has the system resample to what is wanted
    channels: int = 1


@dataclass(frozen=True, slots=True)
class SatelliteSettings:
    """How one satellite works."""

    house: str  # http://… or https://…
    token: str = field(repr=False)
    room: str = ""  # checked by the house: a room belongs to the device's token
    microphone: SoundDevice = SoundDevice()
    loudspeaker: SoundDevice = SoundDevice()
    wake_words: tuple[str, ...] = ()
    wake_threshold: float = 0.0  # 0 is each model's own; less wakes more easily, and more often for nothing
    near_misses: Path | None = None  # where what woke it and what nearly did is stored for a day
    models: Path = Path("models")  # of wake words that do not come with the library, and of the recogniser
    recogniser: str = ENGLISH_EARS  # a folder of those, by which phrases without a model are heard
    languages: tuple[str, ...] = ("en",)
    volume: float = 1.0
    quiet_hours: tuple[int, int] | None = None  # minutes of the day, from and until: then it whispers
    quiet_volume: float = 0.25  # of the volume, in those hours
    follow_up_seconds: float = 0.0  # after an answer in which one may go on without the wake word
    echo_cancellation: bool = True
    earcons: bool = True
    certificate: Path | None = None  # of a house that signs its own
    hooks: Mapping[str, str] = field(default_factory=dict)  # by event: a command, run without a shell


def read_hours(text: str) -> tuple[int, int] | None:
    """Read `22:00-07:00` as minutes of the day. Raises `ConfigError`."""
    if not text:
        return None
    matched = _HOURS.fullmatch(text)
    if not matched:
        raise ConfigError(f"{text!r} are no hours", hint="write them as 22:00-07:00")
    start_hour, start_minute, end_hour, end_minute = map(int, matched.groups())
    return start_hour * 60 + start_minute, end_hour * 60 + end_minute


def is_quiet(hours: tuple[int, int] | None, minute: int) -> bool:
    """Tell whether a minute of the day lies in some hours, which may go over midnight."""
    if hours is None:
        return False
    start, end = hours
    return start <= minute < end if start <= end else minute >= start or minute < end


def read_device(text: str, form: str = "") -> SoundDevice:
    """Read `[pulse:|alsa:]NAME` and a form such as `48000x2`. Raises `ConfigError`."""
    system, colon, name = text.partition(":")
    if not colon or system not in SYSTEMS:
        system, name = "", text
    if not form:
        return SoundDevice(system, name)
    matched = _FORMAT.fullmatch(form)
    if not matched:
        raise ConfigError(f"{form!r} is no form of sound", hint="write rate and channels, as in 48000x2")
    return SoundDevice(system, name, int(matched[1]), int(matched[2]))


def read_hooks(given: list[str]) -> dict[str, str]:
    """Read `EVENT=COMMAND`. Raises `ConfigError` for an event that there is none of."""
    hooks: dict[str, str] = {}
    for one in given:
        event, equals, command = one.partition("=")
        if not equals or event not in HOOKS:
            raise ConfigError(f"{one!r} is no hook", hint=f"write EVENT=COMMAND; events are {', '.join(HOOKS)}")
        hooks[event] = command
    return hooks
