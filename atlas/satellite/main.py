"""`atlas satellite`: this machine's microphone and loudspeaker become a room of a house, until Ctrl-C."""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from pathlib import Path

import anyio

from atlas.config import ENGLISH_EARS, SpeechConfig
from atlas.errors import AtlasError, ConfigError
from atlas.satellite.earcons import RATE
from atlas.satellite.echo import EchoCanceller
from atlas.satellite.hooks import Hooks
from atlas.satellite.link import Json, Link
from atlas.satellite.player import Player
from atlas.satellite.rings import Rings
from atlas.satellite.room import SatelliteRoom
from atlas.satellite.settings import HOOKS, SatelliteSettings, is_quiet, read_device, read_hooks, read_hours
from atlas.satellite.sound_devices import Loudspeaker, Microphone, sound_system
from atlas.satellite.wake_listener import WakeListener
from atlas.speech import wake_any
from atlas.speech.wake_log import WakeLog, listen_logged
from wall import logs

STOP_WORDS = {"en": ("stop", "shut up", "never mind", "be quiet"), "de": ("stopp", "sei still", "ruhe", "genug")}
log = logging.getLogger("atlas")


def main(arguments: Sequence[str]) -> int:
    """Be a room until told to stop; return the exit status."""
    logs.to_stderr(logging.WARNING, "%(asctime)s %(levelname).1s %(message)s")
    log.setLevel(logging.INFO)
    try:
        anyio.run(run, read(arguments))
    except KeyboardInterrupt:
        return 130
    except AtlasError as trouble:
        print(f"atlas satellite: {trouble}." + (f"\n  Now: {trouble.hint}" if trouble.hint else ""), file=sys.stderr)  # noqa: T201
        return 1
    return 0


def command() -> None:
    """Run as a program of its own."""
    sys.exit(main(sys.argv[1:]))


def read(arguments: Sequence[str]) -> SatelliteSettings:
    """Read the command line. Raises `ConfigError`."""
    parser = argparse.ArgumentParser(prog="atlas satellite", description=__doc__)
    parser.add_argument("--house", required=True, metavar="URL", help="such as http://192.168.1.5:8600")
    parser.add_argument("--token", default="", help="of this device; or --token-file, or $ATLAS_TOKEN")
    parser.add_argument("--token-file", type=Path, metavar="FILE", help="what holds it: nobody else sees it there")
    parser.add_argument("--room", default="", help="where this is; the house refuses if its token stands elsewhere")
    device = "[pulse:|alsa:]NAME; else that of the system"
    parser.add_argument("--microphone", default="", metavar="DEVICE", help=device)
    parser.add_argument("--microphone-form", default="", metavar="RATExCHANNELS", help="of ALSA's hw:, as 48000x2")
    parser.add_argument("--loudspeaker", default="", metavar="DEVICE", help=device)
    words = "okay_nabu, hey_jarvis, hey_mycroft, alexa, or any phrase such as 'hey atlas', which takes the recogniser"
    parser.add_argument("--wake-word", action="append", default=[], metavar="WORD", help=words)
    threshold_help = (
        "how sure of a wake word, 0.3 to 0.99; else each word's own. Its near misses are in the log, with their scores"
    )
    parser.add_argument("--wake-threshold", type=float, default=0.0, metavar="SHARE", help=threshold_help)
    near_misses = "store what woke it and what nearly did for a day, with 3 s of sound; `atlas wake` shows it"
    parser.add_argument("--near-misses", type=Path, metavar="FOLDER", help=near_misses)
    parser.add_argument("--models", type=Path, default=Path("models"), help="of wake words of your own: WORD/WORD.json")
    recogniser = "a folder of the models, by which phrases without a model are heard"
    parser.add_argument("--recogniser", default=ENGLISH_EARS, metavar="MODEL", help=recogniser)
    parser.add_argument("--language", default="en", help="of the phrases; several with commas: en,de")
    parser.add_argument("--volume", type=float, default=1.0, help="0 to 4; 1 is as it comes")
    quiet = "when it whispers, as 22:00-07:00 on this machine's clock; alarms ring as ever"
    parser.add_argument("--quiet-hours", default="", metavar="FROM-UNTIL", help=quiet)
    parser.add_argument("--quiet-volume", type=float, default=0.25, help="of the volume in those hours: 0 to 1")
    follow_up = "how long after an answer one may go on without the wake word, 0 to 30; after a question always"
    parser.add_argument("--follow-up", type=float, default=0.0, metavar="SECONDS", help=follow_up)
    parser.add_argument("--no-echo-cancellation", action="store_true", help="the microphone does that itself")
    parser.add_argument("--no-earcons", action="store_true", help="no tones but those that ring")
    parser.add_argument("--certificate", type=Path, metavar="FILE", help="of a house that signs its own, for https")
    hooks = f"run a command at an event: {', '.join(HOOKS)}"
    parser.add_argument("--on", action="append", default=[], metavar="EVENT=COMMAND", help=hooks)
    given = parser.parse_args(arguments)
    return SatelliteSettings(
        house=given.house,
        token=_token(given.token, given.token_file),
        room=given.room,
        microphone=read_device(given.microphone, given.microphone_form),
        loudspeaker=read_device(given.loudspeaker),
        wake_words=tuple(given.wake_word) or ("okay_nabu",),
        wake_threshold=min(0.99, max(0.0, given.wake_threshold)),
        near_misses=given.near_misses,
        models=given.models,
        recogniser=given.recogniser,
        languages=tuple(given.language.split(",")),
        volume=max(0.0, min(4.0, given.volume)),
        quiet_hours=read_hours(given.quiet_hours),
        quiet_volume=max(0.0, min(1.0, given.quiet_volume)),
        follow_up_seconds=max(0.0, min(30.0, given.follow_up)),
        echo_cancellation=not given.no_echo_cancellation,
        earcons=not given.no_earcons,
        certificate=given.certificate,
        hooks=read_hooks(given.on),
    )


