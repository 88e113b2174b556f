"""policy.toml → the table of rules; a wrong row stops the start with a sentence that names it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tools_server.values.boot_files import BootFailed, read_toml
from tools_server.values.policy import DAYS, RISKS, TAINT, Budget, Hours, Policy, RateLimit, Rule
from tools_server.values.rights import rules_of_roles
from wall.roles import ROLES

THEN = ("confirm", "explicit", "deny")  # rules only narrow: what may be done at all is said in the agents file
MINUTES_OF_DAY = 24 * 60
_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,60}")
_HOURS = re.compile(r"([0-2]?\d):([0-5]\d)\s*-\s*([0-2]?\d):([0-5]\d)")
_WHO = ("agents", "roles", "tools", "risks")
_RULE = ("id", "then", "because", *_WHO, "people", "rooms", "devices", "arguments", "hours", "days")
_LIMIT = ("id", "at_most", "per_seconds", *_WHO)
_BUDGET = ("id", "agents", "units_per_day")
_KNOWN = {"roles": ROLES, "risks": RISKS, "days": DAYS}


class RulesWrong(BootFailed):
    """The table cannot be used; `str()` is a sentence that says where and what would be right."""


def read_policy(file: Path) -> Policy:
    """Return the table in a file, and below it what the roles themselves may not. Raises `BootFailed`."""
    return policy_of(read_toml(file, "policy file"), file)


def policy_of(table: Mapping[str, Any], file: Path) -> Policy:
    """Return the table that stands in `file`, as it is called where it is wrong. Raises `RulesWrong`."""
    _only(f"{file}", table, ("rule", "limit", "budget", "costs"))
    rules = tuple(_rule(where, row) for where, row in _rows(file, table, "rule"))
    limits = tuple(_limit(where, row) for where, row in _rows(file, table, "limit"))
    budgets = tuple(_budget(where, row) for where, row in _rows(file, table, "budget"))
    ids = [*(rule.id for rule in rules), *(limit.id for limit in limits), *(budget.id for budget in budgets)]
    if TAINT in ids:
        raise RulesWrong(
            f"{file} has a row with the id {TAINT!r}, which stands for a rule of the gate's own. Rename it."
        )
    if twice := {id for id in ids if ids.count(id) > 1}:
        raise RulesWrong(f"{file} has two rows with the id {min(twice)!r}; give each its own.")
    return Policy((*rules, *rules_of_roles()), limits, budgets, _costs(file, table.get("costs", {})))


def _rows(file: Path, table: Mapping[str, Any], kind: str) -> list[tuple[str, Mapping[str, Any]]]:
    rows = table.get(kind, [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise RulesWrong(f"{file}: write each {kind} as [[{kind}]].")
    named = []
    for number, row in enumerate(rows, 1):
        id = row.get("id")
        if not isinstance(id, str) or not _ID.fullmatch(id):
            raise RulesWrong(
                f"{file}: {kind} {number} needs an id of small letters, digits and hyphens, such as {kind}-{number}."
            )
        named.append((f"{file}: the {kind} {id!r}", row))
    return named


def _rule(where: str, row: Mapping[str, Any]) -> Rule:
    _only(where, row, _RULE)
    if row.get("then") not in THEN:
        raise RulesWrong(f"{where} needs then = one of {', '.join(THEN)}.")
    because = row.get("because")
    if not isinstance(because, str) or not because.strip():
        raise RulesWrong(f"{where} needs because = a sentence: people hear it when the rule stops them.")
    arguments = row.get("arguments", {})
    if not isinstance(arguments, dict):
        raise RulesWrong(f'{where}: write arguments as {{ device = ["garage*"] }}.')
    conditions = {
        name: _texts(where, row, name) for name in (*_WHO, "people", "rooms", "devices", "days") if name in row
    }
    return Rule(
        id=row["id"],
        then=row["then"],
        because=because.strip(),
        arguments={name: _texts(f"{where}: arguments", arguments, name) for name in arguments},
        hours=tuple(_hours(where, text) for text in _texts(where, row, "hours")) if "hours" in row else (),
        **conditions,
    )


def _limit(where: str, row: Mapping[str, Any]) -> RateLimit:
    _only(where, row, _LIMIT)
    seconds = row.get("per_seconds")
    if not isinstance(seconds, (int, float)) or isinstance(seconds, bool) or not 0 < seconds <= 86_400:
        raise RulesWrong(f"{where} needs per_seconds = a number from 1 to 86400.")
    who = {name: _texts(where, row, name) for name in _WHO if name in row}
    return RateLimit(row["id"], _count(where, row, "at_most"), float(seconds), **who)


def _budget(where: str, row: Mapping[str, Any]) -> Budget:
    _only(where, row, _BUDGET)
    return Budget(row["id"], _texts(where, row, "agents"), _count(where, row, "units_per_day"))


def _costs(file: Path, row: Any) -> dict[str, int]:
    if not isinstance(row, dict):
        raise RulesWrong(f"{file}: write costs as a table: [costs].")
    _only(f"{file}: [costs]", row, RISKS)
    return {**Policy().costs, **{risk: _count(f"{file}: [costs]", row, risk) for risk in row}}


def _count(where: str, row: Mapping[str, Any], key: str) -> int:
    value = row.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise RulesWrong(f"{where} needs {key} = a whole number that is not negative.")
    return value


def _texts(where: str, row: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """Return a list of texts. An empty one is refused: it would fit everything, which nobody means by it."""
    values = row.get(key)
    if not isinstance(values, list) or not values or not all(isinstance(value, str) and value for value in values):
        raise RulesWrong(f"{where}: {key} is a list of texts with at least one in it.")
    if unknown := set(values) - set(_KNOWN.get(key, values)):
        raise RulesWrong(f"{where}: {min(unknown)!r} is none of the {key}, which are {', '.join(_KNOWN[key])}.")
    return tuple(values)


def _hours(where: str, text: str) -> Hours:
    match = _HOURS.fullmatch(text.strip())
    begin, end = (int(match[1]) * 60 + int(match[2]), int(match[3]) * 60 + int(match[4])) if match else (0, 0)
    if not match or begin >= MINUTES_OF_DAY or end > MINUTES_OF_DAY or begin == end:
        raise RulesWrong(f'{where}: write hours as "21:00-07:00", not {text!r}.')
    return Hours(begin, end)


def _only(where: str, row: Mapping[str, Any], known: tuple[str, ...]) -> None:
    if unknown := set(row) - set(known):
        raise RulesWrong(f"{where} has an unknown key {min(unknown)!r}; the keys are {', '.join(known)}.")
