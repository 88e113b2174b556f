"""Tells devices whose app is closed that something waits: by Web Push, once for each thing, without a word of it.

What waits is a ring that nobody of its person's can hear, a message for somebody who is not there, or a question whose
device has gone. A device is told where it stands in the house's own answer to "whose is it": its own, its person's, or,
where it is nobody's, every resident's. All goes through the way out of the house, to the services that its owner
listed; while none is, nobody is told anything.
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Literal, Protocol

import anyio

from atlas import trace
from atlas.conversation import Actor
from atlas.errors import AtlasError, RequestError
from atlas.latest import Latest
from atlas.push.encryption import check_keys, read_unpadded
from atlas.push.service import Outcome, PushSender, is_listed, place_of
from atlas.store.devices import DeviceStore, PushSubscription
from wall.roles import may

Page = Literal["time", "messages", "talk"]  # of the app, where that which waits is seen
BETWEEN_SECONDS = 5.0  # between two messages to one device
TRIED_AGAIN_SECONDS = (4.0, 30.0)
MOST_QUEUED = 64
MOST_SENDING = 8  # services that say nothing leave the way out of the house to others
MOST_REMEMBERED = 256  # questions that were told of
log = logging.getLogger("atlas")


class Questions(Protocol):
    """The questions that wait for a person's yes."""

    def changes(self) -> AsyncIterator[object]:
        """Yield whenever there may be others than before. Cancelling is safe."""

    async def waiting(self, viewer: Actor) -> Mapping[str, str]:
        """Return which a person may answer, by id: the key of the device that asked. Raises `EngineError`."""


