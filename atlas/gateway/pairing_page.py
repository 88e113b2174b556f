"""Makes the page at /pair, where a device comes in before it has the app: small, and in the app's languages."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from html import escape

from atlas.gateway.wanted_language import wanted_language

STYLE = """
:root{color-scheme:light dark;--accent:light-dark(#a5481f,#f0a27c)}
body{font:1.125rem/1.5 system-ui,sans-serif;max-width:26rem;margin:3rem auto;padding:0 1rem;
background:light-dark(#f7f3ec,#191714);color:light-dark(#2a2622,#efe9e1)}
input,button{font:inherit;min-height:3.25rem;width:100%;box-sizing:border-box;margin:.5rem 0;border-radius:.875rem;
border:1px solid;padding:0 1rem}
button{border-color:transparent;background:var(--accent);color:light-dark(#fff,#191714);font-weight:600}
a{color:var(--accent)}:focus-visible{outline:3px solid var(--accent);outline-offset:2px}
"""
SCRIPT = """
const form = document.querySelector("form"), code = document.querySelector("input");
const say = document.body.dataset;
const byCookie = location.protocol === "https:";
const status = document.querySelector("[role=status]");
const link = location.hash.slice(1);
let replaces = "";
history.replaceState(null, "", location.pathname);
if (link) { code.value = link; code.type = "hidden"; document.querySelector("label").hidden = true; }
code.addEventListener("input", () => { replaces = ""; });
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  status.textContent = say.moment;
  try {
    const reply = await fetch("/pair", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ secret: code.value, as: byCookie ? "cookie" : "token", replaces }),
    });
    const body = await reply.json();
    if (body.here) {
      replaces = body.here;
      status.textContent = say.replaces.replace("{here}", body.here).replace("{device}", body.device);
      return;
    }
    if (!reply.ok) {
      status.textContent = say[body.error.code] ?? say.other;
      return;
    }
    if (byCookie) {
      try { localStorage.setItem("atlas.device", body.device); } catch { /* the app asks the house instead */ }
    }
    location.replace(byCookie ? "/" : "/#token=" + body.token);
  } catch {
    status.textContent = say.gone;
  }
});
"""
AT_ONCE = ("title", "code", "enter", "warning", "trust")  # what is on the page; the rest is said later, by its name
WORDS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "title": "Come in",
        "code": "Six digits, or the setup code that stands on the house's console",
        "enter": "Let this device in",
        "warning": "No microphone later, or a warning of the browser now?",
        "trust": "Have this device trust the house",
        "moment": "One moment…",
        "replaces": "This browser is “{here}” now. Press again, and it is “{device}” instead.",
        "invalid_pairing": "This invitation is not open: used, over, or mistyped too often. Ask for a new one.",
        "permission_denied": "Not from this address: open the house's own https address here.",
        "too_many_guesses": "There were too many wrong tries. Wait a few seconds.",
        "rate_limit_exceeded": "That was too much at once. Try again in a moment.",
        "name_taken": "A device of that name is in already. Ask for an invitation with another name.",
        "person_known": "Its person has come in otherwise meanwhile. Ask for a new invitation.",
        "other": "That did not work, and the house did not say why. Try again, or ask for a new invitation.",
        "gone": "The house does not answer. Is this device in its network?",
    },
    "de": {
        "title": "Hereinkommen",
        "code": "Sechs Ziffern, oder der Code, der an der Konsole des Hauses steht",
        "enter": "Dieses Gerät hereinlassen",
        "warning": "Später kein Mikrofon, oder jetzt eine Warnung des Browsers?",
        "trust": "Diesem Haus vertrauen",
        "moment": "Einen Moment …",
        "replaces": "Dieser Browser ist jetzt „{here}“. Noch einmal drücken, und er ist stattdessen „{device}“.",
        "invalid_pairing": "Diese Einladung ist nicht offen: benutzt, vorbei oder zu oft vertippt. Bitte um eine neue.",
        "permission_denied": "Nicht unter dieser Adresse: Öffne hier die https-Adresse des Hauses.",
        "too_many_guesses": "Es gab zu viele falsche Versuche. Warte ein paar Sekunden.",
        "rate_limit_exceeded": "Das war zu viel auf einmal. Versuch es gleich noch einmal.",
        "name_taken": "Ein Gerät mit diesem Namen ist schon da. Bitte um eine Einladung mit einem anderen Namen.",
        "person_known": "Sein Mensch ist inzwischen anders hereingekommen. Bitte um eine neue Einladung.",
        "other": "Das ging nicht, und das Haus sagt nicht, warum. Versuch es noch einmal, oder mit neuer Einladung.",
        "gone": "Das Haus antwortet nicht. Ist dieses Gerät in seinem Netz?",
    },
}


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


POLICY = (
    "default-src 'none'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none';"
    f" style-src 'sha256-{_digest(STYLE)}'; script-src 'sha256-{_digest(SCRIPT)}'"
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
<button>{words["enter"]}</button></form><p role="status"></p>
<p>{words["warning"]} <a href="/ca/">{words["trust"]}</a></p></main>
<script>{SCRIPT}</script></body></html>
"""
