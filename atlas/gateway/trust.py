"""/ca/: how a device comes to trust the house: the certificate, its fingerprint, and the steps for each system."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

import yaml
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from atlas.access.qr import image
from atlas.gateway.https import SecureListener
from atlas.gateway.page import inline, typeface
from atlas.gateway.wanted_language import wanted_language

CERTIFICATE, PROFILE = "/ca/atlas-ca.crt", "/ca/atlas.mobileconfig"
STYLE = typeface() + Path(__file__).with_suffix(".css").read_text(encoding="utf-8")
POLICY = (
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; font-src 'self'; img-src data:;"
    f" style-src {inline(STYLE)}"
)
MOST_CHARACTERS = 500  # of what a browser calls itself


class SystemSteps(NamedTuple):
    """What to do on one system; `agent` is how its browsers name it, "" where none does."""

    title: str
    agent: str
    file: str  # what is fetched first
    steps: Sequence[str]


class GuideWords(NamedTuple):
    """The guide in one language."""

    title: str
    why: str
    certificate: str
    profile: str
    your_device: str
    other_devices: str
    then: str
    open_app: str
    compare: str
    compare_how: str
    another: str
    another_how: str
    code_of: str  # {address}
    systems: Sequence[SystemSteps]


def _read() -> Mapping[str, GuideWords]:
    guides = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
    return {
        language: GuideWords(**words | {"systems": tuple(SystemSteps(**one) for one in words["systems"])})
        for language, words in guides.items()
    }


GUIDES = _read()


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
