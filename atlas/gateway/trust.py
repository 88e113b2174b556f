"""/ca/: how a phone comes to trust the house: the certificate, its fingerprint, and the steps for each system."""

from __future__ import annotations

import base64
import hashlib
from html import escape

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from atlas.access.certificates import STEPS, HouseCertificates

STYLE = (
    "body{font:1rem/1.5 system-ui,sans-serif;max-width:40rem;margin:2rem auto;padding:0 1rem;color-scheme:light dark}"
    "code{overflow-wrap:anywhere}a{display:inline-block;min-height:44px}"
)
POLICY = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; style-src 'sha256-{}'"


def routes(certificates: HouseCertificates) -> list[Route]:
    """Return the guide and its two files. None of them is a secret, so no token is asked for."""
    style = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
    body, profile = _page(certificates), certificates.profile()

    async def guide(request: Request) -> Response:
        return Response(body, media_type="text/html", headers={"content-security-policy": POLICY.format(style)})

    async def certificate(request: Request) -> Response:
        return Response(certificates.der, media_type="application/x-x509-ca-cert", headers=_saved_as("atlas-ca.crt"))

    async def mobileconfig(request: Request) -> Response:
        return Response(profile, media_type="application/x-apple-aspen-config", headers=_saved_as("atlas.mobileconfig"))

    return [
        Route("/ca/", guide),
        Route("/ca/atlas-ca.crt", certificate),
        Route("/ca/atlas.mobileconfig", mobileconfig),
    ]


def _saved_as(name: str) -> dict[str, str]:
    return {"content-disposition": f'attachment; filename="{name}"'}


def _page(certificates: HouseCertificates) -> str:
    steps = "".join(
        f"<h2>{escape(system)}</h2><ol>{''.join(f'<li>{escape(step)}</li>' for step in lines)}</ol>"
        for system, lines in STEPS.items()
    )
    return f"""<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Trust this house</title>
<style>{STYLE}</style><main>
<h1>Trust this house</h1>
<p>A phone gives its microphone only to pages that it trusts. This certificate vouches for names and addresses that only
a house has, and for no site of the internet.</p>
<p><a href="/ca/atlas-ca.crt">Certificate</a> ·
<a href="/ca/atlas.mobileconfig">Profile for iPhone, iPad and Mac</a></p>
<p>Compare before you install it: <code>atlas doctor</code> on the house's machine shows the same fingerprint.</p>
<p><code>{certificates.fingerprint}</code></p>
{steps}</main></html>
"""
