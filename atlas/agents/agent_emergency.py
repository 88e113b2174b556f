"""Answers emergencies with a short, calm, prepared text and the numbers of the country. Never with a model's words.

It stands before every other mind. What a grammar wholly understands is a command all the same ("remind me to take my
pills"), and is left to that. An emergency stays open for a while: whoever then asks what to do, or says what nobody
here understands, hears it once more. Nobody here can make a call, and nobody here judges an illness, so nothing is said
of doses, for people or animals.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

from atlas.agents.agent import Prepared
from atlas.conversation import Turn
from atlas.errors import ConfigError
from atlas.understanding.dialogue import recent
from atlas.understanding.emergencies import ADVICE, Emergency, open_emergencies
from atlas.understanding.understanding import Understanding

HELPLINES = Path(__file__).parent / "helplines.yaml"
_LEARNT = {"health": "health", "emergency": "danger"}  # what a parser named → what is said to it
OPEN_TURNS = 4  # of a person after the one that told of an emergency


@dataclass(frozen=True, slots=True)
class Helplines:
    """Whom a household calls. `numbers` by what they are for: emergency, fire, police, poison, crisis, abuse."""

    numbers: Mapping[str, Sequence[str]]
    contact: str = ""  # a person of the household's choice, as it shall be said: "Maria, 0170 1234567"


def open_helplines(country: str, contact: str = "") -> Helplines:
    """Return the numbers of a country by its two letters; "" has none. Raises `ConfigError` when nobody knows it."""
    known = _known()
    if country and country.lower() not in known:
        raise ConfigError(
            f"nobody told me the emergency numbers of the country {country!r}",
            hint=f"leave house.country empty, or set it to one of {', '.join(known)}",
        )
    return Helplines(known[country.lower()] if country else {}, " ".join(contact.split()))


def countries() -> tuple[str, ...]:
    """Return the countries whose numbers are known, by their two letters."""
    return tuple(_known())


@cache
def _known() -> Mapping[str, Mapping[str, Sequence[str]]]:
    known: Mapping[str, Mapping[str, Sequence[str]]] = yaml.safe_load(HELPLINES.read_text(encoding="utf-8"))
    return known


class EmergencyMind(Prepared):
    """Answers who is in danger, hurt, ill or in despair, and nobody else."""

    def __init__(self, languages: Sequence[str], helplines: Callable[[], Helplines]) -> None:
        super().__init__(self._says)
        self._helplines = helplines
        self._emergencies = open_emergencies(*languages)

    def _says(self, meant: Understanding, turn: Turn) -> str:
        emergency = self._read(meant, turn)
        return wording(emergency, self._helplines(), spoken=turn.spoken) if emergency else ""

    def _read(self, meant: Understanding, turn: Turn) -> Emergency | None:
        """Return what is the matter: as the turn tells, or as was told of just before it and is still open."""
        if turn.channel is None:
            return None  # no person said it
        return self._told_of(meant, turn) or self._open(meant, turn)

    def _told_of(self, meant: Understanding, turn: Turn) -> Emergency | None:
        """Return what is the matter in the first reading of the turn that tells of something.

        A reading that was not the likeliest only counts when it is about life, not about advice.
        """
        for number, text in enumerate((turn.text, *turn.alternatives)):
            emergency = self._emergencies.read(text)
            if emergency and (number == 0 or emergency.kind not in ADVICE):
                if meant.commands and (not meant.leans or emergency.kind in ADVICE):
                    return None
                grave = emergency.kind in ADVICE and meant.concern == "emergency"
                return self._emergencies.of_kind("danger") if grave else emergency
        kind = _LEARNT.get(meant.concern) if meant.empty else None
        return self._emergencies.of_kind(kind) if kind else None

    def _open(self, meant: Understanding, turn: Turn) -> Emergency | None:
        """Return what was told of in the last turns, or its end, where this turn is about that."""
        earlier = [message.text for message in recent(turn) if message.author == "user"][-OPEN_TURNS:]
        told_of = list(filter(None, map(self._emergencies.read, reversed(earlier))))
        if not told_of or any(map(self._emergencies.over, earlier)):
            return None
        knows_another = meant.custom or meant.restart or meant.about or (meant.commands and not meant.leans)
        if over := self._emergencies.over(turn.text):
            return None if knows_another and not self._emergencies.says_no_more(turn.text) else over
        emergency = next((one for one in told_of if one.kind not in ADVICE), None)
        if emergency is None or self._emergencies.asks_what_to_do(turn.text):
            return emergency
        return None if knows_another or self._emergencies.asks_for_something_else(turn.text) else emergency


def wording(emergency: Emergency, helplines: Helplines, *, spoken: bool) -> str:
    """Return what is said to an emergency. Pure. When it is heard, numbers are given digit by digit."""
    says = emergency.says

    def line(*names: str) -> str:
        numbers = next(filter(None, (helplines.numbers.get(name) for name in names)), ())
        return f" {says['or']} ".join(_digits(number) if spoken else number for number in numbers)

    urgent = line("emergency") or says["your_number"]
    poison, crisis, abuse = line("poison"), line("crisis"), line("abuse")
    return says[emergency.kind].format(
        emergency=urgent,
        fire=line("fire", "emergency") or says["your_number"],
        police=line("police", "emergency") or says["your_number"],
        poison=says["with_poison_line"].format(poison)
        if poison
        else says["without_poison_line"].format(emergency=urgent),
        crisis=says["with_crisis_line"].format(crisis) if crisis else says["without_crisis_line"],
        abuse=says["with_abuse_line"].format(abuse) if abuse else "",
        contact=says["with_contact"].format(helplines.contact) if helplines.contact else "",
    )


def _digits(number: str) -> str:
    """Return a number as a voice shall read it: "112" → "1 1 2", with a pause between its groups."""
    return ", ".join(" ".join(group) for group in number.replace("-", " ").split())
