"""MCP ⇄ questions to a person: an elicitation where the client knows them, and what a retried call brings back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import mcp.types as types
from mcp.server.context import ServerRequestContext
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from tools_server.gate.confirmations import NO_REPLY, ConfirmationReply
from tools_server.sdk.confirmation import Confirmation
from wall.meta import ASK_META, CONFIRM

STATEMENT = "statement"
SCHEMA = {
    "type": "object",
    # Not required: where a person says yes on a device of the house instead, there is nothing to fill in here.
    "properties": {
        STATEMENT: {"type": "string", "description": "The answer as the house signed it, when it came here"}
    },
}


def reply_of(parameters: types.CallToolRequestParams) -> ConfirmationReply:
    """Return what a retried call brings. Whether any of it is a yes, only the signature can say."""
    response = (parameters.input_responses or {}).get(CONFIRM)
    if response is None:
        return ConfirmationReply(parameters.request_state) if parameters.request_state else NO_REPLY
    if not isinstance(response, types.ElicitResult):
        return ConfirmationReply(parameters.request_state or "", "accept")  # another kind of answer: it says nothing
    statement = (response.content or {}).get(STATEMENT)
    return ConfirmationReply(
        parameters.request_state or "", response.action, statement if isinstance(statement, str) else ""
    )


def can_be_asked(context: ServerRequestContext[Any, Any]) -> bool:
    """Whether the client knows results that ask for input, and forms to ask it with."""
    capabilities = context.session.client_capabilities
    elicitation = capabilities.elicitation if capabilities else None
    if context.protocol_version not in MODERN_PROTOCOL_VERSIONS or elicitation is None:
        return False
    return elicitation.form is not None or elicitation.url is None  # an empty one means forms, as it always did


def asking(ask: Confirmation, meta: Mapping[str, Any]) -> types.InputRequiredResult:
    """Return the question as a result of the 2026 era; `meta` is what else is said of it."""
    form = types.ElicitRequestFormParams(message=ask.sentence, requested_schema=SCHEMA)
    return types.InputRequiredResult(
        input_requests={CONFIRM: types.ElicitRequest(params=form)},
        request_state=ask.id,
        _meta={**meta, ASK_META: ask.shown()},
    )
