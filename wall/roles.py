"""Who may be what in a house, and what each may: the one table of roles, by which house and tool server both go.

A role is the standing of a device, given when it is let in, and never said by a request. Settings and rules can only
narrow what is written here: which agent answers whom (atlas.toml), what is done when and where (policy.toml).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

Role = Literal["owner", "adult", "teen", "child", "guest", "satellite"]
Right = Literal[
    "manage",  # let devices in and out, ask on behalf of others, and see, export and forget what is theirs
    "assent",  # answer a question that was put to somebody else
    "reside",  # count as the household: be served before guests, answer for a room, be rung
    "household",  # change what everybody is told
    "papers",  # notes, facts, files, calendars, memories, and what the house has spent
    "lists",  # change tasks, lists and reminders
    "presence",  # hear where people are
    "announce",  # speak through the loudspeakers of others
    "mail",  # read and send it
    "remove",  # take away what somebody wrote
    "send",  # tell somebody outside the house
    "unlock",  # doors and gates
]

ROLES: tuple[Role, ...] = get_args(Role)
NOBODY: Role = "guest"  # whoever is not named: leaving it out opens nothing
_RESIDENT: frozenset[Right] = frozenset({"reside", "papers", "lists", "presence", "announce", "remove"})
RIGHTS: Mapping[Role, frozenset[Right]] = {
    "owner": frozenset(get_args(Right)),
    "adult": _RESIDENT | {"assent", "household", "mail", "send", "unlock"},
    "teen": _RESIDENT | {"household", "unlock"},
    "child": _RESIDENT,
    "guest": frozenset(),  # light, warmth, music, timers, questions about the world; and only until a day and hour
    "satellite": _RESIDENT | {"household", "send", "unlock"},  # a room: nobody knows who speaks there, so no mail
}


ROOM: Role = "satellite"  # where nobody knows who speaks, unless by their voice
# Whom a voice may name in a room. The rights stay the room's; an owner's name weighs more than those.
NAMED_BY_VOICE: frozenset[Role] = frozenset({"adult", "teen", "child"})


def may(role: str, right: Right) -> bool:
    """Tell whether a role has a right; what is no role has none."""
    return right in RIGHTS.get(role, ())  # type: ignore[call-overload]  # any text may be asked about
