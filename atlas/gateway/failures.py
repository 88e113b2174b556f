"""What goes wrong, as a client is told: in the shape of the house's own API below `/api/`, elsewhere in OpenAI's."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, NamedTuple

from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from atlas import trace
from atlas.conversation import ToolResult
from atlas.errors import AtlasError, EngineError, RequestError, SoundError

PREFIX = "/api/"
STATUS_OF_CODE = {
    "invalid_api_key": 401,
    "permission_denied": 403,
    "forbidden": 403,
    "model_not_found": 404,
    "not_found": 404,
    "invalid_pairing": 403,
    "wrong_code": 403,
    "request_timeout": 408,
    "edited_meanwhile": 409,
    "request_too_large": 413,
    "misdirected_request": 421,
    "too_many_guesses": 429,
    "rate_limit_exceeded": 429,
    "overloaded": 503,
}
STATUS_OF_TOOL_ERROR = {
    "denied": 403,
    "not_found": 404,
    "invalid": 422,
    "confirm": 409,
    "failed": 409,
    "gone": 503,
    "timeout": 504,
}
ENDS = (".", "?", "!")  # of a sentence that is whole
TYPE_OF_STATUS = {401: "authentication_error", 403: "permission_error", 404: "not_found_error", 429: "rate_limit_error"}


class ToolRefusal(AtlasError):
    """A tool did not do what was asked; its sentence says why."""

    def __init__(self, result: ToolResult) -> None:
        super().__init__(f"a tool refused: {result.error}", spoken=result.text)
        self.code = result.error
        self.details = result.data


class HttpFailure(NamedTuple):
    """What a client is told: a code for programs, a sentence for people and what to do about it."""

    status: int
    code: str
    sentence: str
    hint: str = ""
    field: str = ""  # which field of the request is meant
    details: Mapping[str, Any] = {}

    @property
    def message(self) -> str:
        """Sentence and hint, where there is room for one text; what is spoken is whole by itself."""
        return f"{self.sentence}; {self.hint}" if self.hint and not self.sentence.endswith(ENDS) else self.sentence

    def reply(self, path: str = "", headers: Mapping[str, str] | None = None) -> JSONResponse:
        """Return the answer to a request for `path`."""
        more = {"www-authenticate": 'Bearer realm="atlas"'} if self.status == HTTPStatus.UNAUTHORIZED else {}
        error: dict[str, Any]
        if path.startswith(PREFIX):
            sentence = self.sentence if self.sentence.endswith(ENDS) else f"{self.sentence}."
            error = {"code": self.code, "sentence": sentence, "hint": self.hint, "field": self.field}
            error["details"] = dict(self.details)
        else:
            kind = "server_error" if self.status >= 500 else TYPE_OF_STATUS.get(self.status, "invalid_request_error")
            error = {"message": self.message, "type": kind, "param": self.field or None, "code": self.code}
            error |= {"details": dict(self.details)} if self.details else {}
        return JSONResponse({"error": error}, self.status, {**more, **(headers or {})})


def failure_of(trouble: AtlasError) -> HttpFailure:
    """Return what a client is told of what Atlas itself raised; an engine's own words stay in the log."""
    match trouble:
        case ToolRefusal():
            status = STATUS_OF_TOOL_ERROR.get(trouble.code, 409)
            return HttpFailure(status, trouble.code, trouble.spoken, trouble.hint, details=trouble.details)
        case RequestError():
            status = STATUS_OF_CODE.get(trouble.code, 400)
            return HttpFailure(status, trouble.code, _begun(str(trouble)), trouble.hint, trouble.param, trouble.details)
        case SoundError():
            return HttpFailure(400, "invalid_sound", _begun(str(trouble)), trouble.hint, "file")
        case EngineError():
            return HttpFailure(503, "engine_unavailable", trouble.spoken, trouble.hint)
        case _:
            return HttpFailure(500, "atlas_error", trouble.spoken, trouble.hint)


async def atlas_error(request: Request, trouble: Exception) -> Response:
    """Answer what Atlas itself raised; what is not the client's fault is logged."""
    assert isinstance(trouble, AtlasError)
    failure = failure_of(trouble)
    if failure.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        trace.line("request failed", request=request_id(request), path=_place(request), error=str(trouble))
    return failure.reply(request.url.path)


async def http_error(request: Request, trouble: Exception) -> Response:
    """Answer a path that is not there, a method it does not take, or a form that cannot be read."""
    assert isinstance(trouble, HTTPException)
    path, status = request.url.path, trouble.status_code
    match status:
        case 404:
            failure = HttpFailure(404, "not_found", f"There is nothing at {path}")
        case 405:
            failure = HttpFailure(405, "method_not_allowed", f"{path} does not take {request.method}")
        case _:
            failure = HttpFailure(status, "invalid_request", _begun(str(trouble.detail)))
    return failure.reply(path, trouble.headers)


async def gone(request: Request, trouble: Exception) -> Response:
    """Answer nobody: the client left before its body was complete."""
    return Response(status_code=499)


async def own_mistake(request: Request, trouble: Exception) -> Response:
    """Answer a mistake of ours by its number alone; the server logs the traceback after this line."""
    number = request_id(request)
    trace.line("request broke", request=number, path=_place(request), error=type(trouble).__name__)
    failure = HttpFailure(500, "internal_error", "Something in Atlas broke", f"its log knows more under {number}")
    return failure.reply(request.url.path, {"x-request-id": number})


def _begun(text: str) -> str:
    return text[:1].upper() + text[1:]


def request_id(request: Request) -> str:
    """Return the number under which the log knows this request."""
    return str(request.scope.get("state", {}).get("request_id", ""))


def _place(request: Request) -> str:
    """Return the path of a request for the log; of the API as its route has it: names of notes stand in the path."""
    if not request.url.path.startswith(PREFIX):
        return request.url.path
    route = request.scope.get("route")
    return f"{PREFIX.rstrip('/')}{route.path_format}" if isinstance(route, APIRoute) else PREFIX
