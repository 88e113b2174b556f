"""Connects to one voice device by ESPHome's native API; what it tells comes in order and within bounds."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import anyio
from aioesphomeapi import (
    APIClient,
    APIConnectionError,
    EncryptionPlaintextAPIError,
    InvalidAuthAPIError,
    InvalidEncryptionKeyAPIError,
    MediaPlayerFormatPurpose,
    MediaPlayerInfo,
    RequiresEncryptionAPIError,
    VoiceAssistantCommandFlag,
    VoiceAssistantEventType,
    VoiceAssistantFeature,
    VoiceAssistantTimerEventType,
)

from atlas import __version__, trace
from atlas.config import EsphomeDeviceConfig
from atlas.errors import ConfigError, EngineError
from atlas.gateway.esphome_sounds import FetchedFormat
from atlas.gateway.timer_changes import TimerTransition
from atlas.speech.resample import HIGHEST_RATE, LOWEST_RATE
from atlas.speech.wake import phrase_of

CONNECT_SECONDS = 20.0  # to connect, shake hands and be told what there is: an ESP32 is slow at keys
CONFIGURE_SECONDS = 5.0
HANG_UP_SECONDS = 2.0
KEEPALIVE_SECONDS = 10.0  # between pings; a device that misses some is gone
ANNOUNCED_SECONDS = 90.0  # no announcement takes longer to be played
WAITING_MESSAGES = (
    256  # eight seconds of sound as devices send it; one that sends faster than it is heard is hung up on
)
FORMATS = ("flac", "wav")  # that are made for devices
VERSION = str(__version__)


class PipelineStarted(NamedTuple):
    """The device sends sound from now on."""

    phrase: str  # its wake word; "" for a button, or when it goes on by itself
    awaits_wake_word: bool  # it has none of its own: the house listens for one


class PipelineStopped(NamedTuple):
    """The device sends no more: somebody stopped it, or has finished speaking."""

    is_aborted: bool


class DevicePlayed(NamedTuple):
    """The device has played what it was given, or was stopped while it did."""


class DeviceGone(Exception):
    """The connection is over."""


DeviceMessage = PipelineStarted | PipelineStopped | DevicePlayed | bytes


class DeviceLink:
    """One connection. `receive` is for one task; everything else never waits, but for `announce` and `configure`."""

    def __init__(self, client: Any, settings: EsphomeDeviceConfig) -> None:
        self._client = client
        self._settings = settings
        self._inbox, self._messages = anyio.create_memory_object_stream[DeviceMessage](WAITING_MESSAGES)
        self._features = 0
        self.form = FetchedFormat()

    def can(self, feature: str) -> bool:
        """Tell whether the device can do what `aioesphomeapi` calls so."""
        return bool(self._features & VoiceAssistantFeature[feature])

    async def receive(self) -> DeviceMessage:
        """Return the next message. Raises `DeviceGone`. Cancelling is safe."""
        try:
            return await self._messages.receive()
        except anyio.EndOfStream as gone:
            raise DeviceGone from gone

    def tell(self, event: str, **data: str) -> None:
        """Tell how the answer comes on: RUN_START, STT_END and so on."""
        self._send("send_voice_assistant_event", VoiceAssistantEventType[f"VOICE_ASSISTANT_{event}"], data)

    def play(self, pcm: bytes) -> None:
        """Send sound to a device that takes it over this connection."""
        self._send("send_voice_assistant_audio", pcm)

    def show(self, change: TimerTransition) -> None:
        """Tell what became of a timer."""
        kind = VoiceAssistantTimerEventType[f"VOICE_ASSISTANT_TIMER_{change.kind.upper()}"]
        self._send(
            "send_voice_assistant_timer_event",
            *(kind, change.id, change.name or None, change.seconds, change.left_seconds, change.is_running),
        )

    def _send(self, name: str, *arguments: Any) -> None:
        try:
            getattr(self._client, name)(*arguments)
        except APIConnectionError:
            self._inbox.close()

    async def announce(self, url: str, text: str, *, listens_then: bool) -> bool:
        """Have the device fetch and play a sound; returns when it says that this is over, and whether it said so.

        Whether it was played only the fetching shows: ESPHome calls every end a success, linux-voice-assistant none.
        """
        try:
            await self._client.send_voice_assistant_announcement_await_response(
                url, ANNOUNCED_SECONDS, text, start_conversation=listens_then
            )
        except (APIConnectionError, TimeoutError) as trouble:
            trace.line("announcement not played", device=self._settings.device, error=trouble)
            return False
        return True

    async def configure(self) -> None:
        """Have the device listen for the wake words of the settings, as far as it has them."""
        wanted = [phrase_of(word) for word in self._settings.wake_words]
        if not wanted or not self.can("ANNOUNCE"):  # older ones have no wake words to choose from
            return
        try:
            there = await self._client.get_voice_assistant_configuration(CONFIGURE_SECONDS)
            names = {
                name: one.id
                for one in there.available_wake_words
                for name in (phrase_of(one.wake_word), phrase_of(one.id))
            }
            chosen = list(dict.fromkeys(names[word] for word in wanted if word in names))
            if lacking := [word for word in wanted if word not in names]:
                has = ", ".join(one.wake_word for one in there.available_wake_words)
                trace.line(
                    "wake word not on the device", device=self._settings.device, lacks=", ".join(lacking), has=has
                )
            if len(chosen) > there.max_active_wake_words:
                trace.line(
                    "too many wake words for the device", device=self._settings.device, most=there.max_active_wake_words
                )
                chosen = chosen[: there.max_active_wake_words]
            if chosen and set(chosen) != set(there.active_wake_words):
                await self._client.set_voice_assistant_configuration(chosen)
                trace.line("wake words set", device=self._settings.device, words=", ".join(chosen))
        except (APIConnectionError, TimeoutError) as trouble:
            trace.line("wake words not set", device=self._settings.device, error=trouble)

    async def look(self) -> None:
        """Learn what the device can do, and subscribe to what it hears. Raises `EngineError` for no voice device."""
        info, entities, _ = await self._client.device_info_and_list_entities()
        self._features = info.voice_assistant_feature_flags_compat(self._client.api_version)
        self.form = _form(entities)
        if not self._features:
            raise EngineError(f"{info.name!r} is no voice device", hint="name one with ESPHome's voice_assistant")
        if not self.can("API_AUDIO"):
            raise EngineError(
                f"{info.name!r} sends sound by UDP alone, which is not served",
                hint="update its ESPHome to 2024.4 or newer",
            )
        self._client.subscribe_voice_assistant(
            handle_start=self._started,
            handle_stop=self._stopped,
            handle_audio=self._heard,
            handle_announcement_finished=self._played,
        )

    async def _started(self, conversation: str, flags: int, audio: Any, phrase: str | None) -> int:
        awaits = bool(flags & VoiceAssistantCommandFlag.USE_WAKE_WORD)
        self._put(PipelineStarted(phrase_of(phrase or ""), awaits))
        return 0  # no port: sound comes by this connection

    async def _stopped(self, is_aborted: bool) -> None:
        self._put(PipelineStopped(is_aborted))

    async def _heard(self, pcm: bytes, second_channel: bytes | None) -> None:
        self._put(pcm)

    async def _played(self, finished: Any) -> None:
        self._put(DevicePlayed())

    async def gone(self, is_expected: bool) -> None:
        """Note that the connection is over."""
        self._inbox.close()

    def _put(self, message: DeviceMessage) -> None:
        try:
            self._inbox.send_nowait(message)
        except anyio.WouldBlock:
            trace.line("sound comes faster than it is heard", device=self._settings.device)
            self._inbox.close()
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            pass  # it is being hung up on


@asynccontextmanager
async def linked(settings: EsphomeDeviceConfig) -> AsyncIterator[DeviceLink]:
    """Connect to a device. Raises `EngineError`, with what would help."""
    client = APIClient(
        settings.host,
        settings.port,
        client_info=f"Atlas {VERSION}",
        keepalive=KEEPALIVE_SECONDS,
        noise_psk=_key(settings),
    )
    link = DeviceLink(client, settings)
    try:
        try:
            with anyio.fail_after(CONNECT_SECONDS):
                await client.connect(on_stop=link.gone, log_errors=False)
                await link.look()
        except (APIConnectionError, OSError, TimeoutError) as trouble:
            raise EngineError(
                f"not reached at {settings.host}:{settings.port}: {trouble or type(trouble).__name__}",
                hint=_advice(trouble, settings),
            ) from trouble
        yield link
    finally:
        with anyio.move_on_after(HANG_UP_SECONDS, shield=True):
            await client.disconnect()
        with anyio.CancelScope(shield=True):
            await client.disconnect(force=True)


def _key(settings: EsphomeDeviceConfig) -> str | None:
    if not settings.key_file:
        return None
    try:
        return Path(settings.key_file).read_text("utf-8").strip()
    except (OSError, UnicodeError) as trouble:
        raise ConfigError(
            f"the key of {settings.device!r} in {settings.key_file} cannot be read: {trouble}",
            hint="write the device's api encryption key into that file",
        ) from trouble


def _advice(trouble: Exception, settings: EsphomeDeviceConfig) -> str:
    match trouble:
        case RequiresEncryptionAPIError():
            return "it is encrypted: set key_file to a file with its api encryption key"
        case InvalidEncryptionKeyAPIError():
            return f"the key in {settings.key_file} is not the device's api encryption key"
        case EncryptionPlaintextAPIError():
            return "it is not encrypted: give it a key (api: encryption: in its settings), or leave key_file out"
        case InvalidAuthAPIError():
            return "it wants a password, which ESPHome has given up: use an api encryption key instead"
        case _:
            return "is it on, and are host and port right?"


def _form(entities: Sequence[Any]) -> FetchedFormat:
    """Return how the device wants announcements written, of what can be made for it."""
    forms = [form for one in entities if isinstance(one, MediaPlayerInfo) for form in one.supported_formats]
    forms = [form for form in forms if form.format.lower() in FORMATS]
    forms.sort(key=lambda form: form.purpose != MediaPlayerFormatPurpose.ANNOUNCEMENT)
    if not forms:
        return FetchedFormat()
    rate = forms[0].sample_rate
    return FetchedFormat(forms[0].format.lower(), rate if LOWEST_RATE <= rate <= HIGHEST_RATE else 0)
