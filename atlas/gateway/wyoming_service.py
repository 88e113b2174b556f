"""Wyoming's services: recogniser, voice, wake word and answers, as Home Assistant uses them without anything added."""

from __future__ import annotations

import math
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace

import anyio
from anyio.abc import SocketAttribute, SocketStream, TaskGroup, TaskStatus
from wyoming import error, handle, ping, tts
from wyoming.event import Event

from atlas import trace
from atlas.conversation import Actor, Turn, Utterance, fresh_id
from atlas.errors import AtlasError, ConfigError, RequestError
from atlas.events import Event as TurnEvent
from atlas.events import TurnEnded
from atlas.fields import Fields
from atlas.gateway.chat import MAX_CHARACTERS
from atlas.gateway.wyoming_info import described
from atlas.gateway.wyoming_stages import STREAM_CHARACTERS, Detecting, Listening, WyomingSaying
from atlas.gateway.wyoming_wire import Peer, PeerGone
from atlas.house import House
from atlas.latest import Latest
from atlas.speech.tts import MAX_TEXT_CHARACTERS
from wall import logs

CONNECTIONS = 48  # at once; Home Assistant opens one for each request, and a satellite one to its wake word …
CONNECTIONS_OF_ADDRESS = 24  # … and of one address; for a new one, that goes which has been silent the longest
IDLE_SECONDS = 60.0  # without an event; who comes again connects again
SILENT_SECONDS = 5.0  # within a request, after which its place may go to another: sound comes many times a second
HEARD_UTTERANCES = 32  # whose other readings are kept until their words come back to be answered …
HEARD_SECONDS = 30.0  # … and how long
EVERYWHERE = ("0.0.0.0", "::", "*")  # noqa: S104  # named to be refused


async def serve(house: House, *, task_status: TaskStatus[int] = anyio.TASK_STATUS_IGNORED) -> None:
    """Serve whoever connects until cancelled; started with its port. Raises `ConfigError` for an impossible address."""
    config = house.config.wyoming
    if config.host in EVERYWHERE:
        raise ConfigError(
            "wyoming.host is every interface of this machine, and whoever connects is let in",
            hint="name one address of it: 127.0.0.1, or that of the network where Home Assistant is",
        )
    try:
        listener = await anyio.create_tcp_listener(local_host=config.host, local_port=config.port)
    except OSError as trouble:
        raise ConfigError(
            f"cannot listen on {config.host}:{config.port}: {trouble.strerror}", hint="check host and port in [wyoming]"
        ) from trouble
    service = Service(house)
    async with listener:
        port = listener.extra(SocketAttribute.local_port)  # noqa: S610 - not Django's
        trace.line("wyoming served", host=config.host, port=port, role=config.role)
        task_status.started(port)
        await listener.serve(service.meet)


class Service:
    """All connections, and what was heard on one of them that may be answered on another."""

    def __init__(self, house: House) -> None:
        config = house.config.wyoming
        self.house = house
        self.actor = Actor("", config.device, config.role, config.room)
        self._connections: dict[Connection, str] = {}  # those that are open, and their addresses
        self._heard = Latest[str, tuple[float, Utterance]](HEARD_UTTERANCES)

    async def meet(self, stream: SocketStream) -> None:
        """Serve one connection until either side ends it."""
        async with stream:
            peer, address = Peer(stream), stream.extra(SocketAttribute.remote_address)[0]  # noqa: S610 - not Django's
            try:
                async with anyio.create_task_group() as tasks:
                    connection = Connection(self, peer, tasks)
                    with self._place(connection, str(address)):
                        await connection.run()
            except* PeerGone:
                pass
            except* AtlasError as troubles:
                await _refuse(peer, troubles)
            except* Exception as mistakes:  # noqa: BLE001 - of ours, in one connection: the house goes on
                trace.line("wyoming broke", error=logs.kind(next(logs.failures_in(mistakes))))

    @contextmanager
    def _place(self, new: Connection, address: str) -> Iterator[None]:
        theirs = [one for one, other in self._connections.items() if other == address]
        if len(theirs) >= CONNECTIONS_OF_ADDRESS:
            self._send_one_away(theirs)
        elif len(self._connections) >= CONNECTIONS:
            self._send_one_away(list(self._connections))
        self._connections[new] = address
        try:
            yield
        finally:
            self._connections.pop(new, None)

    def _send_one_away(self, connections: Sequence[Connection]) -> None:
        """Take the place of whoever has been silent the longest. Raises `RequestError` where all have work."""
        oldest = max(connections, key=lambda one: one.idle_seconds)
        if not oldest.idle_seconds:
            raise RequestError("too many connections are open", code="rate_limit_exceeded")
        del self._connections[oldest]
        oldest.send_away()

    def actor_of(self, context: Mapping[str, object]) -> Actor:
        """Return who speaks: a satellite of Home Assistant to which the settings give a room is a device by itself."""
        satellite, rooms = context.get("satellite_id"), self.house.config.wyoming.rooms
        if isinstance(satellite, str) and satellite in rooms:
            return replace(self.actor, device=satellite, room=rooms[satellite])
        return self.actor

    def note(self, utterance: Utterance) -> None:
        """Keep what else an utterance may have been: its words come back to be answered without that."""
        self._heard[utterance.text] = time.monotonic(), utterance

    def utterance(self, text: str) -> Utterance | None:
        """Return the utterance that was heard as `text` a moment ago, once."""
        at, utterance = self._heard.pop(text, (0.0, None))
        return utterance if time.monotonic() - at < HEARD_SECONDS else None


