"""/v1/realtime: the Realtime protocol of OpenAI over a WebSocket, to and from one voice session."""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import replace
from typing import Any

import anyio
from starlette.routing import BaseRoute, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from atlas import trace
from atlas.conversation import Actor, ClientTools, Turn, fresh_id
from atlas.errors import AtlasError, RequestError
from atlas.events import Emit, Event
from atlas.fields import Fields, Json, wrong
from atlas.gateway import realtime_settings as settings
from atlas.gateway.auth import require, secret_of, subprotocol_of
from atlas.gateway.chat import ANY_AGENT, MAX_NAME_CHARACTERS, agent_for, speaking_for
from atlas.gateway.failures import failure_of
from atlas.gateway.files import FileWork, GoesFirst
from atlas.gateway.realtime_calls import ClientCalls
from atlas.gateway.realtime_items import one_text, read_item, text_of
from atlas.gateway.realtime_responses import check_length, like_session, read_response
from atlas.gateway.realtime_room import RoomClient
from atlas.gateway.realtime_sound import Inward, SoundPace
from atlas.gateway.realtime_wire import SessionView, added_and_done, error, message, truncated
from atlas.gateway.voice_session import voice_session
from atlas.gateway.wire import depth, json_object
from atlas.house import House
from atlas.speech.wake_rooms import wake_room
from atlas.voice.options import ReplyOptions
from wall.roles import may

SESSION_SECONDS = 60 * 60  # as OpenAI's
MESSAGE_BYTES = 4 * 1024 * 1024  # a minute of sound in one message; parsing more would make other sessions stutter
WAITING_GROUPS = 64  # of messages that wait for a slow reader …
SEND_SECONDS = 10.0  # … and how long; a client that reads nothing for so long is gone
STEP_SECONDS = 1  # of sound that is resampled at a time, so that a long message stops nobody else
ASKING_SECONDS = 5.0  # from a tool's output to the request for a response; programs that want one send both at once
MOST_RANG = 64  # that a room rang by itself while the house was away
MAX_DEPTH = 16  # the deepest field of the protocol lies at 6
POLICY_VIOLATION, NORMAL, SERVICE_RESTART = 1008, 1000, 1012  # codes of RFC 6455, section 7.4.1, and IANA's list


def routes(house: House, files: FileWork) -> list[BaseRoute]:
    """Return the URLs of this door."""

    async def realtime(websocket: WebSocket) -> None:
        try:
            query = Fields({name: value for name, value in websocket.query_params.items() if value})
            actor = speaking_for(require(websocket), query)
            model = query.text("model", ANY_AGENT, MAX_NAME_CHARACTERS)
            agent = agent_for(query.text("agent", model, MAX_NAME_CHARACTERS), actor, house)
        except AtlasError as trouble:
            await websocket.send_denial_response(failure_of(trouble).reply())
            return
        await websocket.accept(subprotocol=subprotocol_of(websocket))
        await RealtimeConnection(websocket, house, files, actor, model, agent).run()

    return [WebSocketRoute("/v1/realtime", realtime)]


