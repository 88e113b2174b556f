"""Says what is not sound about a table of rules: in a sentence, and the rules that it is about as data.

The tool server's own command writes one as a line of JSON, and the house reads it.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class UnsoundRules:
    """Why a table of rules is refused."""

    sentence: str
    never: str = ""  # the id of a rule that can never fire; "" when it is about something else
    before: tuple[str, ...] | None = None  # the rules that always decide before that one; None: no call fits it at all

    @property
    def details(self) -> dict[str, Any]:
        """Return which rules it is about, for programs; {} when it is about none."""
        return {"never": self.never, "before": self.before} if self.never else {}

    def json(self) -> str:
        """Return it as a line of JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def read(cls, line: str) -> UnsoundRules:
        """Return what `json` wrote. Raises `ValueError`, `TypeError` for any other line."""
        values = json.loads(line)
        before = values.pop("before")
        return cls(**values, before=None if before is None else tuple(before))
