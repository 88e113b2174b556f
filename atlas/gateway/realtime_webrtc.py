"""/v1/realtime/calls: the Realtime protocol over WebRTC; an offer comes in, as for OpenAI, and an answer goes back."""

from __future__ import annotations

from importlib import import_module
from typing import Any
from urllib.parse import urlencode

from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from atlas.errors import RequestError
from atlas.fields import Fields
from atlas.gateway.auth import CALLS, require
from atlas.gateway.wire import json_object

OFFER_BYTES = 64 * 1024  # a browser's is some five thousand
SESSION_CHARACTERS = 256 * 1024
SDP = "application/sdp"


def routes() -> list[Route]:
    """Return the URLs of this door."""
    calls: dict[str, Any] = {}  # those that are open, by their ids

    async def begin(request: Request) -> Response:
        require(request)
        offer, session = await _read(request)
        model = session.pop("model", None)
        if model is not None and not isinstance(model, str):
            raise Fields({}, "session").wrong("model", "a name")
        scope = (
            request.scope if model is None else {**request.scope, "query_string": urlencode({"model": model}).encode()}
        )
        # The libraries of WebRTC are for houses that somebody calls.
        call = import_module("atlas.gateway.webrtc_call").PeerCall(request.app, scope, session)
        refusal = await request.app.state.tasks.start(call.run, offer, calls)
        return refusal or Response(call.answer, 201, media_type=SDP, headers={"location": f"{CALLS}/{call.id}"})

    async def hang_up(request: Request) -> Response:
        device = require(request).device
        call = calls.get(request.path_params["id"])
        if call is None or call.device != device:
            raise RequestError(
                f"no call {request.path_params['id'][:100]!r} of yours is open", code="not_found", hint="it is over"
            )
        call.hang_up()
        return Response(status_code=200)

    return [
        Route(CALLS, begin, methods=["POST"]),
        Route(f"{CALLS}/{{id}}/hangup", hang_up, methods=["POST"]),
    ]


async def _read(request: Request) -> tuple[str, dict[str, Any]]:
    """Return the offer and what its session shall be. Raises `RequestError` for what is neither of the two forms."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == SDP:
        return _offer(await request.body()), {}
    if kind != "multipart/form-data":
        raise RequestError(
            f"a call cannot be made of {kind[:100]!r}",
            code="unsupported_media_type",
            hint=f"send the offer as {SDP}, or a form with sdp and session",
        )
    async with request.form(max_files=2, max_fields=2, max_part_size=SESSION_CHARACTERS) as form:
        parts = {name: await _text(value) for name, value in form.items()}
    return _offer(parts.get("sdp", "").encode()), json_object(parts.get("session", "{}"), "session")


async def _text(value: UploadFile | str) -> str:
    return value if isinstance(value, str) else (await value.read(SESSION_CHARACTERS)).decode("utf-8", "replace")


def _offer(body: bytes) -> str:
    if not body.startswith(b"v=0"):
        raise RequestError("the offer is no session description", code="invalid_offer", param="sdp", hint="RFC 8866")
    if len(body) > OFFER_BYTES:
        raise RequestError(f"an offer has at most {OFFER_BYTES} bytes", code="request_too_large", param="sdp")
    return body.decode("utf-8", "replace")