class RealtimeConnection:
    """One client: its session object, its view of the conversation, and the voice session that does the work."""

    def __init__(
        self, websocket: WebSocket, house: House, files: FileWork, actor: Actor, model: str, agent: str
    ) -> None:
        self._websocket = websocket
        self._house = house
        self._own = settings.own_of(house)
        expires = int(time.time()) + SESSION_SECONDS
        self._object = settings.opening(fresh_id("sess"), model, self._own, expires)
        if websocket.query_params.get("intent") == "transcription":
            self._object["type"] = "transcription"
        self._calls = ClientCalls()
        self._output: Json = {}  # the item of what came of the last call that a turn waits for
        self._conversation_id = fresh_id("conv")
        self._wire = SessionView(
            self._conversation_id, lambda: like_session(self._object), house.tts.voice, house.tts.rate
        )
        self._inward = Inward("audio/pcm")
        self._pace = SoundPace(anyio.current_time())
        self._goes_first = GoesFirst(files)
        self._typed: list[Json] = []  # user items that no response has answered yet
        self._outbox, self._inbox = anyio.create_memory_object_stream[list[str] | int](WAITING_GROUPS)
        self._hears_wake_words = websocket.query_params.get("wake") == "true"
        self._session = voice_session(
            house,
            actor,
            self._tell,
            settings.options(self._object),
            wake=house.hears_wake_words(actor) if self._hears_wake_words else None,
            reply=self._reply,
            wish=ReplyOptions(agent=agent),
        )
        self._until_over = ExitStack()
        self._room = RoomClient(self._session, house, self._put)

    async def run(self) -> None:
        """Serve until the client goes, its token is taken back, or its hour is over."""
        conversation = {"id": self._conversation_id, "object": "realtime.conversation"}
        await self._put(message("session.created", session=self._object))
        await self._put(message("conversation.created", conversation=conversation))
        actor = self._session.actor
        secret = secret_of(self._websocket)
        with self._until_over as until_all_is_over:
            async with anyio.create_task_group() as tasks:
                self._tasks = tasks

                async def until(over: Callable[[], Awaitable[int | None]]) -> None:
                    if code := await over():
                        await self._queue(code)
                    else:
                        tasks.cancel_scope.cancel()

                tasks.start_soon(until, self._send)
                if may(actor.role, "reside"):
                    tasks.start_soon(self._goes_first.run)
                tasks.start_soon(until, self._over)
                tasks.start_soon(until, self._expired)
                await tasks.start(self._session.run)
                if secret and secret.session:
                    await self._update({"session": secret.session})
                if self._hears_wake_words:
                    until_all_is_over.enter_context(self._tuned())
                if self._websocket.query_params.get("announce") != "false":  # somebody listens
                    room = self._room
                    device = self._house.speaking_device(
                        actor.device,
                        actor.room,
                        room.say,
                        ring=room.ring,
                        expect=room.expect,
                        resides=may(actor.role, "reside"),
                        person=actor.person,
                        play=room.play,
                        device_id=actor.device_id,
                    )
                    until_all_is_over.enter_context(device)
                await self._receive()
                tasks.cancel_scope.cancel()

    async def _over(self) -> int:
        open_connection = self._websocket.state.open_connection
        await open_connection.over.wait()
        if open_connection.may_return:
            return SERVICE_RESTART
        gone = RequestError("this token was taken back", code="invalid_api_key")
        await self._put(error(gone, None))
        return POLICY_VIOLATION

    async def _expired(self) -> int:
        await anyio.sleep(SESSION_SECONDS)
        over = RequestError("a session lasts 60 minutes", code="session_expired", hint="connect again")
        await self._put(error(over, None))
        return NORMAL

    async def _reply(self, turn: Turn, emit: Emit) -> None:
        heeded = self._room.heeds(turn.text)
        if heeded and self._room.rang_timer and self._house.wants_silence(turn.text):
            return
        if heeded or turn.channel != "voice":
            await self._house.reply(turn, emit)

    # ── out ────────────────────────────────────────────────────────────────────────────────────────

    async def _tell(self, event: Event) -> None:
        self._goes_first.note(event)
        # In one group: a ring without the response that it is about would make one of the next.
        await self._put(*self._room.note(event), *self._wire.messages(event, trace.current().milliseconds()))

    async def _put(self, *messages: Json) -> None:
        """Queue messages for the client, side by side."""
        # Written out at once: the items in them go on changing.
        await self._queue([json.dumps(one, ensure_ascii=False, separators=(",", ":")) for one in messages])

    async def _queue(self, group: list[str] | int) -> None:
        """Queue messages, or the code to close with; when the client is gone they go nowhere."""
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            await self._outbox.send(group)

    async def _send(self) -> None:
        """Write what is queued, until the client is gone or has read nothing for `SEND_SECONDS`."""
        async with self._inbox:
            async for group in self._inbox:
                with anyio.move_on_after(SEND_SECONDS) as patience:
                    try:
                        if isinstance(group, int):
                            await self._websocket.close(group)
                            return
                        for text in group:
                            await self._websocket.send_text(text)
                    except WebSocketDisconnect:
                        return
                if patience.cancelled_caught:
                    trace.line("client stopped reading", device=self._session.actor.device)
                    return

    # ── in ─────────────────────────────────────────────────────────────────────────────────────────

    async def _receive(self) -> None:
        """Carry out client events one after the other; the next is not read before, so nothing piles up."""
        while True:
            frame = await self._websocket.receive()
            if frame["type"] == "websocket.disconnect":
                return
            event_id: str | None = None
            try:
                event = _read(frame)
                identity = event.get("event_id")
                event_id = identity[:512] if isinstance(identity, str) else None
                await self._carry_out(event)
            except RequestError as trouble:
                await self._put(error(trouble, event_id))
            except AtlasError as trouble:
                trace.line("client event failed", device=self._session.actor.device, error=trouble)
                await self._put(error(RequestError(trouble.spoken, code="server_error", hint=trouble.hint), event_id))

    async def _carry_out(self, event: Json) -> None:
        kind = event.get("type")
        if not isinstance(kind, str):
            raise RequestError("type is missing", code="missing_required_parameter", param="type")
        verbs: dict[str, Callable[[Json], Awaitable[None]]] = {
            "session.update": self._update,
            "input_audio_buffer.append": self._append,
            "input_audio_buffer.commit": self._commit,
            "input_audio_buffer.clear": self._clear,
            "conversation.item.create": self._create_item,
            "conversation.item.retrieve": self._retrieve_item,
            "conversation.item.delete": self._delete_item,
            "conversation.item.truncate": self._truncate_item,
            "response.create": self._respond,
            "response.cancel": self._cancel,
            "output_audio_buffer.clear": self._clear_output,
            "atlas.hello": self._hello,
            "atlas.wake": self._room.wake,
            "atlas.call": self._room.call,
            "atlas.sleep": self._room.sleep,
            "atlas.played": self._room.played,
            "atlas.silence": self._room.silence,
            "atlas.mute": self._mute,
            "atlas.rang": self._rang,
        }
        if kind not in verbs:
            raise RequestError(
                f"there is no client event {kind[:100]!r}",
                code="unknown_event",
                param="type",
                hint=f"there are {', '.join(verbs)}",
            )
        await verbs[kind](event)

    async def _mute(self, event: Json) -> None:
        self._session.mute()  # who reads on wants the words of the reply, and no more sound

    async def _hello(self, event: Json) -> None:
        if not self._room.is_there:
            self._until_over.enter_context(self._logged())
            self._until_over.enter_context(self._tuned())
        if not self._room.is_there and may(self._session.actor.role, "reside"):  # who would answer for every room
            self._until_over.enter_context(self._house.nearest.present(self._room))
        await self._room.hello(event)
        self._house.speakers_changed()

    def _tuned(self) -> AbstractContextManager[None]:
        """Have the room go by new thresholds of wake words as soon as they are set."""
        return self._house.wakes.present(wake_room(self._session.actor), self._room.tell_thresholds)

    @contextmanager
    def _logged(self) -> Iterator[None]:
        """Have the log say when a room comes and goes, and what went on there at that moment."""
        actor = self._session.actor
        trace.line("room joined", device=actor.device, room=actor.room)
        try:
            yield
        finally:
            trace.line("room left", device=actor.device, room=actor.room, state=self._session.state.value)

    async def _rang(self, event: Json) -> None:
        ids = event.get("ids")
        if not isinstance(ids, list) or len(ids) > MOST_RANG or not all(map(_is_name, ids)):
            raise wrong("ids", f"a list of at most {MOST_RANG} ids", ids)
        self._house.rang(self._session.actor.device_key, self._session.actor.room, ids)

    # ── session ────────────────────────────────────────────────────────────────────────────────────

    async def _update(self, event: Json) -> None:
        changed = settings.merged(self._object, _needed(event, "session"), self._own)
        warnings = self._warnings(changed["tools"], "session.tools")
        changed["tools"] = [] if warnings else changed["tools"]
        formats = [whole["audio"]["output"]["format"]["type"] for whole in (self._object, changed)]
        if self._wire.response is not None and formats[0] != formats[1]:
            raise RequestError(
                "the output format cannot change in the middle of a response",
                code="invalid_value",
                param="session.audio.output.format",
            )
        self._object = changed
        kind = changed["audio"]["input"]["format"]["type"]
        if kind != self._inward.format_name:
            self._inward = Inward(kind)
        self._wire.transcribes = changed["audio"]["input"]["transcription"] is not None
        self._session.wish = replace(
            self._session.wish,
            client_tools=self._bring(changed),
            max_tokens=settings.tokens(changed["max_output_tokens"]),
            temperature=changed.get("temperature"),
        )
        self._go_by_items()
        await self._session.configure(settings.options(changed))
        await self._put(message("session.updated", session=changed), *warnings)

    def _bring(self, session: Json) -> ClientTools | None:
        """Return the tools that the client brings, whose calls it will be told to make; none to who may use none."""
        if not (tools := settings.client_tools(session)) or not self._uses_tools:
            return None
        offered = ClientTools(tools, self._calls.call)
        self._wire.client_tools |= offered.names
        return offered

    @property
    def _uses_tools(self) -> bool:
        config, agent = self._house.config, self._session.wish.agent or self._house.config.house.agent
        return config.llm[config.agents[agent].llm].tools

    def _warnings(self, tools: Any, param: str) -> list[Json]:
        """Return what is said about tools that are left out."""
        if not tools or self._uses_tools:
            return []
        text = "the model of this house may not use tools, so yours are left out; the house's own work without it"
        return [message("atlas.warning", code="tools_left_out", message=text, param=param)]

    def _go_by_items(self) -> None:
        """Let what the client noted in items count from now on."""
        self._session.wish = replace(
            self._session.wish,
            instructions=self._wire.items.instructions(self._object["instructions"]),
            tainted=self._wire.items.may_be_untrusted,
        )

    # ── sound ──────────────────────────────────────────────────────────────────────────────────────

    async def _append(self, event: Json) -> None:
        text = _needed(event, "audio")
        if not isinstance(text, str):
            raise wrong("audio", "base64 in a text", text, "invalid_type")
        sound = self._inward.unpack(text)
        await anyio.sleep(self._pace.delay(sound.seconds, anyio.current_time()))
        step = sound.rate * STEP_SECONDS
        for start in range(0, sound.samples, step):
            await self._session.hear(self._inward.heard(sound.cut(start, start + step)))

    async def _commit(self, event: Json) -> None:
        await self._session.commit()

    async def _clear(self, event: Json) -> None:
        await self._session.clear()
        await self._put(message("input_audio_buffer.cleared"))

    async def _clear_output(self, event: Json) -> None:
        raise RequestError(
            "output_audio_buffer.clear is for WebRTC and SIP; on a WebSocket the client owns the playback",
            code="unsupported",
            param="type",
            hint="send response.cancel, then conversation.item.truncate with what was played",
        )

    # ── items ──────────────────────────────────────────────────────────────────────────────────────

    async def _create_item(self, event: Json) -> None:
        item = read_item(_needed(event, "item"))
        after = event.get("previous_item_id")
        if after is not None and not isinstance(after, str):
            raise wrong("previous_item_id", "a text", after, "invalid_type")
        before, is_first = self._wire.items.add(item, after), not self._calls.are_answered
        if item.get("role") == "user":
            self._typed = [*(one for one in self._typed if one["id"] in self._wire.items), item]
        elif item["type"] == "function_call_output" and self._calls.note(item["call_id"], item["output"]):
            if is_first:
                self._output = item
                self._tasks.start_soon(self._end_unless_asked, item)
        else:
            self._wire.items.note(item)
        self._note_history()
        await self._put(*added_and_done(item, before))

    def _note_history(self) -> None:
        """Take typed words that an answer of the client's stands behind for a history that it brings."""
        earlier = self._wire.items.before_answers()
        for item in self._typed:
            if item["id"] in earlier:
                self._wire.items.note(item)
        self._go_by_items()

    async def _retrieve_item(self, event: Json) -> None:
        item = self._wire.items.get(_needed(event, "item_id"))
        await self._put(message("conversation.item.retrieved", item=item))

    async def _delete_item(self, event: Json) -> None:
        item = self._wire.items.get(_needed(event, "item_id"))
        await self._wait_until_over(item)
        self._wire.items.remove(item["id"])
        self._typed = [typed for typed in self._typed if typed is not item]
        if turn_id := self._wire.turn_of_item.pop(item["id"], ""):
            await self._house.remember(turn_id, "")  # what the client deletes, the agent shall not go by
        self._go_by_items()
        await self._put(message("conversation.item.deleted", item_id=item["id"]))

    async def _truncate_item(self, event: Json) -> None:
        item = self._wire.items.get(_needed(event, "item_id"))
        end = _needed(event, "audio_end_ms")
        if type(end) is not int or end < 0:
            raise wrong("audio_end_ms", "a whole number, not negative", end)
        if event.get("content_index", 0) != 0:
            raise wrong("content_index", "0", event["content_index"])
        await self._wait_until_over(item)
        turn_id = self._wire.turn_of_item.get(item["id"], "")
        item["content"][0]["transcript"] = await self._session.truncate(turn_id, end)
        await self._put(truncated(item["id"], end))

    async def _wait_until_over(self, item: Json) -> None:
        """Wait for an item that is being cut short. Raises `RequestError` for one that is still made."""
        await self._session.settled()
        if item["status"] == "in_progress":
            raise RequestError(
                f"item {item['id']!r} is still being made",
                code="item_in_progress",
                param="item_id",
                hint="send response.cancel first",
            )

    # ── responses ──────────────────────────────────────────────────────────────────────────────────

    async def _respond(self, event: Json) -> None:
        if self._object["type"] == "transcription":
            raise RequestError("a transcription session answers nothing", code="unsupported", param="type")
        given = event.get("response")
        options, wish = read_response(
            {} if given is None else given, self._object, self._own, self._wire.items, self._bring
        )
        if self._calls.are_answered and wish.remembered:  # the turn that asked for them goes on
            if self._typed and self._wire.items.is_behind(self._typed[-1], self._output):
                await self._end_waiting_turn()  # who asks something new wants no word about the call
                await self._respond(event)
                return
            await self._put(*self._wire.resumed())
            self._calls.go_on()
            return
        await self._put(*self._warnings((given or {}).get("tools"), "response.tools"))
        unanswered = [item for item in self._typed if not self._wire.items.is_noted(item)] or self._typed
        typed = unanswered if wish.remembered else []
        if typed:
            wish = replace(wish, text=one_text(map(text_of, typed)))
        check_length(wish)
        self._wire.options_by_turn[wish.turn_id] = options
        try:
            await self._session.respond(wish)
        except RequestError:
            del self._wire.options_by_turn[wish.turn_id]
            raise
        if typed:
            self._typed = []

    async def _end_unless_asked(self, output: Json) -> None:
        """End a turn whose program answered its call and then asks for no response: it wants none."""
        await anyio.sleep(ASKING_SECONDS)
        if self._calls.are_answered and self._output is output:
            await self._end_waiting_turn()

    async def _end_waiting_turn(self) -> None:
        """End the turn that waits for its program to ask for a response, and go by what came of the call."""
        self._wire.items.note(self._output)
        self._go_by_items()
        with suppress(RequestError):  # somebody spoke, and it is over
            await self._session.cancel()

    async def _cancel(self, event: Json) -> None:
        response, wanted = self._wire.response, event.get("response_id")
        if wanted is not None and (response is None or wanted != response.id):
            raise RequestError(
                f"no response {wanted!r} is under way", code="response_cancel_not_active", param="response_id"
            )
        await self._session.cancel()


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= MAX_NAME_CHARACTERS


def _read(frame: Any) -> Json:
    """Return the client event in a WebSocket message. Raises `RequestError` for what is none."""
    text = frame.get("text")
    if text is None:
        raise RequestError(
            "binary messages are not part of the protocol", code="invalid_message", hint="send JSON in text messages"
        )
    if len(text) > MESSAGE_BYTES:
        raise RequestError(
            f"a message of {len(text)} characters; {MESSAGE_BYTES} is the most",
            code="message_too_large",
            hint="send sound in pieces of a second or less",
        )
    event = json_object(text, "the message")
    if depth(event) > MAX_DEPTH:
        raise RequestError(f"the event is nested more than {MAX_DEPTH} deep", code="invalid_json")
    return event


def _needed(event: Json, name: str) -> Any:
    if event.get(name) is None:
        raise RequestError(f"{name} is missing", code="missing_required_parameter", param=name)
    return event[name]
