"""Begins a resource of the API: a router whose bodies are read as strictly as everywhere in the house."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator
from typing import Any

from fastapi import APIRouter, Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from starlette.responses import Response

from atlas.errors import RequestError
from atlas.gateway.api.shapes import MAY_ASK
from atlas.gateway.wire import json_object

WRITES = ("POST", "PUT", "PATCH", "DELETE")


class StrictRoute(APIRoute):
    """A route whose body is JSON to the letter, no deeper than is sane, and whose query holds nothing that is lost."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return FastAPI's own handler behind the strict reader."""
        handle = super().get_route_handler()
        known = frozenset(_query_of(self.dependant))

        async def strict(request: Request) -> Response:
            if unknown := sorted(set(request.query_params) - known):
                raise RequestError("that field of the query is unknown", code="unknown_field", param=unknown[0][:100])
            if request.method in WRITES and (body := await request.body()):
                request._json = json_object(body, "the body")  # what FastAPI will ask for
            return await handle(request)

        return strict


def _query_of(dependant: Dependant) -> Iterator[str]:
    """Yield the names of everything that a route or its dependencies read in the query."""
    yield from (one.alias for one in dependant.query_params)
    for inner in dependant.dependencies:
        yield from _query_of(inner)


def resource(name: str, *, asks: bool = True) -> APIRouter:
    """Return the router of `/api/NAME`; `asks` when its tools may want a person's yes first."""
    return APIRouter(prefix=f"/{name}", tags=[name], route_class=StrictRoute, responses=MAY_ASK if asks else None)
