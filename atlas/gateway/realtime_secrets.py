"""/v1/realtime/client_secrets: tokens that open Realtime sessions for minutes, for pages that shall hold no other."""

from __future__ import annotations

import time

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from atlas.conversation import fresh_id
from atlas.fields import Fields
from atlas.gateway import realtime_settings as settings
from atlas.gateway.auth import Secrets, require, token_of
from atlas.gateway.chat import ANY_AGENT, MAX_NAME_CHARACTERS
from atlas.gateway.wire import json_body
from atlas.house import House

USUAL_SECONDS, LEAST_SECONDS, MOST_SECONDS = 600, 10, 7_200  # as OpenAI's


def routes(house: House, secrets: Secrets) -> list[Route]:
    """Return the URL of this door."""

    async def client_secrets(request: Request) -> Response:
        actor = require(request)
        fields = Fields(await json_body(request))
        fields.only(("session", "expires_after"))
        seconds = fields.inner("expires_after").whole("seconds", LEAST_SECONDS, MOST_SECONDS) or USUAL_SECONDS
        model = fields.inner("session").text("model", ANY_AGENT, MAX_NAME_CHARACTERS)
        wanted = fields.value("session") or {}
        defaults = settings.own_of(house)
        opening = settings.opening(fresh_id("sess"), model, defaults, int(time.time()) + seconds)
        session = settings.merged(opening, wanted, defaults)  # refused here by name, and not when somebody speaks
        value, expires_at = secrets.create(token_of(request), actor.device, seconds, wanted)
        return JSONResponse({"value": value, "expires_at": expires_at, "session": session})

    return [Route("/v1/realtime/client_secrets", client_secrets, methods=["POST"])]
