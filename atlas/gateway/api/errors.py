"""The one shape of the API's errors: a code for programs, a sentence for people, and a hint."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse

from atlas.conversation import ToolResult
from atlas.errors import AtlasError, RequestError
from atlas.gateway.wire import error_body

PREFIX = "/api/"
STATUS_OF_TOOL_ERROR = {
    "denied": 403,
    "not_found": 404,
    "invalid": 422,
    "confirm": 409,
    "failed": 409,
    "gone": 503,
    "timeout": 504,
}


class ToolRefusal(AtlasError):
    """A tool did not do what was asked; its sentence says why."""

    def __init__(self, result: ToolResult) -> None:
        super().__init__(f"a tool refused: {result.error}", spoken=result.text)
        self.code = result.error
        self.details = result.data


def error_reply(
    status: int, code: str, sentence: str, hint: str = "", field: str = "", details: Mapping[str, Any] | None = None
) -> JSONResponse:
    """Return an error as every route of the API has it."""
    body = {"code": code, "sentence": sentence, "hint": hint, "field": field, "details": dict(details or {})}
    headers = {"www-authenticate": 'Bearer realm="atlas"'} if status == 401 else {}
    return JSONResponse({"error": body}, status, headers)


def nothing_there(request: Request) -> JSONResponse:
    """Return the answer to a path that no route has."""
    return error_reply(404, "not_found", f"There is nothing at {request.url.path}.")


def api_refusal(trouble: AtlasError) -> JSONResponse:
    """Return the answer to what Atlas itself raised."""
    if isinstance(trouble, ToolRefusal):
        status = STATUS_OF_TOOL_ERROR.get(trouble.code, 409)
        return error_reply(status, trouble.code, trouble.spoken, trouble.hint, details=trouble.details)
    status, code, message, field = error_body(trouble)
    if isinstance(trouble, RequestError):
        message = str(trouble)[:1].upper() + str(trouble)[1:]
        message += "" if message.endswith((".", "?", "!")) else "."
    return error_reply(status, code, message, trouble.hint, field or "")
