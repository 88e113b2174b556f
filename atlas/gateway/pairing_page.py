"""Makes the page at /pair, where a device comes in before it has the app: small, and in the app's languages."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from pathlib import Path

import yaml

from atlas.gateway.page import inline, typeface
from atlas.gateway.wanted_language import wanted_language
from atlas.store.devices import NAME_CHARACTERS

FILE = Path(__file__)
STYLE = typeface() + FILE.with_suffix(".css").read_text(encoding="utf-8")
SCRIPT = FILE.with_suffix(".js").read_text(encoding="utf-8")
AT_ONCE = (
    "title",
    "code",
    "called",
    "example",
    "enter",
    "warning",
    "trust",
)  # what is on the page; the rest is said later, by its name
WORDS: Mapping[str, Mapping[str, str]] = yaml.safe_load(FILE.with_suffix(".yaml").read_text(encoding="utf-8"))
POLICY = (
    "default-src 'none'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none';"
    f" font-src 'self'; style-src {inline(STYLE)}; script-src {inline(SCRIPT)}"
)


def pairing_page(accepted: str) -> str:
    """Return the page in the language that a browser wants most, by its Accept-Language; else in English."""
    language = wanted_language(accepted, WORDS) or "en"
    words = {name: escape(text) for name, text in WORDS[language].items()}
    said_later = " ".join(f'data-{name}="{words[name]}"' for name in words if name not in AT_ONCE)
    return f"""<!doctype html>
<html lang="{language}"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{words["title"]}</title><style>{STYLE}</style><body {said_later}><main><h1>{words["title"]}</h1><form>
<label for="code">{words["code"]}</label>
<input id="code" autocomplete="one-time-code" autocapitalize="characters" maxlength="64" required>
<div id="naming" hidden><label for="name">{words["called"]}</label>
<input id="name" maxlength="{NAME_CHARACTERS}" placeholder="{words["example"]}"></div>
<button>{words["enter"]}</button></form><p role="status"></p>
<p>{words["warning"]} <a href="/ca/">{words["trust"]}</a></p></main>
<script>{SCRIPT}</script></body></html>
"""