class PushNotices:
    """Who is told what, and the messages that are on their way."""

    def __init__(
        self,
        devices: DeviceStore,
        sender: PushSender,
        services: Callable[[], Sequence[str]],
        is_connected: Callable[[str, str], bool],
        questions: Questions,
        between_seconds: float = BETWEEN_SECONDS,
    ) -> None:
        """Begin nothing yet. `services` are those that may be used now; `is_connected` knows a device or a person."""
        self._devices = devices
        self._sender = sender
        self._services = services
        self._is_connected = is_connected
        self._questions = questions
        self._between_seconds = between_seconds
        self._last_sent: dict[str, float] = {}  # by device: when it was told something, on the clock of the loop
        self._waiting: dict[str, Page] = {}  # by device, the message that is next: it says what a second one would
        self._on_way: set[str] = set()  # devices that a task hands messages to, one after the other
        self._trying: set[str] = set()  # devices whose person looks whether it comes
        self._sending = anyio.CapacityLimiter(MOST_SENDING)
        self._pushed_questions = Latest[str, None](MOST_REMEMBERED)  # questions that were told of, the oldest first
        self._enqueue_end, self._queue = anyio.create_memory_object_stream[str](MOST_QUEUED)

    @property
    def public(self) -> str:
        """The key by which push services know this house, as browsers take it."""
        return self._sender.public

    def services(self) -> Sequence[str]:
        """Return the services that may be used, as HOST:PORT; none while the owner allows none."""
        return self._services()

    async def subscribe(self, device: str, endpoint: str, public: str, auth: str, language: str) -> None:
        """Tell a device from now on. Raises `RequestError` for an address that is barred and keys that are none."""
        if not is_listed(place := place_of(endpoint), self._services()):
            raise RequestError(
                f"nothing may leave the house for {place}",
                code="push_not_allowed",
                param="endpoint",
                hint="an owner lists push services under House, Settings",
            )
        try:
            keys = read_unpadded(public), read_unpadded(auth)
            check_keys(*keys)
        except ValueError as trouble:
            raise RequestError(str(trouble), code="invalid_value", param="p256dh") from trouble
        await self._devices.subscribe(device, PushSubscription(endpoint, *keys, language))

    async def subscription_of(self, device: str) -> PushSubscription | None:
        """Return where a device is told, None when it is not."""
        known = (await self._devices.subscriptions()).get(device)
        return known[1] if known else None

    async def anybody(self) -> bool:
        """Tell whether some device could be told."""
        return bool(self._services()) and bool(await self._listening())

    async def tell(self, page: Page, *, device: str, person: str, sender: str = "") -> None:
        """Tell those for whom something waits: the device, else the person's, else who lives here but `sender`."""
        everybody = await self._listening()
        mine = [
            name
            for name, (actor, _) in everybody.items()
            if actor.device_key == device or (person and actor.person == person)
        ]
        if not (mine or device or person):
            mine = [
                name
                for name, (actor, _) in everybody.items()
                if may(actor.role, "reside") and actor.device_key != sender
            ]
        for name in mine:
            self._enqueue(name, page)

    async def try_one(self, device: str) -> Outcome:
        """Tell a device now that something waits, for its person to see that it comes. Raises `RequestError`."""
        if device not in await self._listening():
            raise RequestError("this device is not told anything", code="not_found")
        if device in self._trying or self._wait_seconds(device):
            raise RequestError("it was told something just now", code="rate_limit_exceeded", hint="wait a moment")
        self._trying.add(device)
        try:
            return await self._send(device, "talk")
        finally:
            self._trying.discard(device)

    async def run(self) -> None:
        """Hand over messages, and watch for questions, until cancelled."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._watch_questions)
            async for device in self._queue:
                tasks.start_soon(self._deliver, device)

    async def _listening(self) -> Mapping[str, tuple[Actor, PushSubscription]]:
        services = self._services()
        if not services:
            return {}
        known = await self._devices.subscriptions()
        return {name: one for name, one in known.items() if is_listed(place_of(one[1].endpoint), services)}

    def _wait_seconds(self, device: str) -> float:
        """Return for how long a device is not to be told anything."""
        now = anyio.current_time()
        self._last_sent = {name: at for name, at in self._last_sent.items() if now - at < self._between_seconds}
        return max(0.0, self._last_sent.get(device, -math.inf) + self._between_seconds - now)

    def _enqueue(self, device: str, page: Page) -> None:
        self._waiting.setdefault(device, page)
        if device in self._on_way:
            return
        try:
            self._enqueue_end.send_nowait(device)
        except anyio.WouldBlock:
            del self._waiting[device]
            log.warning("too many push messages wait; %s is not told", device)
        else:
            self._on_way.add(device)

    async def _deliver(self, device: str) -> None:
        """Hand over what waits for a device, and what comes meanwhile."""
        while device in self._waiting:
            await anyio.sleep(self._wait_seconds(device))
            page = self._waiting.pop(device)
            for pause in (*TRIED_AGAIN_SECONDS, 0.0):
                if await self._is_done(device, page) or device in self._waiting:
                    break  # the next message says the same, and has tries of its own
                await anyio.sleep(pause)
        self._on_way.discard(device)

    async def _is_done(self, device: str, page: Page) -> bool:
        """Try to tell a device; return whether there is nothing to try again."""
        try:
            return await self._send(device, page) != "failed"
        except AtlasError as trouble:
            log.warning("%s could not be told that something waits: %s", device, trouble)
            return False

    async def _send(self, device: str, page: Page) -> Outcome:
        """Tell a device that may be told now; "gone" when its token, subscription or service has ended."""
        async with self._sending:
            known = (await self._listening()).get(device)  # what waited may have been taken back since
            if known is None:
                return "gone"
            _, subscription = known
            self._last_sent[device] = anyio.current_time()
            text = json.dumps({"page": page, "language": subscription.language}).encode()
            outcome = await self._sender.send(subscription.endpoint, subscription.public, subscription.auth, text)
        trace.line("pushed", device=device, to=place_of(subscription.endpoint), outcome=outcome)
        if outcome == "gone":
            await self._devices.unsubscribe(device, subscription.endpoint)
        return outcome

    async def _watch_questions(self) -> None:
        async for _ in self._questions.changes():
            try:
                await self._tell_of_questions()
            except AtlasError as trouble:
                log.warning("nobody is told of questions that wait: %s", trouble)

    async def _tell_of_questions(self) -> None:
        fresh: dict[str, None] = {}
        for device, (actor, _) in (await self._listening()).items():
            if self._is_connected(actor.device_key, actor.person):
                continue  # the app shows it
            waiting = await self._questions.waiting(actor)
            unseen = [id for id, asker in waiting.items() if not self._is_connected(asker, "")]
            if any(id not in self._pushed_questions for id in unseen):
                self._enqueue(device, "talk")
            fresh |= dict.fromkeys(unseen)
        self._pushed_questions |= fresh
