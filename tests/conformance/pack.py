"""What the conformance suite asks a server to have: tools, resources and prompts behind Atlas's own gate and wire."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Annotated, Any

import anyio
import mcp.types as types
from jsonschema import Draft202012Validator
from mcp.shared.exceptions import MCPError
from pydantic import Field

from tools_server.gate.gate import Gate
from tools_server.sdk.toolkit import Call, Result, Toolbox, ToolFailed, ToolSpec, tool
from tools_server.wires.notices import LIST_CHANGED
from tools_server.wires.prompt_files import Source
from tools_server.wires.resources import View

RED_DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
SILENCE = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
BETWEEN_SECONDS = 0.05  # the suite wants to see that messages come while the tool runs
KEY = b"only in this test"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"

specs: list[ToolSpec] = []
gates: list[Gate] = []  # the one that is served, for the tools that change what it offers
Text = Annotated[str, Field(max_length=500)]


def fixture(name: str, **more: Any) -> Callable[[Callable[..., Awaitable[Result]]], Any]:
    def make(function: Callable[..., Awaitable[Result]]) -> Any:
        function.__doc__ = f"Do what the suite expects of {name}."
        spec = tool(name, risk="read", **more)(function).tool_spec
        specs.append(spec)
        return function

    return make


def text(sentence: str) -> Any:
    return types.TextContent(type="text", text=sentence)


def content(*blocks: Any) -> Result:
    return Result("", reply=types.CallToolResult(content=list(blocks)))


def picture() -> Any:
    return types.ImageContent(type="image", data=RED_DOT, mime_type="image/png")


def resource(uri: str, mime: str, sentence: str) -> Any:
    return types.EmbeddedResource(
        type="resource", resource=types.TextResourceContents(uri=uri, mime_type=mime, text=sentence)
    )


# ── what tools may answer ──────────────────────────────────────────────────────────────────────────


@fixture("test_simple_text")
async def simple_text(call: Call) -> Result:
    return Result("This is a simple text response for testing.")


@fixture("test_image_content")
async def image(call: Call) -> Result:
    return content(picture())


@fixture("test_audio_content")
async def audio(call: Call) -> Result:
    return content(types.AudioContent(type="audio", data=SILENCE, mime_type="audio/wav"))


@fixture("test_embedded_resource")
async def embedded(call: Call) -> Result:
    return content(resource("test://embedded-resource", "text/plain", "This is an embedded resource content."))


@fixture("test_multiple_content_types")
async def mixed(call: Call) -> Result:
    data = resource("test://mixed-content-resource", "application/json", '{"test":"data","value":123}')
    return content(text("Multiple content types test:"), picture(), data)


@fixture("test_error_handling")
async def error(call: Call) -> Result:
    raise ToolFailed("failed", "This tool intentionally returns an error for testing")


@fixture("test_x_mcp_header")
async def header(call: Call, region: Text) -> Result:
    return Result(f"The region is {region}.")


@fixture("json_schema_2020_12_tool")
async def schema(call: Call) -> Result:
    return Result("It was taken.")


# ── what tools may say while they run ──────────────────────────────────────────────────────────────


async def log(call: Call, *lines: str) -> None:
    for line in lines:
        await call.wire.session.send_log_message("info", line, related_request_id=call.wire.request_id)
        await anyio.sleep(BETWEEN_SECONDS)


@fixture("test_tool_with_logging")
async def logging(call: Call) -> Result:
    await log(call, "Tool execution started", "Tool processing data", "Tool execution completed")
    return Result("That was logged.")


@fixture("test_logging_tool")
async def logging_when_asked(call: Call) -> Result:
    await log(call, "Tool execution started")
    return Result("That was logged, if it was wanted.")


@fixture("test_tool_with_progress")
async def progress(call: Call) -> Result:
    for done in (0, 50, 100):
        await call.wire.session.report_progress(done, 100)
        await anyio.sleep(BETWEEN_SECONDS)
    return Result("That is done.")


@fixture("test_trigger_tool_change")
async def tool_change(call: Call) -> Result:
    gates[0].listeners[0](LIST_CHANGED)
    return Result("There are other tools now.")


@fixture("test_trigger_prompt_change")
async def prompt_change(call: Call) -> Result:
    gates[0].listeners[0](LIST_CHANGED)
    return Result("There are other prompts now.")


# ── what tools may ask, in the era of sessions ─────────────────────────────────────────────────────


@fixture("test_sampling")
async def sampling(call: Call, prompt: Text) -> Result:
    phrase = await call.wire.session.create_message(
        [types.SamplingMessage(role="user", content=text(prompt))],
        max_tokens=100,
        related_request_id=call.wire.request_id,
    )
    return Result(f"LLM response: {phrase.content.text}")


async def elicited(call: Call, message: str, properties: dict[str, Any], required: list[str] | None = None) -> str:
    wanted: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        wanted["required"] = required
    answer = await call.wire.session.elicit_form(message, wanted, related_request_id=call.wire.request_id)
    return f"action={answer.action}, content={json.dumps(answer.content)}"


@fixture("test_elicitation")
async def elicitation(call: Call, message: Text) -> Result:
    properties = {
        "username": {"type": "string", "description": "User's response"},
        "email": {"type": "string", "description": "User's email address"},
    }
    return Result(f"User response: {await elicited(call, message, properties, ['username', 'email'])}")


@fixture("test_elicitation_sep1034_defaults")
async def elicitation_defaults(call: Call) -> Result:
    properties = {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    }
    return Result(f"Elicitation completed: {await elicited(call, 'Is this right?', properties)}")


@fixture("test_elicitation_sep1330_enums")
async def elicitation_enums(call: Call) -> Result:
    titled = [
        {"const": f"value{n}", "title": f"{name} Option"} for n, name in enumerate(("First", "Second", "Third"), 1)
    ]
    chosen = [
        {"const": f"value{n}", "title": f"{name} Choice"} for n, name in enumerate(("First", "Second", "Third"), 1)
    ]
    options = ["option1", "option2", "option3"]
    properties = {
        "untitledSingle": {"type": "string", "enum": options},
        "titledSingle": {"type": "string", "oneOf": titled},
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": options}},
        "titledMulti": {"type": "array", "items": {"anyOf": chosen}},
    }
    return Result(f"Elicitation completed: {await elicited(call, 'Which?', properties)}")


# ── what tools may ask, in the era of retried calls ────────────────────────────────────────────────


def form(message: str, name: str, kind: str = "string") -> Any:
    wanted = {"type": "object", "properties": {name: {"type": kind}}, "required": [name]}
    return types.ElicitRequest(params=types.ElicitRequestFormParams(message=message, requested_schema=wanted))


def sample(prompt: str, tokens: int = 100) -> Any:
    message = types.SamplingMessage(role="user", content=text(prompt))
    return types.CreateMessageRequest(params=types.CreateMessageRequestParams(messages=[message], max_tokens=tokens))


def ask(state: str = "", **questions: Any) -> Result:
    wanted = types.InputRequiredResult(input_requests=questions, request_state=sealed(state) if state else None)
    return Result("", reply=wanted)


def sealed(state: str) -> str:
    return f"{state}.{hmac.new(KEY, state.encode(), hashlib.sha256).hexdigest()}"


def answered(call: Call, state: str = "") -> dict[str, Any]:
    """What the client brought to our questions; the state must be the one that we sealed."""
    parameters = call.wire.params or {}
    given = parameters.get("requestState")
    if given is not None and not (state and hmac.compare_digest(given, sealed(state))):
        raise MCPError(code=types.INVALID_PARAMS, message="That state is not mine.")
    answers = parameters.get("inputResponses")
    return {name: value for name, value in answers.items() if isinstance(value, dict)} if answers else {}


def field(answers: dict[str, Any], question: str, name: str) -> str:
    filled = answers.get(question, {}).get("content")
    return str(filled.get(name, "")) if isinstance(filled, dict) else ""


@fixture("test_input_required_result_elicitation")
async def asks_name(call: Call) -> Result:
    if name := field(answered(call), "user_name", "name"):
        return Result(f"Hello, {name}!")
    return ask(user_name=form("What is your name?", "name"))


@fixture("test_streaming_elicitation")
async def asks_on_stream(call: Call) -> Result:
    return await asks_name(call)


@fixture("test_input_required_result_sampling")
async def asks_model(call: Call) -> Result:
    if answer := answered(call).get("capital_question"):
        return Result(json.dumps(answer.get("content")))
    return ask(capital_question=sample("What is the capital of France?"))


@fixture("test_input_required_result_list_roots")
async def asks_roots(call: Call) -> Result:
    if answer := answered(call).get("client_roots"):
        return Result(f"The roots are {json.dumps(answer.get('roots'))}.")
    return ask(client_roots=types.ListRootsRequest())


@fixture("test_input_required_result_request_state")
async def asks_with_state(call: Call) -> Result:
    if answered(call, "one").get("confirm"):
        return Result("state-ok")
    return ask("one", confirm=form("Please confirm", "ok", "boolean"))


@fixture("test_input_required_result_tampered_state")
async def asks_with_sealed_state(call: Call) -> Result:
    return await asks_with_state(call)


@fixture("test_input_required_result_multiple_inputs")
async def asks_thrice(call: Call) -> Result:
    if {"user_name", "greeting", "client_roots"} <= set(answered(call, "many")):
        return Result("All three came.")
    return ask(
        "many",
        user_name=form("What is your name?", "name"),
        greeting=sample("Generate a greeting", 50),
        client_roots=types.ListRootsRequest(),
    )


@fixture("test_input_required_result_multi_round")
async def asks_again(call: Call) -> Result:
    second = (call.wire.params or {}).get("requestState", "").startswith("two.")
    answers = answered(call, "two" if second else "one")
    if color := field(answers, "step2", "color"):
        return Result(f"You like {color}.")
    if second or field(answers, "step1", "name"):
        return ask("two", step2=form("Step 2: What is your favorite color?", "color"))
    return ask("one", step1=form("Step 1: What is your name?", "name"))


@fixture("test_input_required_result_capabilities")
async def asks_what_can_be_answered(call: Call) -> Result:
    can = (call.wire.meta or {}).get(CAPABILITIES, {})
    questions: dict[str, Any] = {"model": sample("Say something.")} if "sampling" in can else {}
    if "elicitation" in can:
        questions["person"] = form("What is your name?", "name")
    return ask(**questions) if questions else Result("There is nobody to ask.")


@fixture("test_missing_capability")
async def needs_a_capability(call: Call) -> Result:
    if "sampling" in (call.wire.meta or {}).get(CAPABILITIES, {}):
        return Result("The client can do that.")
    raise MCPError(
        code=types.MISSING_REQUIRED_CLIENT_CAPABILITY,
        message="This needs a client that samples.",
        data={"requiredCapabilities": {"sampling": {}}},
    )


# ── resources and prompts ──────────────────────────────────────────────────────────────────────────


def reads(uri: str, mime: str, sentence: str) -> Result:
    contents = types.TextResourceContents(uri=uri, mime_type=mime, text=sentence)
    return Result("", reply=types.ReadResourceResult(contents=[contents]))


@fixture("read_text")
async def read_text(call: Call) -> Result:
    return reads("test://static-text", "text/plain", "This is the content of the static text resource.")


@fixture("read_binary")
async def read_binary(call: Call) -> Result:
    dot = types.BlobResourceContents(uri="test://static-binary", mime_type="image/png", blob=RED_DOT)
    return Result("", reply=types.ReadResourceResult(contents=[dot]))


@fixture("read_template")
async def read_template(call: Call, id: Text) -> Result:
    values = {"id": id, "templateTest": True, "data": f"Data for ID: {id}"}
    return reads(f"test://template/{id}/data", "application/json", json.dumps(values))


@fixture("read_example")
async def read_example(call: Call) -> Result:
    return reads("test://example-resource", "text/plain", "Embedded resource content for testing.")


@fixture("read_watched")
async def read_watched(call: Call) -> Result:
    return reads("test://watched-resource", "text/plain", "Nothing happened.")


@fixture("ask_context")
async def ask_context(call: Call) -> Result:
    if context := field(answered(call), "user_context", "context"):
        return Result(context)
    return ask(user_context=form("What context should the prompt use?", "context"))


VIEWS = (
    View("test://static-text", "read_text", "Text", "A text.", mime="text/plain"),
    View("test://static-binary", "read_binary", "Picture", "A picture.", mime="image/png"),
    View("test://template/{id}/data", "read_template", "Template", "One of many.", {"id": "id"}),
    View("test://example-resource", "read_example", "Example", "To be embedded.", mime="text/plain"),
    View("test://watched-resource", "read_watched", "Watched", "To be watched.", mime="text/plain"),
)
SOURCES = {"CONTEXT": Source("ask_context", {})}
HEADER_SCHEMA = {
    "type": "object",
    "properties": {"region": {"type": "string", "x-mcp-header": "Region", "maxLength": 500}},
    "required": ["region"],
    "additionalProperties": False,
}
ADDRESS = {
    "$anchor": "addressDef",
    "type": "object",
    "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
}
WHOLE_SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {"address": ADDRESS},
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
SCHEMAS = {"test_x_mcp_header": HEADER_SCHEMA, "json_schema_2020_12_tool": WHOLE_SCHEMA}


def toolbox() -> Toolbox:
    tools = {
        spec.name: replace(spec, schema=own_values, validator=Draft202012Validator(own_values))
        if (own_values := SCHEMAS.get(spec.name))
        else spec
        for spec in sorted(specs, key=lambda spec: spec.name)
    }
    return Toolbox(tools, {}, {}, {}, {})
