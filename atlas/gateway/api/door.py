"""Builds the API: its resources, its OpenAPI document with the roles of every route, and a page that shows it."""

from __future__ import annotations

import json
import pkgutil
from collections.abc import Iterator, Sequence
from functools import cache
from html import escape
from importlib import import_module
from typing import Any

import anyio
import anyio.to_thread
from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import BaseRoute

from atlas import __version__
from atlas.errors import AtlasError
from atlas.gateway import api as resources
from atlas.gateway import failures
from atlas.gateway.api.caller import Admission, NeedsYes, ask_values
from atlas.gateway.api.shapes import ErrorReply
from atlas.gateway.conversations import EXPORTS_AT_ONCE
from atlas.gateway.device_pace import DevicePace
from atlas.gateway.failures import PREFIX, HttpFailure
from atlas.gateway.files import FileWork
from atlas.gateway.https import SecureListener
from atlas.gateway.invitations import Pairings
from atlas.house import House


def _routers() -> Iterator[APIRouter]:
    """Yield the router of every file beside this one that has one, by their names: each is a resource."""
    for name in sorted(file.name for file in pkgutil.iter_modules(resources.__path__)):
        router = getattr(import_module(f"{resources.__name__}.{name}"), "router", None)
        if isinstance(router, APIRouter):
            yield router


ROUTERS: Sequence[APIRouter] = tuple(_routers())
DESCRIPTION = (
    "The house's own data. Every route reads and writes through the gate of the tool server and the wall between"
    " people's memories. What a person must say yes to is answered with 202 and a question."
)


def build(house: House, pairings: Pairings | None, files: FileWork, secure: SecureListener | None = None) -> FastAPI:
    """Return the API of a house, to be mounted at `/api`."""
    api = _bare()
    api.router.routes.extend(_routes())
    api.state.house, api.state.doctor = house, anyio.Lock()
    api.state.pace, api.state.exports = DevicePace(), anyio.CapacityLimiter(EXPORTS_AT_ONCE)
    api.state.page_pace = DevicePace()  # of its own: a page that fails takes nothing from what its device may search
    api.state.pairings, api.state.files, api.state.secure = pairings, files, secure
    described = DescribedApi(api)
    api.add_route("/openapi.json", described.document, include_in_schema=False)
    api.add_route("/", described.viewer, include_in_schema=False)
    return api


def empty() -> FastAPI:
    """Return the API with all its resources, and of no house: enough to describe it."""
    api = _bare()
    for router in ROUTERS:
        api.include_router(router)
    return api


@cache
def _routes() -> Sequence[BaseRoute]:
    """Return the routes of all resources, which FastAPI compiles at the first request: once for all of a process."""
    return tuple(empty().routes)


def _bare() -> FastAPI:
    return FastAPI(
        title="Atlas",
        version=__version__,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        generate_unique_id_function=lambda route: route.name,
        responses={"4XX": {"model": ErrorReply, "description": "Refused"}, "5XX": {"model": ErrorReply}},
        exception_handlers={
            AtlasError: failures.atlas_error,
            NeedsYes: _needs_yes,
            RequestValidationError: _invalid,
            HTTPException: failures.http_error,
            ClientDisconnect: failures.gone,
            Exception: failures.own_mistake,
        },
    )


def document(api: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI document, whose operations say in `x-roles` whom they are for."""
    described = get_openapi(
        title=api.title, version=api.version, description=DESCRIPTION, routes=api.routes, servers=[{"url": "/api"}]
    )
    described["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    for route in resource_routes():
        for method in sorted(route.methods or ()):
            operation = described["paths"][route.path_format][method.lower()]
            operation |= {"security": [{"token": []}], "x-roles": list(roles_of(route))}
    return described


def resource_routes() -> Iterator[APIRoute]:
    """Yield the routes of all resources."""
    return (route for router in ROUTERS for route in router.routes if isinstance(route, APIRoute))


def roles_of(route: APIRoute) -> Sequence[str]:
    """Return whom a route is for."""
    calls: list[object] = [one.call for one in route.dependant.dependencies]
    [admission] = [call for call in calls if isinstance(call, Admission)]
    return admission.roles


def viewer(described: dict[str, Any]) -> str:
    """Return a page without scripts that lists every operation."""
    rows = [
        f"<tr><td><code>{method.upper()} /api{path}</code><td>{escape(operation.get('description', ''))}"
        f"<td>{', '.join(operation['x-roles'])}"
        for path, operations in described["paths"].items()
        for method, operation in operations.items()
    ]
    return (
        "<!doctype html><html lang=en><meta charset=utf-8><title>Atlas: API</title>"
        "<h1>The API of this house</h1><p>Everything in detail: <a href=/api/openapi.json>openapi.json</a>.</p>"
        f"<table><tr><th>Operation<th>What it does<th>For whom{''.join(rows)}</table></html>"
    )


class DescribedApi:
    """The document and the page made of it: made when somebody asks first, kept as bytes, which are few."""

    def __init__(self, api: FastAPI) -> None:
        self._api = api
        self._making = anyio.Lock()
        self._pages: tuple[bytes, bytes] | None = None

    async def document(self, request: Request) -> Response:
        """Answer with the document."""
        return Response((await self._made())[0], media_type="application/json")

    async def viewer(self, request: Request) -> Response:
        """Answer with the page."""
        return HTMLResponse((await self._made())[1])

    async def _made(self) -> tuple[bytes, bytes]:
        async with self._making:
            if self._pages is None:
                self._pages = await anyio.to_thread.run_sync(self._make)
            return self._pages

    def _make(self) -> tuple[bytes, bytes]:
        whole = document(self._api)
        return json.dumps(whole, ensure_ascii=False, separators=(",", ":")).encode(), viewer(whole).encode()


# ── what goes wrong ────────────────────────────────────────────────────────────────────────────────

CODES = {"string_too_long": "text_too_long", "string_too_short": "text_too_short", "too_long": "too_many_entries"}


async def _needs_yes(request: Request, asks: Exception) -> Response:
    assert isinstance(asks, NeedsYes)
    return JSONResponse({"ask": ask_values(asks.ask)}, 202)


async def _invalid(request: Request, trouble: Exception) -> Response:
    assert isinstance(trouble, RequestValidationError)
    first = trouble.errors()[0]
    field = ".".join(map(str, first["loc"][1:]))
    where = f"{field}: " if field else ""
    code = CODES.get(first["type"], "invalid_value")  # what people run into, a page says in words of its own
    return HttpFailure(422, code, f"{where}{first['msg']}.", field=field).reply(PREFIX)