async def _refuse(peer: Peer, troubles: BaseExceptionGroup[AtlasError]) -> None:
    """Say what went wrong, before the connection is closed: stock clients read on until it is."""
    trouble = next(logs.failures_in(troubles))
    trace.line("wyoming refused", error=trouble)
    refusal = error.Error(trouble.spoken, "server_error")
    if isinstance(trouble, RequestError):
        refusal = error.Error(str(trouble), trouble.code)
    with suppress(PeerGone):
        await peer.send(refusal.event())


class Connection:
    """One client, and what it is in the middle of."""

    def __init__(self, service: Service, peer: Peer, tasks: TaskGroup) -> None:
        self._service = service
        self._house = service.house
        self._peer = peer
        self._tasks = tasks
        self._sound: Listening | Detecting | None = None
        self._saying: WyomingSaying | None = None
        self._waiting = anyio.CancelScope()  # for the next event
        self._silent_since = math.inf  # on the clock of the loop; in the future while an event is carried out

    @property
    def idle_seconds(self) -> float:
        """How long this connection has been silent; 0 for one that has work or is in the middle of a request."""
        silent = max(0.0, anyio.current_time() - self._silent_since)
        is_asked = self._sound is not None or self._saying is not None
        return 0.0 if is_asked and silent < SILENT_SECONDS else silent

    def send_away(self) -> None:
        """Have it end, as one that has been silent for too long does."""
        self._waiting.cancel()

    async def run(self) -> None:
        """Carry out events one after the other. Raises `PeerGone`, and `AtlasError` for what cannot be done."""
        verbs: dict[str, Callable[[Event], Awaitable[None]]] = {
            "describe": self._describe,
            "ping": self._ping,
            "transcribe": self._transcribe,
            "detect": self._detect,
            "audio-start": self._audio_start,
            "audio-chunk": self._audio_chunk,
            "audio-stop": self._audio_stop,
            "transcript": self._answer,
            "synthesize": self._synthesize,
            "synthesize-start": self._synthesize_start,
            "synthesize-chunk": self._synthesize_chunk,
            "synthesize-stop": self._synthesize_stop,
        }
        while True:
            event, self._silent_since = None, anyio.current_time()
            with anyio.move_on_after(IDLE_SECONDS) as self._waiting:
                event = await self._peer.receive()
            if event is None:
                raise RequestError(f"nothing came for {self.idle_seconds:.0f} s", code="idle")
            self._silent_since = math.inf
            if verb := verbs.get(event.type):  # what is not known is passed over, as the protocol wants it
                await verb(event)

    async def _describe(self, event: Event) -> None:
        await self._peer.send(described(self._house).event())

    async def _ping(self, event: Event) -> None:
        await self._peer.send(ping.Pong(Fields(event.data).text("text", "")).event())

    # ── sound in ───────────────────────────────────────────────────────────────────────────────────

    async def _transcribe(self, event: Event) -> None:
        self._check_language(event)
        await self._listen(Listening(self._house, self._peer))

    async def _detect(self, event: Event) -> None:
        await self._listen(Detecting(self._house, self._service.actor, self._peer, event))

    async def _listen(self, sound: Listening | Detecting) -> None:
        if isinstance(self._sound, Listening):
            await self._sound.end()
        self._sound = sound

    async def _audio_start(self, event: Event) -> None:
        if self._sound is None:  # who says nothing else wants words
            self._sound = Listening(self._house, self._peer)

    async def _audio_chunk(self, event: Event) -> None:
        if self._sound is None:
            raise RequestError("sound came before transcribe, detect or audio-start", code="invalid_order")
        if isinstance(self._sound, Listening) and not self._sound.reads:
            self._sound.reads = True
            self._tasks.start_soon(self._sound.read_along)
        await self._sound.hear(event)

    async def _audio_stop(self, event: Event) -> None:
        sound, self._sound = self._sound, None
        if isinstance(sound, Listening):
            self._service.note(await sound.finish())
        elif sound is not None:
            await sound.finish()
            self._sound = sound  # whoever waits for a wake word goes on waiting

    # ── answers ────────────────────────────────────────────────────────────────────────────────────

    async def _answer(self, event: Event) -> None:
        fields, context = Fields(event.data), event.data.get("context")
        text = fields.text("text", longest=MAX_CHARACTERS).strip()
        if context is not None and not isinstance(context, dict):
            raise fields.wrong("context", "an object")
        actor = self._service.actor_of(context or {})
        ended = await self._replied(self._turn(text, actor)) if text else TurnEnded("", "failed", "", "command")
        done = handle.Handled if ended.end != "failed" else handle.NotHandled
        await self._peer.send(done(ended.text, context).event())

    def _turn(self, text: str, actor: Actor) -> Turn:
        heard = self._service.utterance(text) or Utterance(text, 0.0)
        return Turn(
            fresh_id("turn"),
            text,
            actor,
            time.time(),
            spoken=True,  # Home Assistant says it by a voice, or shows it
            alternatives=heard.alternatives,
            possible=heard.possible,
            doubtful=heard.doubtful,
            margins=heard.margins,
            language=heard.language,
        )

    async def _replied(self, turn: Turn) -> TurnEnded:
        ends: list[TurnEnded] = []

        async def emit(event: TurnEvent) -> None:
            if isinstance(event, TurnEnded):
                ends.append(event)

        try:
            await self._house.reply(turn, emit)
            await self._house.remember(turn.id, ends[0].text)  # nobody says how much of it was heard
        except RequestError as refused:  # an `error` event is not among what Home Assistant waits for here
            return TurnEnded(turn.id, "failed", refused.spoken, "command")
        return ends[0]

    # ── speech out ─────────────────────────────────────────────────────────────────────────────────

    async def _synthesize(self, event: Event) -> None:
        if self._saying is not None:  # the same words once more, for voices that cannot take them in pieces
            return
        saying = WyomingSaying(self._house, self._peer)
        await saying.add(Fields(event.data).text("text", longest=MAX_TEXT_CHARACTERS))
        await saying.finish()

    async def _synthesize_start(self, event: Event) -> None:
        self._saying = WyomingSaying(self._house, self._peer)

    async def _synthesize_chunk(self, event: Event) -> None:
        if self._saying is None:
            raise RequestError("synthesize-chunk came before synthesize-start", code="invalid_order")
        await self._saying.add(Fields(event.data).text("text", longest=STREAM_CHARACTERS))

    async def _synthesize_stop(self, event: Event) -> None:
        saying, self._saying = self._saying, None
        if saying is not None:
            await saying.finish()
            await self._peer.send(tts.SynthesizeStopped().event())

    def _check_language(self, event: Event) -> None:
        ours = self._house.config.house.spoken
        language = Fields(event.data).text("language", "") or ours[0]
        if language.partition("-")[0].lower() not in ours:
            names = ", ".join(map(repr, ours))
            raise RequestError(f"this house listens in {names}", code="unsupported_language", param="language")