def _stop_words(languages: Sequence[str]) -> tuple[str, ...]:
    """Return what ends a ring without a wake word, in any of the languages that are spoken here."""
    return tuple(word for one in languages for word in STOP_WORDS.get(one, ())) or STOP_WORDS["en"]


async def run(settings: SatelliteSettings) -> None:
    """Hear, play and stay connected until cancelled."""
    system = sound_system()
    wake = await wake_any.open(
        SpeechConfig(
            wake_words=settings.wake_words,
            models=settings.models,
            stt_model=settings.recogniser,
            languages=settings.languages,
        )
    )
    canceller = _canceller(settings)
    loudspeaker = Loudspeaker(settings.loudspeaker, system, RATE)
    player = Player(loudspeaker.open, canceller.played if canceller else lambda pcm: None)
    player.volume = settings.volume
    player.hush_factor = partial(_hush_factor, settings)
    async with anyio.create_task_group() as tasks:
        link: Link
        hooks = Hooks(settings.hooks, tasks)

        thresholds: dict[str, float] = {}  # that the house has for this room, by phrase

        def near_miss(phrase: str, score: float, threshold: float) -> None:
            hooks("near_miss", phrase=phrase, score=f"{score:.2f}")

        listen = (
            partial(listen_logged, wake, WakeLog(settings.near_misses).note) if settings.near_misses else wake.listen
        )
        stream = listen(lambda phrase: thresholds.get(phrase, settings.wake_threshold), near_miss)
        room = SatelliteRoom(
            send=lambda kind, **fields: link.send(kind, **fields),
            player=player,
            waking=WakeListener(stream),
            thresholds=thresholds,
            rings=Rings(),
            canceller=canceller,
            stopping=wake_any.listen_for(wake, _stop_words(settings.languages)),
            hook=hooks,
            earcons=settings.earcons,
            follow_up_seconds=settings.follow_up_seconds,
        )
        microphone = Microphone(settings.microphone, system)

        def take(message: Json) -> None:
            microphone.attend()  # what was recorded up to now holds no echo of what this may play
            room.take(message)

        link = Link(settings, take, room.connected)

        tasks.start_soon(_signals, room, tasks.cancel_scope)
        tasks.start_soon(microphone.run, room.hear)
        tasks.start_soon(player.run)
        tasks.start_soon(link.run)
        log.info("listens for %s by %s, for %s", ", ".join(wake.phrases), system, settings.house)


async def _signals(room: SatelliteRoom, everything: anyio.CancelScope) -> None:
    """Obey signals: USR1 mutes or unmutes, USR2 is a button, INT and TERM end it."""
    wanted = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2)
    with anyio.open_signal_receiver(*wanted) as signals:
        async for number in signals:
            if number == signal.SIGUSR1:
                room.mute(not room.muted)
            elif number == signal.SIGUSR2:
                room.press()
            else:
                everything.cancel()


def _hush_factor(settings: SatelliteSettings) -> float:
    """Return how much softer than by day it speaks now."""
    at = datetime.now()  # noqa: DTZ005  # the machine's own clock is that of its room
    return settings.quiet_volume if is_quiet(settings.quiet_hours, at.hour * 60 + at.minute) else 1.0


def _canceller(settings: SatelliteSettings) -> EchoCanceller | None:
    if not settings.echo_cancellation:
        return None
    try:
        return EchoCanceller()
    except ImportError:
        log.warning("no echo cancellation: it cannot be interrupted while it speaks. Install it: pip install livekit")
        return None


def _token(given: str, file: Path | None) -> str:
    try:
        token = given or (file.read_text(encoding="utf-8").strip() if file else os.environ.get("ATLAS_TOKEN", ""))
    except OSError as trouble:
        raise ConfigError(f"{file} cannot be read: {trouble.strerror}", hint="check --token-file") from trouble
    if not token:
        hint = "on the house's machine: atlas token create --name kitchen --role satellite --room kitchen"
        raise ConfigError("this device has no token", hint=hint)
    return token
