"""MCP ⇄ the gate: what a client lists and calls, whichever wire it came by."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeVar

import mcp.types as types
from mcp.server.context import CallNext, HandlerResult
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from tools_server.gate.call_request import CallRequest, CallResult
from tools_server.gate.gate import Gate
from tools_server.sdk.toolkit import ToolFailed, ToolSpec
from tools_server.values.policy import AgentAccount
from tools_server.values.wire_names import DOCUMENTED, wire_name
from tools_server.wires.notices import Context, Notices
from tools_server.wires.prompt_files import FOLDER as PROMPTS
from tools_server.wires.prompt_files import SOURCES, PromptFiles, Source
from tools_server.wires.resources import VIEWS, Resources, View
from tools_server.wires.wire_asks import asking, can_be_asked, reply_of
from wall.meta import (
    ACTOR_META,
    ALIAS_META,
    ASK_META,
    CODE_META,
    DATA_META,
    ERROR_META,
    LANGUAGE_META,
    RECEIPT_META,
    TAINTED_META,
    TOOL_META,
    TURN_META,
    UNTRUSTED_META,
)

logger = logging.getLogger(__name__)
AGENT_SCOPE = "atlas.agent"  # where the ASGI scope carries who came
WANTED_SCOPE = "atlas.wanted"  # and what is cancelled when they leave

P = TypeVar("P")
R = TypeVar("R")


class HouseServer(Server[Any]):
    """The SDK's server, which in the era of sessions promises no list_changed unless it is told to."""

    def __init__(self, name: str, notices: Notices, **handlers: Any) -> None:
        super().__init__(name, **handlers)
        self._notices = notices

    def end_streams(self) -> None:
        """Tell those who listen, in the newer era, that this is the end."""
        self._notices.close()

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        """Say that lists may change: an upstream server brings its tools while this one runs."""
        promised = notification_options or NotificationOptions(True, True, True)
        return super().create_initialization_options(promised, experimental_capabilities, extensions)


