"""/v1/announcements: have something said in every room, or in one; it waits until a device has played it."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from atlas.conversation import Actor, ToolResult
from atlas.errors import RequestError
from atlas.gateway.asks import ask_json
from atlas.gateway.auth import require
from atlas.gateway.chat import MAX_NAME_CHARACTERS
from atlas.gateway.wire import Fields, json_body
from atlas.house import House

MAX_CHARACTERS = 500


def routes(house: House) -> list[Route]:
    """Return the URLs of this door."""

    async def announce(request: Request) -> Response:
        actor = require(request)
        fields = Fields(await json_body(request))
        fields.only(("text", "room"))
        arguments = {"text": fields.text("text", longest=MAX_CHARACTERS)}
        if room := fields.text("room", "", MAX_NAME_CHARACTERS):
            arguments["room"] = room
        return await _press(house, "broadcast.say", arguments, actor)

    async def take_back(request: Request) -> Response:
        return await _press(house, "history.undo", {"receipt": request.path_params["id"]}, require(request))

    return [
        Route("/v1/announcements", announce, methods=["POST"]),
        Route("/v1/announcements/{id}", take_back, methods=["DELETE"]),
    ]


async def _press(house: House, tool: str, arguments: dict[str, str], actor: Actor) -> Response:
    result: ToolResult = await house.press(house.config.house.agent, tool, arguments, actor)
    if not result.ok and result.ask is None:
        raise RequestError(result.text, code=result.error or "failed")
    identity = result.receipt.id if result.receipt else None
    return JSONResponse(
        {"object": "announcement", "id": identity, "text": result.text, "ask": ask_json(result.ask)},
        202 if result.ask else 200,
    )
