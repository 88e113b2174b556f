"""Says whose paper it is: what a person asked to be remembered for themselves is shown to nobody else.

Such papers lie in facts/people, one file a person. The gate shuts that folder for every tool but for the caller's own
file, so that no other tool (files, memory) leads round the one that keeps them. Who sits at the machine can read them
as they can read everything.
"""

from __future__ import annotations

import hashlib
import re

from tools_server.values.policy import CallActor
from wall.patterns import plain
from wall.roles import NOBODY

PEOPLE = "facts/people"
HOUSEHOLD = "facts/household.md"
_NAME = re.compile(r"[a-z0-9]{1,40}( [a-z0-9]+){0,5}", re.ASCII)
NAME_CHARACTERS = 60


def own_file(actor: CallActor) -> str:
    """Return where what is a person's own lies; "" for guests, and when it is not known who asks.

    Names that are written the same to a person's eye have one file, and no two others do.
    """
    name = plain(actor.person)
    if not name or actor.role == NOBODY:
        return ""
    if _NAME.fullmatch(name) and len(name) <= NAME_CHARACTERS:
        return f"{PEOPLE}/{name}.md"
    letters = re.sub(r"[^a-z0-9]+", "-", name).strip("-")[:NAME_CHARACTERS] or "person"
    return f"{PEOPLE}/{letters}-{hashlib.sha256(name.encode()).hexdigest()[:12]}.md"
