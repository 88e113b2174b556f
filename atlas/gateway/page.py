"""The page at `/` and its files: read once, served as they are, and able to do nothing but talk to this house."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from atlas.errors import ConfigError
from atlas.shipped import shipped

FOLDER = shipped("pwa")
TYPES = {
    ".html": "text/html",
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
}
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "worker-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",  # no text of a reply can ever become markup
    )
)


def routes(folder: Path = FOLDER) -> list[Route]:
    """Return a URL for each file of the page, and `/` for `index.html`. Raises `ConfigError` when it is not there."""
    files = sorted(path for path in folder.glob("*") if path.suffix in TYPES) if folder.is_dir() else []
    if not any(path.name == "index.html" for path in files):
        raise ConfigError(f"the page is not at {folder}", hint="run Atlas from its own checkout")
    return [Route("/" if path.name == "index.html" else f"/{path.name}", _served(path)) for path in files]


def _served(path: Path) -> Callable[[Request], Awaitable[Response]]:
    """Return the endpoint of one file in memory. Nothing that a client sends is ever part of a path."""
    body = path.read_bytes()
    headers = {
        "etag": f'"{hashlib.sha256(body).hexdigest()[:32]}"',
        "cache-control": "no-cache",  # ask each time: a new Atlas must not meet half of an old page
        "content-security-policy": POLICY,
    }

    async def serve(request: Request) -> Response:
        if request.headers.get("if-none-match") == headers["etag"]:
            return Response(status_code=304, headers=headers)
        return Response(body, headers=headers, media_type=TYPES[path.suffix])

    return serve
