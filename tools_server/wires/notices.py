"""Sends change notices: who watches which resource, in both eras of the protocol, and when a tool changed it.

A notice says only "this may read differently now". So notices that wait are merged, a client that does not read
delays nobody but itself, and none is ever repeated.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import mcp.types as types
from anyio.abc import TaskGroup
from mcp.server.context import ServerRequestContext
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    ToolsListChanged,
)
from mcp.shared.exceptions import MCPError

from tools_server.gate.gate import Gate
from tools_server.values.policy import AgentAccount
from tools_server.wires.resources import Resources

STREAMS = 128  # modern clients listening at a time
STREAMS_PER_AGENT = 32  # so that one agent leaves room for the others
WAITING = 256  # events of one of them that wait to be read
WATCHED = 100  # addresses of one client
LIST_CHANGED = "*"  # what the gate's listeners are told when there are other tools now

Context = ServerRequestContext[Any, Any]


@dataclass(eq=False)
class Post:
    """One connection of the older era, and what it is to be told."""

    session: Any  # the SDK's ServerSession: it outlives the request that it came with
    watched: set[str] = field(default_factory=set)
    waiting: set[str] = field(default_factory=set)
    wake: anyio.Event = field(default_factory=anyio.Event)

    def put(self, what: str) -> None:
        """Have it told; what waits already is told once."""
        self.waiting.add(what)
        self.wake.set()

    async def deliver(self) -> None:
        """Tell what waits, until cancelled."""
        while True:
            await self.wake.wait()
            self.wake = anyio.Event()
            while self.waiting:
                what = self.waiting.pop()
                if what == LIST_CHANGED:
                    await self.session.send_tool_list_changed()
                    await self.session.send_resource_list_changed()
                    await self.session.send_prompt_list_changed()
                else:
                    await self.session.send_resource_updated(what)


class Notices(InMemorySubscriptionBus):
    """Everyone who watches, over one gate. It tells nobody before `open`."""

    def __init__(self, gate: Gate, resources: Resources) -> None:
        super().__init__()
        self._resources = resources
        self._posts: dict[int, Post] = {}  # by connection
        self._heard: Counter[str] = Counter()  # addresses that modern clients listen for
        self._listen = ListenHandler(self, max_subscriptions=STREAMS, max_buffered_events=WAITING)
        self._streams: Counter[str] = Counter()  # by agent
        self._tasks: TaskGroup | None = None
        gate.listeners.append(self.changed)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Deliver, inside the block, what older connections are to be told."""
        async with anyio.create_task_group() as self._tasks:
            yield
            self.close()
            self._tasks.cancel_scope.cancel()

    def close(self) -> None:
        """End every stream of the newer era with a last word, so that nobody takes it for an accident."""
        self._listen.close()

    def changed(self, tool: str) -> None:
        """Hear from the gate that a tool changed something, or that there are other tools."""
        if tool == LIST_CHANGED:
            for post in self._posts.values():
                post.put(LIST_CHANGED)
            for event in (ToolsListChanged(), ResourcesListChanged(), PromptsListChanged()):
                self._tell(event)  # resources and prompts are there because their tools are
            return
        for post in self._posts.values():
            for uri in post.watched:
                if self._resources.changed(uri, tool):
                    post.put(uri)
        for uri in list(self._heard):
            if self._resources.changed(uri, tool):
                self._tell(ResourceUpdated(uri=uri))

    # ── the era of sessions ────────────────────────────────────────────────────────────────────────

    def acquaint(self, context: Context) -> Post:
        """Remember a connection for as long as it lasts: who has listed the tools wants to know when they change."""
        connection = context.session._connection  # the SDK keeps it private, and nothing else lives as long
        post = self._posts.get(id(connection))
        if post is None:
            post = self._posts[id(connection)] = Post(context.session)
            connection.exit_stack.callback(self._posts.pop, id(connection), None)
            assert self._tasks is not None, "requests come after the start"
            scope = anyio.CancelScope()
            connection.exit_stack.callback(scope.cancel)
            self._tasks.start_soon(_within, scope, post.deliver)
        return post

    def subscribe_address(self, context: Context, agent: AgentAccount, uri: str) -> None:
        """Watch an address until the connection ends. Raises `MCPError` for one that the agent may not read."""
        if not self._resources.may_read(agent, uri):
            raise MCPError(code=types.INVALID_PARAMS, message="There is no such resource.", data={"uri": uri})
        post = self.acquaint(context)
        if len(post.watched) >= WATCHED:
            raise MCPError(code=types.INVALID_REQUEST, message=f"At most {WATCHED} resources are watched at a time.")
        post.watched.add(uri)

    def unsubscribe_address(self, context: Context, uri: str) -> None:
        """Watch it no longer."""
        self.acquaint(context).watched.discard(uri)

    # ── the era of streams ─────────────────────────────────────────────────────────────────────────

    async def listen(
        self, context: Context, agent: AgentAccount, parameters: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """Serve one stream of events until its client leaves. Only what the agent may read is promised."""
        if self._streams[agent.name] >= STREAMS_PER_AGENT:
            raise MCPError(
                code=types.INVALID_REQUEST, message=f"At most {STREAMS_PER_AGENT} streams are open at a time."
            )
        requests = parameters.notifications.resource_subscriptions or []
        uris = [uri for uri in dict.fromkeys(requests) if self._resources.may_read(agent, uri)][:WATCHED]
        narrowed = parameters.notifications.model_copy(update={"resource_subscriptions": uris})
        self._heard.update(uris)
        self._streams[agent.name] += 1
        try:
            return await self._listen(context, parameters.model_copy(update={"notifications": narrowed}))
        finally:
            self._heard -= Counter(uris)
            self._streams[agent.name] -= 1

    def _tell(self, event: ServerEvent) -> None:
        """Tell every stream, at once: the bus's own `publish` is for who can wait."""
        for listener in list(self._listeners.values()):
            listener(event)


async def _within(scope: anyio.CancelScope, run: Callable[[], Any]) -> None:
    with scope:
        await run()
