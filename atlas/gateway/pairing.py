"""/pair and /cookie: a new device takes up its invitation, and a browser has its token in a cookie."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from atlas.conversation import Actor
from atlas.errors import RequestError
from atlas.fields import Fields
from atlas.gateway.auth import Guesses, address_of, clear_cookie, held_token, is_private, require, set_cookie
from atlas.gateway.invitations import NOT_OPEN, WRONG_CODE, Pairings
from atlas.gateway.pairing_page import POLICY, pairing_page
from atlas.gateway.wire import json_body
from atlas.store.devices import NAME_CHARACTERS


def routes(pairings: Pairings, guesses: Guesses) -> list[Route]:
    """Return the page and what it sends to. Neither asks for a token: the secret is what opens."""

    async def page(request: Request) -> Response:
        text = pairing_page(request.headers.get("accept-language", ""))
        return Response(text, media_type="text/html", headers={"content-security-policy": POLICY})

    async def take_up(request: Request) -> Response:
        if not is_private(request):
            raise RequestError(
                "a device is let in over https, or on the house's own machine",
                code="permission_denied",
                hint="open the https address of this house",
            )
        fields = Fields(await json_body(request))
        fields.only(("secret", "as", "replaces", "name"))
        form = fields.choice("as", ("cookie", "token"), "cookie")
        here: Actor | None = request.state.actor
        name = fields.text("name", "", NAME_CHARACTERS).strip()
        try:
            if here and fields.text("replaces", "") != here.device:
                invited = pairings.look(fields.text("secret"))
                return JSONResponse({"here": here.device, "device": invited.called(name), "role": invited.role}, 409)
            device = await pairings.take_up(fields.text("secret"), name)
        except RequestError as refused:
            if refused.code in (NOT_OPEN, WRONG_CODE):
                await guesses.wrong(f"pairing {address_of(request)}")
            raise
        values = {"device": device.name, "role": device.role}
        if form == "token":
            return JSONResponse({**values, "token": device.token})
        reply = JSONResponse(values)
        set_cookie(reply, device.token)
        return reply

    return [
        Route("/pair", page),
        Route("/pair", take_up, methods=["POST"]),
        Route("/cookie", put_in, methods=["POST"]),
        Route("/cookie", take_out, methods=["DELETE"]),
    ]


async def put_in(request: Request) -> Response:
    """Put the token that was sent into a cookie, which no script can read."""
    device = require(request).device
    if request.url.scheme != "https":  # of http://127.0.0.1 every other port would be sent it, whoever listens there
        raise RequestError("a token is put into a cookie over https alone", code="permission_denied")
    reply = JSONResponse({"device": device})
    set_cookie(reply, held_token(request))
    return reply


async def take_out(request: Request) -> Response:
    """Take the cookie out of the browser; its token counts until it is taken back."""
    reply = Response(status_code=204)
    clear_cookie(reply)
    return reply
