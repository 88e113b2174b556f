"""Serves the built app at `/`: its files as they are, able to do nothing but talk to this house."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Awaitable, Callable
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from atlas.shipped import shipped

FOLDER = shipped("pwa") / "dist"  # made by scripts/build_app.py
TYPES = {
    ".html": "text/html",
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".woff2": "font/woff2",
    ".webmanifest": "application/manifest+json",
}
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "font-src 'self'",
        "media-src 'self' blob:",
        "connect-src 'self'",
        "worker-src 'self'",
        "manifest-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",  # no text of a reply can ever become markup …
        "trusted-types atlas dompurify",  # … but what has been purified; the first is for the service worker's address
    )
)
HASHED = "assets"  # a file there has a digest in its name, and never changes
NOT_BUILT = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Atlas</title>
<h1>The app is not built yet</h1>
<p>The house runs, but its page is missing. Stop Atlas and start it with <code>./up</code>, which builds it.</p>
</html>
"""


def inline(text: str) -> str:
    """Return what a page's policy says of a style or script that stands in the page itself, and is allowed there."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def typeface(folder: Path = FOLDER) -> str:
    """Return the style that gives a page outside the app its typeface; what stands in for it where nothing is built."""
    font = next((folder / HASHED).glob("figtree-*.woff2"), None)
    source = f'url("/{HASHED}/{font.name}") format("woff2")' if font else 'local("Figtree")'
    return (
        f'@font-face{{font-family:"Atlas Sans";src:{source};font-weight:300 900;font-display:swap}}\n'
        ':root{font-family:"Atlas Sans",ui-rounded,system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif}\n'
    )


def routes(folder: Path = FOLDER) -> list[Route]:
    """Return a URL for each file of the app, and `/` for `index.html`, or for what to do when nothing is built."""
    files = sorted(path for path in folder.rglob("*") if path.suffix in TYPES)
    if folder / "index.html" not in files:
        return [Route("/", _served(NOT_BUILT.encode(), ".html", "no-cache"))]
    return [_route(path, path.relative_to(folder)) for path in files]


def _route(path: Path, name: Path) -> Route:
    # Others are asked for each time: a new Atlas must not meet half of an old app.
    lasting = "public, max-age=31536000, immutable" if name.parts[0] == HASHED else "no-cache"
    url = "/" if name.name == "index.html" else f"/{name.as_posix()}"
    return Route(url, _served(path.read_bytes(), path.suffix, lasting))


def _served(body: bytes, suffix: str, lasting: str) -> Callable[[Request], Awaitable[Response]]:
    """Return the endpoint of one file in memory. Nothing that a client sends is ever part of a path."""
    headers = {
        "etag": f'"{hashlib.sha256(body).hexdigest()[:32]}"',
        "cache-control": lasting,
        "content-security-policy": POLICY,
    }

    async def serve(request: Request) -> Response:
        if request.headers.get("if-none-match") == headers["etag"]:
            return Response(status_code=304, headers=headers)
        return Response(body, headers=headers, media_type=TYPES[suffix])

    return serve
