"""The tool server over MCP: the official SDK on a unix socket, one exchange a call: no call can break another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, TypeVar

import anyio
import httpx2
import mcp.types
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import ResourceUpdated, SubscriptionLost
from pydantic import BaseModel, Discriminator, Tag, TypeAdapter, ValidationError

from atlas.conversation import Actor, SignedAnswer, Tool, ToolCall, ToolResult
from atlas.mcp import adapter
from atlas.own_words import language, own
from wall.logs import failures_in
from wall.strict_json import unbroken

ADDRESS = "http://tools/mcp"  # the host is a name that the server checks; the socket is where it is
PROTOCOL = "2026-07-28"  # every request stands alone: no handshake to repeat after the server restarts
LIST_SECONDS = 30.0  # a list older than this is asked for again: a restarted server may offer other tools
LIST_TIMEOUT_SECONDS = 2.0  # a turn does not wait longer than this to learn what it may use
RESTART_SECONDS = 8.0  # a call that was never sent waits this long for the server; starting one takes 1 to 5 s
RETRY_SECONDS = 0.1
LOOK_SECONDS = 3.0  # without an answer; then it is asked whether it is there at all, which a slow tool does not delay
LOOK_TIMEOUT_SECONDS = 2.0
HEALTH = "http://tools/health"
WATCH_AGAIN_SECONDS = 1.0  # after a stream of changes has ended
VIEWS = {  # what is watched for each kind of thing; the tool server passes over what this agent may not read
    "timers": "timers://active",
    "alarms": "alarms://set",
    "reminders": "reminders://waiting",
    "tasks": "tasks://board",
    "lists": "lists://shopping",  # changes with every list
    "notes": "notes://all",
    "calendar": "calendar://today",  # changes with every day
    "home": "home://devices",
    "asks": "asks://waiting",
}
AWAY = "I can't reach my tools right now, so nothing was done. Please try again in a moment."
LOST = "I lost my tools in the middle of that, so I can't tell whether it was done. Please check."

_NEVER_SENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)
_Answer = TypeVar("_Answer", bound=BaseModel)
_Called = mcp.types.CallToolResult | mcp.types.InputRequiredResult


def _kind(answer: Any) -> str:
    return str(answer.get("resultType", "complete")) if isinstance(answer, dict) else ""


_CALLED: TypeAdapter[_Called] = TypeAdapter(
    Annotated[
        Annotated[mcp.types.CallToolResult, Tag("complete")]
        | Annotated[mcp.types.InputRequiredResult, Tag("input_required")],
        Discriminator(_kind),
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolServerSettings:
    """Where the tool server listens, who we are to it, and how patient we are."""

    socket: Path
    token: str  # bearer token of one agent; never logged
    call_seconds: float = 20.0

    def __repr__(self) -> str:
        return f"Settings(socket={str(self.socket)!r}, token=…, call_seconds={self.call_seconds})"


class _Unreachable(Exception):
    """The exchange failed below MCP. `sent` when the server may have seen the request."""

    def __init__(self, *, sent: bool) -> None:
        super().__init__("may have been sent" if sent else "never sent")
        self.sent = sent


class _Unwelcome(Exception):
    """The tool server does not know our token."""


class McpTools:
    """Keeps the `Tools` contract over one unix socket; sockets are pooled, exchanges are not shared.

    An MCP client owns a task group, and one failed request takes all its neighbours down. With the stateless protocol
    a client costs no round trip, so each call opens its own in the caller's task: about 1 ms more than a kept one
    (3.6 against 2.8), and in return no call breaks another, cancelling one is closing its stream (which is how the
    server is told), and a restarted server needs no reconnecting.
    """

    def __init__(self, settings: ToolServerSettings) -> None:
        self._settings = settings
        self._http = httpx2.AsyncClient(
            transport=httpx2.AsyncHTTPTransport(uds=str(settings.socket), verify=False),
            headers={"authorization": f"Bearer {settings.token}"},
            trust_env=False,  # a proxy of the environment must never see a tool call
            timeout=None,  # call_seconds is the one limit
            event_hooks={"response": [_welcome]},
        )
        self._known: tuple[Tool, ...] = ()
        self._listed_at: float | None = None

    async def listed(self) -> Sequence[Tool]:
        """See `Tools.listed`."""
        if self._listed_at is None or anyio.current_time() - self._listed_at > LIST_SECONDS:
            with anyio.move_on_after(LIST_TIMEOUT_SECONDS):
                await self._list()
        return self._known

    async def call(
        self, call: ToolCall, actor: Actor, turn_id: str, assent: SignedAnswer | None = None, *, tainted: bool = False
    ) -> ToolResult:
        """See `Tools.call`. A call that may have reached the server is repeated only when its tool just reads."""
        result = await self._called(call, actor, turn_id, assent, tainted=tainted)
        return replace(result, text=own(result.text))

    async def _called(
        self, call: ToolCall, actor: Actor, turn_id: str, assent: SignedAnswer | None, *, tainted: bool
    ) -> ToolResult:
        try:
            request = adapter.request(call, actor, turn_id, assent, tainted=tainted, language=language())
        except adapter.NotJson as trouble:
            return adapter.failure(
                call, "invalid", f"The arguments of {unbroken(call.name)} cannot be used: {trouble}."
            )
        with anyio.move_on_after(self._settings.call_seconds):
            return await self._unless_it_hangs(call, request)
        if self._only_reads(call):
            return adapter.failure(call, "timeout", "That took too long, so I gave it up.")
        return adapter.failure(
            call, "timeout", "That took too long, so I gave it up, and I can't tell whether it was done. Please check."
        )

    async def watch(self, changed: Callable[[str], None]) -> None:
        """See `Tools.watch`."""
        kinds = {uri: kind for kind, uri in VIEWS.items()}
        again = False
        while True:
            try:
                connection = streamable_http_client(ADDRESS, http_client=self._http)
                async with (
                    Client(connection, mode=PROTOCOL, cache=None) as client,
                    client.listen(resource_subscriptions=tuple(kinds)) as events,
                ):
                    if again:
                        changed("")
                    again = True
                    async for event in events:
                        if isinstance(event, ResourceUpdated) and event.uri in kinds:
                            changed(kinds[event.uri])
            except* (httpx2.HTTPError, MCPError, SubscriptionLost, _Unwelcome, TimeoutError):
                pass  # it is starting, or was stopped
            await anyio.sleep(WATCH_AGAIN_SECONDS)

    async def aclose(self) -> None:
        """See `Tools.aclose`."""
        await self._http.aclose()

    async def _unless_it_hangs(self, call: ToolCall, request: mcp.types.CallToolRequest) -> ToolResult:
        """Return the answer to a call; a server that does not even say that it is there is not waited for."""
        answers: list[ToolResult] = []
        async with anyio.create_task_group() as tasks:

            async def answered() -> None:
                answers.append(await self._until_answered(call, request))
                tasks.cancel_scope.cancel()

            tasks.start_soon(answered)
            await anyio.sleep(LOOK_SECONDS)
            while await self._is_there():  # noqa: ASYNC110 - another process; it tells nobody
                await anyio.sleep(LOOK_SECONDS)
            tasks.cancel_scope.cancel()
        return answers[0] if answers else adapter.failure(call, "gone", AWAY if self._only_reads(call) else LOST)

    async def _is_there(self) -> bool:
        """Tell whether somebody answers on the socket, or nobody is there at all: then the call itself says so."""
        try:
            with anyio.move_on_after(LOOK_TIMEOUT_SECONDS):
                await self._http.get(HEALTH)
                return True
        except httpx2.HTTPError:
            return True
        return False

    async def _until_answered(self, call: ToolCall, request: mcp.types.CallToolRequest) -> ToolResult:
        patience = anyio.current_time() + RESTART_SECONDS
        repeats = 1 if self._only_reads(call) else 0
        while True:
            try:
                return adapter.result(call, await self._exchange(request, _CALLED))
            except MCPError as error:
                return adapter.refusal(call, error)
            except ValidationError:
                return adapter.failure(
                    call,
                    "failed",
                    "The tool server answered something that I can't read, so I can't tell whether it was done.",
                )
            except _Unwelcome:
                return adapter.failure(
                    call, "denied", "My tools don't know me, so nothing was done. I have to be set up again."
                )
            except _Unreachable as trouble:
                self._listed_at = None
                if trouble.sent and not repeats:
                    return adapter.failure(
                        call,
                        "gone",
                        LOST,
                    )
                repeats -= trouble.sent
            if anyio.current_time() > patience:
                return adapter.failure(call, "gone", AWAY)
            await anyio.sleep(RETRY_SECONDS)

    async def _list(self) -> None:
        tools: list[mcp.types.Tool] = []
        cursor: str | None = None
        try:
            while True:
                params = mcp.types.PaginatedRequestParams(cursor=cursor)
                page = await self._exchange(mcp.types.ListToolsRequest(params=params), mcp.types.ListToolsResult)
                tools += page.tools
                if not (cursor := page.next_cursor):
                    break
        except (MCPError, ValidationError, _Unreachable, _Unwelcome):
            return  # the last known list stands
        self._known, self._listed_at = adapter.tools(tools), anyio.current_time()

    def _only_reads(self, call: ToolCall) -> bool:
        return any(tool.read_only for tool in self._known if tool.name == call.name)

    async def _exchange(
        self, request: mcp.types.ClientRequest, answer: type[_Answer] | TypeAdapter[_Answer]
    ) -> _Answer:
        """Return the answer to one request, or raise `MCPError`, `ValidationError`, `_Unreachable` or `_Unwelcome`."""
        troubles: list[BaseException] = []
        try:
            connection = streamable_http_client(ADDRESS, http_client=self._http)
            async with Client(connection, mode=PROTOCOL, cache=None) as client:
                return await client.session.send_request(request, answer)
        except* (httpx2.HTTPError, MCPError, ValidationError, _Unwelcome) as group:
            troubles = list(failures_in(group))
        raise _clearest(troubles) from troubles[0]


def _clearest(troubles: Sequence[BaseException]) -> BaseException:
    """Return the one exception that says most about a failed exchange."""
    for trouble in troubles:
        if isinstance(trouble, httpx2.HTTPError):
            return _Unreachable(sent=not isinstance(trouble, _NEVER_SENT))
    for trouble in troubles:
        if isinstance(trouble, MCPError) and trouble.code == mcp.types.CONNECTION_CLOSED:
            return _Unreachable(sent=True)
    return troubles[0]


async def _welcome(response: httpx2.Response) -> None:
    if response.status_code == httpx2.codes.UNAUTHORIZED:  # the SDK would call it an internal error
        raise _Unwelcome


async def open(settings: ToolServerSettings) -> McpTools:
    """Return the connection and look once what may be used; a server that is still starting is asked again later."""
    tools = McpTools(settings)
    await tools.listed()
    return tools
