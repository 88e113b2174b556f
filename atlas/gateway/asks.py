"""/v1/asks: the questions that wait for a person's yes, and the buttons that answer them."""

from __future__ import annotations

import time
from typing import Any, get_args

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from atlas.assent import WaitingConfirmation
from atlas.conversation import Actor, Channel, ConfirmationRequest
from atlas.gateway.auth import require
from atlas.gateway.wire import Fields, json_body
from atlas.house import House

PRESSED: tuple[Channel, ...] = ("button", "terminal")  # what is said aloud or typed comes as a turn
assert set(PRESSED) < set(get_args(Channel))


def routes(house: House) -> list[Route]:
    """Return the URLs of this door."""

    async def waiting(request: Request) -> Response:
        viewer = require(request)
        shown = [_shown(one, viewer) for one in await house.asks(viewer)]
        return JSONResponse({"object": "list", "data": shown})

    async def answer(request: Request) -> Response:
        by = require(request)
        fields = Fields(await json_body(request))
        fields.only(("answer", "channel"))
        sentence = fields.text("answer")
        if sentence not in ("yes", "no"):
            raise fields.wrong("answer", '"yes" or "no"', "invalid_value")
        channel: Any = fields.choice("channel", PRESSED, "button")
        ask_id = request.path_params["id"]
        result = await house.answer_ask(ask_id, by, channel, yes=sentence == "yes")
        return JSONResponse({"object": "ask.answered", "id": ask_id, "answer": sentence, "text": result.text})

    return [
        Route("/v1/asks", waiting, methods=["GET"]),
        Route("/v1/asks/{id}", answer, methods=["POST"]),
    ]


def ask_json(ask: ConfirmationRequest | None) -> dict[str, Any] | None:
    """Return a question as every door shows it."""
    if ask is None:
        return None
    return {"id": ask.id, "sentence": ask.sentence, "level": ask.level, "expires_at": ask.expires_at, "tool": ask.tool}


def _shown(one: WaitingConfirmation, viewer: Actor) -> dict[str, Any]:
    """Return a question and who asks; the seconds are for clients whose clock is not ours."""
    who = one.actor
    return {
        **(ask_json(one.ask) or {}),
        "object": "ask",
        "seconds_left": round(max(0.0, one.ask.expires_at - time.time()), 1),
        "agent": one.agent,
        "asked": {"person": who.person, "device": who.device, "room": who.room},
        "own": (who.person, who.device) == (viewer.person, viewer.device),
    }
