"""What each right covers at the gate: the table of roles → rules that deny a tool to every role without its right."""

from __future__ import annotations

from dataclasses import replace

from tools_server.values.language import noted
from tools_server.values.policy import OF_ROLES, Rule
from wall.roles import ROLES, Right, may


def _without(
    right: Right, because: str, tools: tuple[str, ...] = (), risks: tuple[str, ...] = (), **arguments: tuple[str, ...]
) -> tuple[Right, Rule]:
    """Return a right, and the rule against the roles that lack it: for which calls, and what somebody then hears."""
    lacking = tuple(role for role in ROLES if not may(role, right))
    return right, Rule(OF_ROLES, "deny", because, roles=lacking, tools=tools, risks=risks, arguments=arguments)


_PAPERS = ("notes.*", "facts.*", "files.*", "calendar.*", "memory.*", "ledger.*", "logs.*", "upstream.*")
_WHEREABOUTS = noted("Where people are is only for those who live here.")
COVERED = (
    _without("send", noted("Only grown-ups who live here may send anything out of the house."), risks=("outward",)),
    _without("remove", noted("Guests can't take anything away."), risks=("destructive",)),
    _without("mail", noted("Mail is only for a device that I know is a grown-up's."), ("email.*",)),
    _without("papers", noted("That is private to the people who live here."), _PAPERS),
    _without("lists", noted("Guests can't change the household's lists."), ("tasks.*", "lists.*"), ("change",)),
    _without("presence", _WHEREABOUTS, ("presence.*",)),
    _without("presence", _WHEREABOUTS, ("home.state",), kind=("person",)),
    _without("announce", noted("Only who lives here may speak through the speakers."), ("broadcast.*",)),
    _without("unlock", noted("Only who lives here and is old enough may unlock doors and gates."), ("home.unlock",)),
    _without("lists", noted("Guests can't change the household's reminders."), ("reminders.*",), ("change",)),
    _without("announce", noted("Messages are only for those who live here."), ("messages.*",)),
)


def rules_of_roles() -> tuple[Rule, ...]:
    """Return a rule for each piece of what is covered, against the roles that lack its right."""
    return tuple(replace(rule, id=f"{OF_ROLES}{right}-{number}") for number, (right, rule) in enumerate(COVERED, 1))
