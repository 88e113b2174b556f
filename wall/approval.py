"""Why a tool of another server is not listed: codes, which the app says in its own language."""

from __future__ import annotations

from typing import Literal

Unfitness = Literal[
    "no_json",
    "odd_name",
    "no_object",
    "too_long",
    "no_json_schema",
    "too_deep",
    "refers_elsewhere",
    "odd_argument",
    "hidden_text",
    "odd_choice",
    "too_many_tools",
]
Wait = Literal["not_approved", "changed", "same_name"] | Unfitness
