"""/pair: where a new device takes up its invitation, by the page of a link or by a code that is typed."""

from __future__ import annotations

import base64
import hashlib

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from atlas.access.pairing import Pairings
from atlas.errors import RequestError
from atlas.gateway.auth import COOKIE, Guesses, address_of, is_private
from atlas.gateway.wire import Fields, json_body

COOKIE_SECONDS = 400 * 86_400  # the longest that browsers keep one; revoking ends it before
STYLE = (
    "body{font:1.125rem/1.5 system-ui,sans-serif;max-width:26rem;margin:3rem auto;padding:0 1rem;"
    "color-scheme:light dark}input,button{font:inherit;min-height:44px;width:100%;box-sizing:border-box;margin:.5rem 0}"
)
SCRIPT = """
const form = document.querySelector("form"), code = document.querySelector("input");
const status = document.querySelector("[role=status]");
const link = location.hash.slice(1);
history.replaceState(null, "", location.pathname);
if (link) { code.value = link; code.type = "hidden"; document.querySelector("label").hidden = true; }
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  status.textContent = "One moment…";
  try {
    const reply = await fetch("/pair", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ secret: code.value, as: "token" }),
    });
    const body = await reply.json();
    if (!reply.ok) { status.textContent = body.error.message; return; }
    location.replace("/#token=" + body.token);
  } catch {
    status.textContent = "The house does not answer. Is this device in its network?";
  }
});
"""
PAGE = f"""<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Come in</title>
<style>{STYLE}</style><main><h1>Come in</h1><form>
<label for="code">Six digits, or the setup code that stands on the house's console</label>
<input id="code" autocomplete="one-time-code" autocapitalize="characters" maxlength="64" required>
<button>Let this device in</button></form><p role="status"></p></main><script>{SCRIPT}</script></html>
"""


def routes(pairings: Pairings, guesses: Guesses) -> list[Route]:
    """Return the page and what it sends to. Neither asks for a token: the secret is what opens."""
    policy = (
        "default-src 'none'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none';"
        f" style-src 'sha256-{_digest(STYLE)}'; script-src 'sha256-{_digest(SCRIPT)}'"
    )

    async def page(request: Request) -> Response:
        return Response(PAGE, media_type="text/html", headers={"content-security-policy": policy})

    async def take_up(request: Request) -> Response:
        if not is_private(request):
            raise RequestError(
                "a device is let in over https, or on the house's own machine",
                code="permission_denied",
                hint="open the https address of this house",
            )
        fields = Fields(await json_body(request))
        fields.only(("secret", "as"))
        form = fields.choice("as", ("cookie", "token"), "cookie")
        try:
            device = await pairings.take_up(fields.text("secret"))
        except RequestError as refused:
            if refused.code == "invalid_pairing":
                await guesses.wrong(f"pairing {address_of(request)}")
            raise
        values = {"device": device.name, "role": device.role}
        if form == "token":
            return JSONResponse({**values, "token": device.token})
        reply = JSONResponse(values)
        reply.set_cookie(COOKIE, device.token, COOKIE_SECONDS, path="/", secure=True, httponly=True, samesite="strict")
        return reply

    return [Route("/pair", page), Route("/pair", take_up, methods=["POST"])]


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
