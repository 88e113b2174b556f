"""/ca/: how a device comes to trust the house: the certificate, its fingerprint, and the steps for each system."""

from __future__ import annotations

import base64
import hashlib
import re
from html import escape

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from atlas.access.qr import image
from atlas.gateway.https import SecureListener
from atlas.gateway.trust_words import CERTIFICATE, GUIDES, PROFILE, GuideWords, SystemSteps
from atlas.gateway.wanted_language import wanted_language

STYLE = """
:root{color-scheme:light dark;--ground:light-dark(#f7f3ec,#191714);--card:light-dark(#fffdf9,#23201c);
--sunk:light-dark(#efe9de,#121110);--ink:light-dark(#2a2622,#efe9e1);--soft:light-dark(#655d54,#b3a99d);
--line:light-dark(#e2d9cb,#3a352f);--accent:light-dark(#a5481f,#f0a27c);--on-accent:light-dark(#fffaf5,#2a1409);
font:1.0625rem/1.5 ui-rounded,system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--ink);overflow-wrap:anywhere;hyphens:auto}
main>*{min-width:0}
main{max-width:44rem;margin:0 auto;padding:2.5rem 1.25rem 4rem;display:grid;gap:1.5rem}
h1{font-size:1.75rem;line-height:1.2;letter-spacing:-.015em;margin:0 0 .75rem;text-wrap:balance}
h2{font-size:1.0625rem;line-height:1.3;margin:0 0 .5rem}
p{margin:0;max-width:36rem}p+p{margin-top:.75rem}.soft{color:var(--soft)}
.card{background:var(--card);border:1px solid var(--line);border-radius:1.25rem;padding:1.25rem}
.button{display:inline-flex;align-items:center;min-height:2.75rem;padding:.25rem 1.1rem;border-radius:.875rem;
font-weight:600;text-decoration:none;background:var(--accent);color:var(--on-accent)}
ol{margin:0 0 1rem;padding-inline-start:1.4rem;display:grid;gap:.5rem}li::marker{color:var(--accent);font-weight:650}
.systems{padding-block:.25rem}
details+details{border-top:1px solid var(--line)}
details:not([open])>:not(summary){display:none}
summary{min-height:3rem;display:flex;align-items:center;gap:.5rem;font-weight:600;cursor:pointer;list-style:none}
summary::-webkit-details-marker{display:none}
summary::after{content:"";margin-inline-start:auto;width:.5rem;height:.5rem;border:solid var(--soft);
border-width:0 2px 2px 0;rotate:45deg}details[open]>summary::after{rotate:225deg}
details[open]{padding-bottom:1.25rem}
code{display:block;margin-top:.75rem;padding:.75rem 1rem;border-radius:.875rem;background:var(--sunk);
font-size:.9375rem;overflow-wrap:anywhere}p code{display:inline;padding:.1rem .35rem;border-radius:.4rem}
.scan{display:flex;gap:1.25rem;align-items:center}.scan img{width:9rem;height:9rem;flex:none;border-radius:.875rem}
@media(max-width:32rem){.scan{flex-direction:column;align-items:flex-start}}
:focus-visible{outline:3px solid var(--accent);outline-offset:2px;border-radius:.4rem}
"""
POLICY = (
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; img-src data:;"
    f" style-src 'sha256-{base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()}'"
)
MOST_CHARACTERS = 500  # of what a browser calls itself


def routes(secure: SecureListener, language: str) -> list[Route]:
    """Return the guide and its two files; none of them is a secret, so no token is asked for.

    It speaks the browser's language, else that of the house, else English.
    """
    certificates, profile = secure.certificates, secure.certificates.profile()
    usual = language if language in GUIDES else "en"

    async def guide(request: Request) -> Response:
        wanted = wanted_language(request.headers.get("accept-language", ""), GUIDES) or usual
        agent = request.headers.get("user-agent", "")[:MOST_CHARACTERS].lower()
        body = guide_page(wanted, agent, f"{secure.address}/ca/", certificates.fingerprint)
        return Response(body, media_type="text/html", headers={"content-security-policy": POLICY})

    async def certificate(request: Request) -> Response:
        return Response(certificates.der, media_type="application/x-x509-ca-cert", headers=_saved_as("atlas-ca.crt"))

    async def mobileconfig(request: Request) -> Response:
        return Response(profile, media_type="application/x-apple-aspen-config", headers=_saved_as("atlas.mobileconfig"))

    return [Route("/ca/", guide), Route(CERTIFICATE, certificate), Route(PROFILE, mobileconfig)]


def _saved_as(name: str) -> dict[str, str]:
    return {"content-disposition": f'attachment; filename="{name}"'}


def guide_page(language: str, agent: str, address: str, fingerprint: str) -> str:
    """Return the guide in one language, the steps of the system that asks for it first. `agent` is in small letters."""
    words = GUIDES[language]
    here = _system_of(agent, words)
    others = [one for one in words.systems if one is not here]
    compare_how = re.sub("`([^`]+)`", r"<code>\1</code>", escape(words.compare_how))
    return f"""<!doctype html>
<html lang="{language}"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{escape(words.title)}</title><style>{STYLE}</style><main>
<header><h1>{escape(words.title)}</h1><p class="soft">{escape(words.why)}</p></header>
{_here(here, words) if here else ""}
<section><h2>{escape(words.other_devices)}</h2><div class="card systems">
{"".join(_folded(one, words) for one in others)}</div></section>
<section class="card"><p>{escape(words.then)}</p>
<p><a class="button" href="/">{escape(words.open_app)}</a></p></section>
<section class="card"><h2>{escape(words.compare)}</h2><p class="soft">{compare_how}</p>
<code translate="no">{fingerprint}</code></section>
<section class="card scan"><img src="{escape(image(address))}" alt="{escape(words.code_of.format(address=address))}">
<div><h2>{escape(words.another)}</h2><p class="soft">{escape(words.another_how)}</p>
<code translate="no">{escape(address)}</code></div></section>
</main></html>
"""


def _system_of(agent: str, words: GuideWords) -> SystemSteps | None:
    """Return the system of a browser. Android calls itself Linux too, and Firefox keeps certificates of its own."""
    if "android" not in agent and "firefox" in agent:
        return next(one for one in words.systems if one.agent == "firefox")
    return next((one for one in words.systems if re.search(one.agent, agent)), None)


def _here(system: SystemSteps, words: GuideWords) -> str:
    heading = f"{escape(words.your_device)}: {escape(system.title)}"
    return f'<section class="card"><h2>{heading}</h2>{_steps(system, words)}</section>'


def _folded(system: SystemSteps, words: GuideWords) -> str:
    return f"<details><summary>{escape(system.title)}</summary>{_steps(system, words)}</details>"


def _steps(system: SystemSteps, words: GuideWords) -> str:
    steps = "".join(f"<li>{escape(step)}</li>" for step in system.steps)
    name = words.profile if system.file == PROFILE else words.certificate
    return f'<ol>{steps}</ol><p><a class="button" href="{system.file}">{escape(name)}</a></p>'
