"""Proves the table of rules sound: z3 looks, over every call that could be made, for one that shows it is not.

Three things are proven at the start, and one that cannot be stops it: every rule can fire (a rule that never speaks
protects nobody, and its author believes that it does); no outward tool is open to guests; and the folders of a private
agent cannot be reached on behalf of anybody it does not act for. Agents, roles and tools are finite; people, rooms,
devices and arguments are texts of any content; times are every minute of a week.

z3 takes over a hundred megabytes, so the proof runs in a process that ends with it, and is remembered by what went
into it.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any, TypeAlias

from pydantic import TypeAdapter

from tools_server.values.codes import Code
from tools_server.values.policy import (
    DAYS,
    OF_ROLES,
    STRICTNESS,
    Action,
    AgentAccount,
    Hours,
    Policy,
    Rule,
)
from tools_server.values.rules import RulesWrong
from wall.patterns import fits_any, plain
from wall.roles import NOBODY, ROLES

# z3 carries no types of its own.
Solver: TypeAlias = Any
BoolRef: TypeAlias = Any
ArithRef: TypeAlias = Any
SeqRef: TypeAlias = Any
ReRef: TypeAlias = Any

SOLVER_MILLISECONDS = 10_000  # of one question; the whole default table takes a tenth of a second
PROOF_SECONDS = 120.0
PROVED_FILE = "policy.proved"
_STRICTNESS_OF_LEVEL = {"auto": 0, "confirm": 1, "explicit": 2}
_PLACES = ("people", "rooms", "devices")


@dataclass(frozen=True, slots=True)
class SoundnessQuestion:
    """All that the soundness of a table depends on."""

    policy: Policy
    agents: tuple[AgentAccount, ...]
    actions: tuple[Action, ...]
    takes: Mapping[str, tuple[str, ...]]  # tool → the names of its arguments

    def digest(self) -> str:
        """Return the SHA-256 of everything in it, in hex."""
        return hashlib.sha256(json.dumps(dataclasses.asdict(self), sort_keys=True).encode()).hexdigest()


def prove(question: SoundnessQuestion, data: Path, solve: Callable[[str], str] | None = None) -> None:
    """Return when the table is sound; what was proven before is not proven again. Raises `RulesWrong` with a sentence.

    `data` is the folder where that is remembered; `solve` is `solved`, or what calls it somewhere else.
    """
    remembered, digest = data / PROVED_FILE, question.digest()
    if remembered.is_file() and remembered.read_bytes().strip() == digest.encode():
        return
    if problem := (solve or solved)(json.dumps(dataclasses.asdict(question))):
        raise RulesWrong(problem)
    remembered.write_text(digest + "\n", encoding="utf-8")


def solved(question: str) -> str:
    """Return what is unsound about a question, given as JSON; "" when nothing is. Runs a process of its own."""
    command = [sys.executable, "-m", "tools_server.values.prove"]
    try:
        ended = subprocess.run(  # noqa: S603 — ourselves
            command,
            input=question,
            capture_output=True,
            text=True,
            timeout=PROOF_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"The rules could not be proven within {PROOF_SECONDS:g} seconds ({Code.UNPROVEN}). Make them fewer."
    if ended.returncode:
        return f"The rules could not be proven ({Code.UNPROVEN}): {ended.stderr.strip().splitlines()[-1:]}."
    return ended.stdout.strip()


def problems(question: SoundnessQuestion) -> Iterable[str]:
    """Yield what is unsound, each as a sentence that says what to change."""
    world = _World(question)
    for rule in question.policy.rules:
        if not rule.id.startswith(OF_ROLES):  # they stand whether or not a tool that they close is here
            yield from world.never_fires(rule)
    yield from world.outward_for_guests()
    yield from world.private_folders()


class _World:
    """Any one call, as z3 sees it: which agent, role and tool, when, where, by whom, with which arguments."""

    def __init__(self, question: SoundnessQuestion) -> None:
        import z3

        self._z3: Any = z3
        self._question = question
        self._agent, self._role, self._tool, self._day, self._minute = z3.Ints("agent role tool day minute")
        self._text = {name: z3.String(name) for name in _PLACES}
        names = {name for rule in question.policy.rules for name in rule.arguments}
        self._argument = {name: z3.String(f"argument {name}") for name in names}
        self._given = {name: z3.Bool(f"given {name}") for name in names}

    def never_fires(self, rule: Rule) -> Iterable[str]:
        """Say so when no call could ever be decided by this rule."""
        alone = self._solver()
        alone.add(self._fits(rule))
        match self._answer(alone, rule):
            case "no":
                yield f"The rule {rule.id!r} can never fire: no call fits everything it names. Change or remove it."
                return
            case str(unproven) if unproven != "yes":
                yield unproven
                return
        solver = self._solver()
        solver.add(self._fits(rule), self._level_below(rule))
        stronger = {f"rule {other.id}": other for other in self._stronger(rule)}
        for name, other in stronger.items():
            solver.assert_and_track(self._z3.Not(self._fits(other)), name)
        answer = self._answer(solver, rule)
        if answer == "no":
            core = [stronger[str(name)].id for name in solver.unsat_core()]
            by = " and ".join(repr(id) for id in core) or "the level that its tools ask for themselves"
            yield f"The rule {rule.id!r} can never fire: {by} always decides before it. Change or remove one."
        elif answer != "yes":
            yield answer

    def outward_for_guests(self) -> Iterable[str]:
        """Say so when a guest could use a tool that tells somebody outside the house, whoever says yes to it."""
        outward = [number for number, action in enumerate(self._question.actions) if action.risk == "outward"]
        solver = self._solver()
        solver.add(self._one_of(self._tool, outward), self._role == ROLES.index(NOBODY), self._not_denied())
        if witness := self._witness(solver, "outward tools are closed to guests"):
            agent, _, action = witness
            yield (
                f"A guest could use {action.tool}, which sends something out of the house, through the agent "
                f"{agent.name!r}. Add a rule that denies it to guests, or take it from that agent."
            )

    def private_folders(self) -> Iterable[str]:
        """Say so when a folder of a private agent can be reached for somebody whom that agent does not act for."""
        for private in self._question.agents:
            roots = set(private.roots)
            if not private.private or not roots:
                continue
            reaching = [
                (number, tool)
                for number, agent in enumerate(self._question.agents)
                for tool, action in enumerate(self._question.actions)
                if action.root and (roots & set(agent.roots) if action.root == "*" else action.root in roots)
            ]
            strangers = [number for number, role in enumerate(ROLES) if private.roles and role not in private.roles]
            solver = self._solver()
            solver.add(
                self._z3.Or([self._z3.And(self._agent == agent, self._tool == tool) for agent, tool in reaching]),
                self._one_of(self._role, strangers),
                self._not_denied(),
            )
            if witness := self._witness(solver, f"the folders of {private.name!r} are its own"):
                agent, role, action = witness
                yield (
                    f"The agent {agent.name!r} could reach a folder of the private agent {private.name!r} "
                    f"({', '.join(sorted(roots & set(agent.roots)))}) for a {role}, with {action.tool}. "
                    "Give it folders of its own."
                )

    # ── one call ───────────────────────────────────────────────────────────────────────────────────

    def _solver(self) -> Solver:
        solver = self._z3.Solver()
        solver.set("timeout", SOLVER_MILLISECONDS)
        for variable, count in (
            (self._agent, len(self._question.agents)),
            (self._role, len(ROLES)),
            (self._tool, len(self._question.actions)),
            (self._day, len(DAYS)),
            (self._minute, 24 * 60),
        ):
            solver.add(variable >= 0, variable < count)
        for name, given in self._given.items():
            takers = [n for n, action in enumerate(self._question.actions) if name in self._question.takes[action.tool]]
            solver.add(self._z3.Implies(given, self._one_of(self._tool, takers)))
        return solver

    def _fits(self, rule: Rule) -> BoolRef:
        """Say of any call what `Rule.fits` says of one."""
        agents = [agent.name for agent in self._question.agents]
        actions = self._question.actions
        texts = {"people": rule.people, "rooms": rule.rooms, "devices": rule.devices}
        return self._z3.And(
            self._named(self._agent, agents, rule.agents),
            self._named(self._role, ROLES, rule.roles),
            self._one_of(self._tool, [number for number, action in enumerate(actions) if rule.concerns(action)]),
            self._named(self._tool, [action.tool for action in actions], rule.tools),
            self._named(self._tool, [action.risk for action in actions], rule.risks),
            *(self._matches(self._text[name], patterns) for name, patterns in texts.items() if patterns),
            *(
                self._z3.And(self._given[name], self._matches(self._argument[name], patterns))
                for name, patterns in rule.arguments.items()
            ),
            self._z3.Or([self._during(hours) for hours in rule.hours]) if rule.hours else True,
            self._one_of(self._day, [DAYS.index(day) for day in rule.days]) if rule.days else True,
        )

    def _stronger(self, rule: Rule) -> Sequence[Rule]:
        """Return the rules that decide instead of this one wherever both fit."""
        rules = self._question.policy.rules
        mine = STRICTNESS[rule.then]
        return [
            other
            for number, other in enumerate(rules)
            if STRICTNESS[other.then] > mine or (STRICTNESS[other.then] == mine and number < rules.index(rule))
        ]

    def _level_below(self, rule: Rule) -> BoolRef:
        """Leave out the tools that ask for more by themselves."""
        mine = STRICTNESS[rule.then]
        weaker = [n for n, action in enumerate(self._question.actions) if _STRICTNESS_OF_LEVEL[action.level] <= mine]
        return self._one_of(self._tool, weaker)

    def _not_denied(self) -> BoolRef:
        """Say that the walls let the call through and no rule denies it."""
        allowed = [
            self._z3.And(self._agent == a, self._role == r, self._tool == t)
            for a, agent in enumerate(self._question.agents)
            for r, role in enumerate(ROLES)
            for t, action in enumerate(self._question.actions)
            if _walls_allow(agent, role, action)
        ]
        denying = [rule for rule in self._question.policy.rules if rule.then == "deny"]
        return self._z3.And(self._z3.Or(allowed), *(self._z3.Not(self._fits(rule)) for rule in denying))

    def _named(self, variable: ArithRef, values: Sequence[str], patterns: Sequence[str]) -> BoolRef:
        if not patterns:
            return self._z3.BoolVal(True)
        fitting = [n for n, value in enumerate(values) if fits_any(tuple(patterns), value)]
        return self._one_of(variable, fitting)

    def _one_of(self, variable: ArithRef, numbers: Sequence[int]) -> BoolRef:
        return self._z3.Or([variable == number for number in numbers])

    def _during(self, hours: Hours) -> BoolRef:
        join = self._z3.And if hours.begin <= hours.end else self._z3.Or
        return join(self._minute >= hours.begin, self._minute < hours.end)

    def _matches(self, text: SeqRef, patterns: Sequence[str]) -> BoolRef:
        return self._z3.Or([self._z3.InRe(text, self._regex(plain(pattern))) for pattern in patterns])

    def _regex(self, pattern: str) -> ReRef:
        """Return a shell pattern as z3's regular expression."""
        z3 = self._z3
        any_character = z3.AllChar(z3.ReSort(z3.StringSort()))
        parts: list[Any] = [z3.Re("")]
        at = 0
        while at < len(pattern):
            character, at = pattern[at], at + 1
            if character == "*":
                parts.append(z3.Star(any_character))
            elif character == "?":
                parts.append(any_character)
            elif character == "[" and (end := pattern.find("]", at + 1)) > 0:
                inside, at = pattern[at:end], end + 1
                negated = inside.startswith("!")
                one = _union(z3, _ranges(inside.removeprefix("!")))
                parts.append(z3.Intersect(any_character, z3.Complement(one)) if negated else one)
            else:
                parts.append(z3.Re(character))
        return parts[0] if len(parts) == 1 else z3.Concat(*parts)

    # ── asking ─────────────────────────────────────────────────────────────────────────────────────

    def _answer(self, solver: Solver, rule: Rule) -> str:
        """Return "yes", "no", or the sentence that it could not be proven."""
        verdict = solver.check()
        if verdict == self._z3.unknown:
            unknown = f"It could not be proven that the rule {rule.id!r} can fire ({Code.UNPROVEN})."
            return f"{unknown} Make its patterns simpler."
        return "yes" if verdict == self._z3.sat else "no"

    def _witness(self, solver: Solver, claim: str) -> tuple[AgentAccount, str, Action] | None:
        verdict = solver.check()
        if verdict == self._z3.unknown:
            raise RulesWrong(f"It could not be proven that {claim} ({Code.UNPROVEN}). Make the rules simpler.")
        if verdict == self._z3.unsat:
            return None
        model = solver.model()
        agent, role, tool = (
            model.eval(variable, model_completion=True).as_long() for variable in (self._agent, self._role, self._tool)
        )
        return self._question.agents[agent], ROLES[role], self._question.actions[tool]


def _walls_allow(agent: AgentAccount, role: str, action: Action) -> bool:
    return (
        (not action.agents or agent.name in action.agents)
        and (not agent.roles or role in agent.roles)
        and (not action.root or (bool(agent.roots) if action.root == "*" else action.root in agent.roots))
        and bool(action.granted_to(agent))
    )


def _ranges(inside: str) -> Iterable[tuple[str, str]]:
    at = 0
    while at < len(inside):
        if inside[at + 1 : at + 2] == "-" and at + 2 < len(inside):
            yield inside[at], inside[at + 2]
            at += 3
        else:
            yield inside[at], inside[at]
            at += 1


def _union(z3: Any, ranges: Iterable[tuple[str, str]]) -> Any:
    return reduce(z3.Union, (z3.Range(first, last) for first, last in ranges))


def main() -> None:
    """Read a question as JSON from stdin; write the first problem, or nothing."""
    try:
        question = TypeAdapter(SoundnessQuestion).validate_json(sys.stdin.read())
        first = next(iter(problems(question)), "")
    except RulesWrong as unproven:
        first = str(unproven)
    sys.stdout.write(first)


if __name__ == "__main__":
    main()
