"""What each right covers at the gate: the table of roles → rules that deny a tool to every role without its right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tools_server.values.language import noted
from tools_server.values.policy import OF_ROLES, Rule
from wall.roles import ROLES, Right, may


@dataclass(frozen=True, slots=True)
class Covered:
    """The calls that need a right, and what somebody hears who has it not."""

    right: Right
    because: str
    tools: tuple[str, ...] = ()
    risks: tuple[str, ...] = ()
    arguments: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


_PAPERS = ("notes.*", "facts.*", "files.*", "calendar.*", "memory.*", "ledger.*", "logs.*", "upstream.*")
_WHEREABOUTS = noted("Where people are is only for those who live here.")
COVERED = (
    Covered("send", noted("Only grown-ups who live here may send anything out of the house."), risks=("outward",)),
    Covered("remove", noted("Guests can't take anything away."), risks=("destructive",)),
    Covered("mail", noted("Mail is only for a device that I know is a grown-up's."), ("email.*",)),
    Covered("papers", noted("That is private to the people who live here."), _PAPERS),
    Covered(
        "lists",
        noted("Guests can't change the household's lists."),
        ("tasks.*", "lists.*"),
        ("change",),
    ),
    Covered("presence", _WHEREABOUTS, ("presence.*",)),
    Covered("presence", _WHEREABOUTS, ("home.state",), arguments={"kind": ("person",)}),
    Covered("announce", noted("Only who lives here may speak through the speakers."), ("broadcast.*",)),
    Covered("unlock", noted("Only who lives here and is old enough may unlock doors and gates."), ("home.unlock",)),
    Covered("lists", noted("Guests can't change the household's reminders."), ("reminders.*",), ("change",)),
    Covered("announce", noted("Messages are only for those who live here."), ("messages.*",)),
)


def rules_of_roles() -> tuple[Rule, ...]:
    """Return a rule for each piece of what is covered, against the roles that lack its right."""
    rules = []
    for number, covered in enumerate(COVERED, 1):
        lacking = tuple(role for role in ROLES if not may(role, covered.right))
        id = f"{OF_ROLES}{covered.right}-{number}"
        rules.append(
            Rule(
                *(id, "deny", covered.because),
                roles=lacking,
                tools=covered.tools,
                risks=covered.risks,
                arguments=covered.arguments,
            )
        )
    return tuple(rules)