class GateHandlers:
    """What a client asks for, answered by a gate. `alone` is the one agent of a stdio process.

    Raises `BootFailed` when a file of `prompts` is none.
    """

    def __init__(
        self,
        gate: Gate,
        alone: AgentAccount | None,
        views: Sequence[View],
        prompts: Path,
        sources: Mapping[str, Source],
    ) -> None:
        self._gate = gate
        self._alone = alone
        self._resources = Resources(gate, views)
        self._templates = PromptFiles(gate, self._resources, prompts, sources)
        self.notices = Notices(gate, self._resources)

    async def list_tools(self, context: Context, _: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        """Show the tools that the agent and its actor may see."""
        if context.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            self.notices.acquaint(context)
        try:
            shown = self._gate.visible_to(self._agent(context), (context.meta or {}).get(ACTOR_META))
        except ToolFailed as unreadable:
            raise MCPError(code=types.INVALID_PARAMS, message=str(unreadable)) from unreadable
        return types.ListToolsResult(tools=sorted(_listed(shown), key=lambda tool: tool.name))

    async def call_tool(
        self, context: Context, parameters: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        """Call a tool through the gate, or put its question to a client that can ask a person."""
        request = self._request(context, parameters.name, parameters.arguments)
        answer = await self._gate.call(replace(request, reply=reply_of(parameters)))
        if answer.ask and can_be_asked(context):
            return asking(answer.ask, _meta(answer))
        return _result(answer)

    async def list_resources(
        self, context: Context, _: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        """List what the agent may read."""
        return types.ListResourcesResult(resources=self._resources.listed(self._agent(context)))

    async def list_templates(
        self, context: Context, _: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        """List the addresses with a part that the client fills in."""
        return types.ListResourceTemplatesResult(resource_templates=self._resources.templates(self._agent(context)))

    async def read_resource(
        self, context: Context, parameters: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult | types.InputRequiredResult:
        """Read an address."""
        return await self._resources.read(self._request(context), parameters.uri)

    async def subscribe(self, context: Context, parameters: types.SubscribeRequestParams) -> types.EmptyResult:
        """Tell this client from now on when an address changes."""
        self.notices.subscribe_address(context, self._agent(context), parameters.uri)
        return types.EmptyResult()

    async def unsubscribe(self, context: Context, parameters: types.UnsubscribeRequestParams) -> types.EmptyResult:
        """Tell it no more."""
        self.notices.unsubscribe_address(context, parameters.uri)
        return types.EmptyResult()

    async def listen(
        self, context: Context, parameters: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """Stream what changes, until the client goes."""
        return await self.notices.listen(context, self._agent(context), parameters)

    async def list_prompts(self, context: Context, _: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
        """List the prompts whose sources the agent may read."""
        return types.ListPromptsResult(prompts=self._templates.listed(self._agent(context)))

    async def get_prompt(
        self, context: Context, parameters: types.GetPromptRequestParams
    ) -> types.GetPromptResult | types.InputRequiredResult:
        """Fill in a prompt."""
        return await self._templates.get(self._request(context), parameters.name, parameters.arguments)

    async def complete(self, context: Context, parameters: types.CompleteRequestParams) -> types.CompleteResult:
        """Complete a value of a prompt or an address."""
        what, argument = parameters.ref, parameters.argument
        if isinstance(what, types.PromptReference):
            values = self._templates.complete(self._agent(context), what.name, argument.name, argument.value)
        else:
            values = self._resources.complete(self._agent(context), what.uri, argument.name, argument.value)
        return types.CompleteResult(completion=types.Completion(values=values[:100], total=len(values)))

    def _agent(self, context: Context) -> AgentAccount:
        if self._alone is not None:
            return self._alone
        assert context.request is not None, "HTTP requests come as requests"
        result = context.request.scope[AGENT_SCOPE]
        assert isinstance(result, AgentAccount), "no request comes this far without a token"
        return result

    def _request(self, context: Context, tool: str = "", arguments: Mapping[str, Any] | None = None) -> CallRequest:
        meta: Mapping[str, Any] = context.meta or {}
        return CallRequest(
            agent=self._agent(context),
            tool=tool,
            arguments=arguments,
            actor=meta.get(ACTOR_META),
            turn=meta.get(TURN_META),
            tainted=meta.get(TAINTED_META),
            language=meta.get(LANGUAGE_META),
            route=f"{context.protocol_version} {'stdio' if self._alone else 'http'}",
            wire=context,
            trace=meta.get("traceparent"),
        )


def mcp_server(
    gate: Gate,
    alone: AgentAccount | None = None,
    views: Sequence[View] = VIEWS,
    prompts: Path = PROMPTS,
    sources: Mapping[str, Source] = SOURCES,
) -> HouseServer:
    """Return the protocol's side of a gate, as `GateHandlers` answer for it."""
    handlers = GateHandlers(gate, alone, views, prompts, sources)

    @asynccontextmanager
    async def lifespan(_: Server[Any]) -> AsyncIterator[dict[str, Any]]:
        async with handlers.notices.open():
            yield {}

    server = HouseServer(
        "atlas-tools",
        handlers.notices,
        version=own_version(),
        title="Atlas",
        instructions="The tools of a house. What cannot be taken back needs a person's yes.",
        lifespan=lifespan,
        on_list_tools=handlers.list_tools,
        on_call_tool=_while_wanted(handlers.call_tool),
        on_list_resources=handlers.list_resources,
        on_list_resource_templates=handlers.list_templates,
        on_read_resource=_while_wanted(handlers.read_resource),
        on_subscribe_resource=handlers.subscribe,
        on_unsubscribe_resource=handlers.unsubscribe,
        on_subscriptions_listen=handlers.listen,
        on_list_prompts=handlers.list_prompts,
        on_get_prompt=_while_wanted(handlers.get_prompt),
        on_completion=handlers.complete,
        get_tool_input_schema=gate.schema,  # without it, every call lists all tools first
    )
    server.middleware[:] = [_veiled]  # in place of OpenTelemetry's: nothing in the house collects spans
    return server


def _while_wanted(handle: Callable[[Context, P], Awaitable[R]]) -> Callable[[Context, P], Awaitable[R]]:
    """Cancel a handler when its HTTP client has gone: in the era of sessions it runs in the session's own task."""

    async def handled(context: Context, parameters: P) -> R:
        wanted = context.request.scope.get(WANTED_SCOPE) if context.request is not None else None
        if wanted is None:
            return await handle(context, parameters)
        with wanted:
            return await handle(context, parameters)
        raise MCPError(code=types.INTERNAL_ERROR, message="The client has gone.")  # and hears this no more

    return handled


def _listed(shown: Sequence[ToolSpec]) -> Iterator[types.Tool]:
    """Yield the tools as clients are shown them, some also by the names that they have in the source documents."""
    yield from map(_described, shown)
    by_name = {spec.name: spec for spec in shown}
    for documented, (tool, arguments) in DOCUMENTED.items():
        if spec := by_name.get(tool):
            known = spec.schema["properties"]
            schema = {
                "type": "object",
                "properties": {name: known[inner] for name, inner in arguments.items()},
                "required": [name for name, inner in arguments.items() if inner in spec.schema.get("required", ())],
                "additionalProperties": False,
            }
            described = _described(spec)
            changes = {"name": documented, "input_schema": schema, "meta": {ALIAS_META: spec.name}}
            yield described.model_copy(
                update={**changes, "description": f"{spec.description} (The same as {described.name}.)"}
            )


def _described(spec: ToolSpec) -> types.Tool:
    return types.Tool(
        name=wire_name(spec.name),
        title=_title(spec.name),
        description=spec.description,
        input_schema=dict(spec.schema),
        output_schema=None if spec.data_schema is None else dict(spec.data_schema),
        annotations=types.ToolAnnotations(
            title=_title(spec.name),
            read_only_hint=spec.reads,
            destructive_hint=spec.action.risk == "destructive",
            idempotent_hint=spec.idempotent,
            open_world_hint=spec.open_world,
        ),
        _meta={TOOL_META: spec.name},
    )


def _title(name: str) -> str:
    """Return a tool's name for people: "Timers: cancel all" of "timers.cancel_all"."""
    return name.capitalize().replace(".", ": ", 1).replace(".", " ").replace("_", " ")


def _result(answer: CallResult) -> types.CallToolResult | types.InputRequiredResult:
    if isinstance(answer.reply, types.InputRequiredResult):
        return answer.reply
    meta = _meta(answer)
    if isinstance(answer.reply, types.CallToolResult):
        return answer.reply.model_copy(update={"meta": {**(answer.reply.meta or {}), **meta} or None})
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=answer.text)],
        # Official clients hold whatever is structured to the tool's schema, also what a failure says.
        structured_content=None if answer.error else dict(answer.data),
        is_error=answer.error is not None,
        _meta=meta or None,
    )


def _meta(answer: CallResult) -> dict[str, Any]:
    """Return what is said of an answer beside it."""
    meta: dict[str, Any] = {}
    if answer.receipt:
        receipt = answer.receipt
        meta[RECEIPT_META] = {"id": receipt.id, "changed": receipt.changed, "undo": receipt.undo}
    if answer.error:
        meta[ERROR_META] = answer.error
        meta |= {DATA_META: dict(answer.data)} if answer.data else {}
    if answer.ask:
        meta[ASK_META] = answer.ask.shown()
    if answer.code is not None:
        meta[CODE_META] = answer.code
    if answer.untrusted:
        meta[UNTRUSTED_META] = True
    return meta


async def _veiled(ctx: Context, call_next: CallNext) -> HandlerResult:
    """Keep a bug's own words in the log: on older wires the SDK would send them to the client."""
    try:
        return await call_next(ctx)
    except (MCPError, ValidationError):
        raise
    except Exception as bug:
        logger.exception("%s failed", ctx.method)
        raise MCPError(types.INTERNAL_ERROR, "Something went wrong in the tool server; its log says what.") from bug


def own_version() -> str:
    """Return the installed version of Atlas."""
    try:
        return version("atlas-house")
    except PackageNotFoundError:  # run from a tree that was never installed
        return "0"
