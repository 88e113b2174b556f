"""How German says when: "morgen um halb acht", "jeden Werktag", "am 3. Mai". Patterns for `moments.py`; pure data."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

_TENS = "zwanzig|drei(?:ß|ss)ig|vierzig|f(?:ü|ue)nfzig|sechzig"
_ONES = "null|eine?[nrsm]?|eins|zwei|zwo|drei|vier|f(?:ü|ue)nf|sechs|sieben|acht|neun"
_TEENS = "zehn|elf|zw(?:ö|oe)lf|dreizehn|vierzehn|f(?:ü|ue)nfzehn|sechzehn|siebzehn|achtzehn|neunzehn"
_N = rf"(?:\d{{1,2}}|(?:(?:ein|zwei|drei|vier|f(?:ü|ue)nf|sechs|sieben|acht|neun)und)?(?:{_TENS})|{_TEENS}|{_ONES})"
_NTH = (
    rf"(?:\d{{1,2}}\.?|(?:erst|zweit|dritt|viert|f(?:ü|ue)nft|sechst|siebt|acht|neunt|(?:{_TEENS})t"
    rf"|(?:(?:ein|zwei|drei|vier|f(?:ü|ue)nf|sechs|sieben|acht|neun)und)?(?:{_TENS})st)e[nrsm]?)"
)
WEEKDAY = r"(?:montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonnabend|sonntag)"
_MONTH = r"(?:januar|j(?:ä|ae)nner|februar|m(?:ä|ae)rz|april|mai|juni|juli|august|september|oktober|november|dezember)"
_PART = r"(?:fr(?:ü|ue)h|vormittag|mittag|nachmittag|abend|nacht)"
_UNIT = r"(?:sekunden?|minuten?|stunden?|tage?n?|wochen?|monate?n?|jahre?n?)"
_LENGTH = (
    rf"(?:(?:einer |'?ner )?(?:dreiviertel|viertel|halben?) ?stunde"
    rf"|(?:anderthalb|\w+einhalb) stunden|(?:ein paar|einigen|{_N}) {_UNIT}(?: und {_N} {_UNIT})?)"
)
_NEXT = r"(?:n(?:ä|ae)chste[nrsm]?|kommende[nrsm]?|diese[nrsm]?)"
_EVERY = r"(?:(?:an )?jede[nmsr]?|alle)"
_FEAST = r"(?:heilig ?abend|weihnachten|silvester|neujahr|oster(?:n|montag|sonntag)|karfreitag|pfingst(?:en|montag))"

# An hour alone answers when: "acht", "halb acht" is a clock by itself. Digits are read as in every language.
HOUR = re.compile(rf"(?:{_TEENS}|{_ONES})", re.IGNORECASE)
HOURS = rf"(?:(?:halb|viertel (?:vor|nach)|dreiviertel) )?{_N}"
# "morgen sechs dreißig", "Freitag acht" at the end of a sentence; "morgen zwei Eier" is no time.
AFTER_DAY = rf" {HOURS}(?: (?:f(?:ü|ue)nfzehn|f(?:ü|ue)nfundvierzig|zehn|{_TENS})(?![\w'-])|(?= ?[.,!?]|$))"
ATOMS: Mapping[str, Sequence[str]] = {
    "event": (),
    "often": (
        rf"am {_NTH} (?:tag )?(?:jedes|jeden) monats?",
        rf"{_EVERY} (?:zweite[nrsm]? |dritte[nrsm]? )?{WEEKDAY}(?:{_PART})?(?:(?: und|,)? (?:jeden )?{WEEKDAY})*",
        rf"{_EVERY} (?:zweite[nrsm]? )?(?:werktage?|arbeitstage?|wochentage?|wochenenden?|tag|woche|monat|jahr|stunde)",
        rf"{_EVERY} (?:morgen|{_PART})",
        rf"alle {_N} {_UNIT}",
        r"(?:an (?:allen |den )?|jeden )schultage?n?",
        rf"{WEEKDAY}s(?: und {WEEKDAY}s)*|werktags|wochentags|(?:immer )?(?:unter|während) der woche(?: immer)?",
        r"(?:von )?montags? bis freitags?|(?:immer am|jedes) wochenende",
        r"t(?:ä|ae)glich|w(?:ö|oe)chentlich|monatlich|j(?:ä|ae)hrlich|st(?:ü|ue)ndlich",
    ),
    "length": (rf"in {_LENGTH}",),
    "day": (
        rf"(?:am )?{WEEKDAY},? (?:(?:(?:den|dem) )?\d{{1,2}}\.(?! ?(?:\d|{_MONTH}))"
        r"|(?:den|dem) \d{1,2}(?= (?:an|um|zu|ab|gegen|dass|daran)\b|[,:]|$))",
        rf"(?:(?:am|den) )?{_NTH} {_MONTH}(?: 20\d\d)?",
        rf"am \d{{1,2}}\.(?! ?(?:\d|{_MONTH}|{WEEKDAY}))",
        rf"(?:(?:ü|ue)bermorgen|heute|morgen)(?: {_PART})?",
        rf"(?:am |{_NEXT} |am {_NEXT} )?{WEEKDAY}{_PART}",
        rf"(?:am |{_NEXT} |am {_NEXT} )?{WEEKDAY}(?: {_PART})?",
        rf"(?:am |an |zu )?{_FEAST}",
        rf"(?:am |(?:ü|ue)bers )?(?:{_NEXT} )?wochenende|(?:in der )?{_NEXT} (?:woche|monat|jahr)",
        r"in den n(?:ä|ae)chsten (?:paar )?tagen|heute in (?:einer woche|acht tagen)",
        r"(?:am (?:morgen|vormittag|nachmittag|abend|mittag)|in der (?:fr(?:ü|ue)h|nacht))",
        r"morgens|vormittags|mittags|nachmittags|abends|nachts",
    ),
    "clock": (
        rf"(?:um |gegen )?(?:halb|dreiviertel|viertel) {_N}(?: uhr)?",
        rf"(?:um |gegen )?(?:(?:ein )?viertel|{_N}(?: minuten?)?) (?:vor|nach) {_N}(?: uhr)?",
        rf"(?:um |gegen )?(?:{_N} uhr(?: (?!eine?[nrm]?\b){_N})?|\d{{1,2}}:\d\d(?: uhr)?)",
        rf"um (?:mitternacht|{_N}(?: (?!ein){_N})?)(?! ?(?:prozent|grad|minute|stunde|sekunde|minutes|hours|seconds))",
    ),
}
