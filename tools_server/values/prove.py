"""Proves the table of rules sound, by looking through every kind of call for one that shows it is not. Pure.

Three things are proven at the start, and one that cannot be stops it: every rule can fire (a rule that never speaks
protects nobody, and its author believes that it does); no outward tool is open to guests; and the folders of a private
agent cannot be reached on behalf of anybody it does not act for.

Agents, roles and tools are finite, and of times only those matter at which a rule begins or ends. People, rooms,
devices and arguments are texts of any content: a rule is escaped by one text that fits none of its patterns. Whether
there is such a text is told by following all patterns at once, letter by letter, with one letter for all those that no
pattern tells apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from functools import cache
from typing import NamedTuple

from tools_server.values.codes import Code
from tools_server.values.policy import (
    OF_LEVEL,
    OF_ROLES,
    STRICTNESS,
    Action,
    AgentAccount,
    CallActor,
    Policy,
    Rule,
    walls,
)
from tools_server.values.rules import MINUTES_OF_DAY, RulesWrong
from wall.patterns import fits_any, plain
from wall.roles import NOBODY, ROLES
from wall.unsound_rules import UnsoundRules

Conditions = frozenset[tuple[str, frozenset[str]]]  # of which text → patterns, one of which it must fit
PLACES = ("people", "rooms", "devices")
MOST_STEPS = 2_000_000  # some seconds; the whole default table takes some hundred
ANY_CALL = Rule(f"{OF_ROLES}any", "deny", "")  # it fits every call
_TOKEN = re.compile(r"\[!?+\]?+[^\]]*\]|.", re.DOTALL)  # of a shell pattern; a bracket that nothing closes is a letter
_MONDAY = datetime(2024, 1, 1)  # noqa: DTZ001  # on the clocks of whichever house


@dataclass(frozen=True, slots=True)
class SoundnessQuestion:
    """All that the soundness of a table depends on."""

    policy: Policy
    agents: tuple[AgentAccount, ...]
    actions: tuple[Action, ...]
    takes: Mapping[str, tuple[str, ...]]  # tool → the names of its arguments


class CallKind(NamedTuple):
    """What is finite of a call."""

    agent: AgentAccount
    role: str
    action: Action


def prove(question: SoundnessQuestion) -> None:
    """Return when the table is sound. Raises `RulesWrong` with a sentence."""
    if problem := unsound(question):
        raise RulesWrong(problem.sentence)


def unsound(question: SoundnessQuestion) -> UnsoundRules | None:
    """Return what is unsound, or that nobody can tell; None when the table is sound."""
    try:
        return next(problems(question), None)
    except RulesWrong as unproven:
        return UnsoundRules(str(unproven))


def problems(question: SoundnessQuestion) -> Iterator[UnsoundRules]:
    """Yield what is unsound, each with a sentence on what to change. Raises `RulesWrong` when nobody can tell."""
    calls = _Calls(question)
    for rule in question.policy.rules:
        if not rule.id.startswith(OF_ROLES):  # they stand whether or not a tool that they close is here
            yield from _never_fires(rule, question.policy.rules, calls)
    yield from _outward_for_guests(question, calls)
    yield from _private_folders(question, calls)


def _never_fires(rule: Rule, rules: Sequence[Rule], calls: _Calls) -> Iterator[UnsoundRules]:
    """Say so when no call could ever be decided by this rule."""
    if not calls.first(calls.kinds, rule):
        sentence = f"The rule {rule.id!r} can never fire: no call fits everything it names. Change or remove it."
        yield UnsoundRules(sentence, rule.id)
        return
    mine = STRICTNESS[rule.then]
    kinds = [kind for kind in calls.kinds if STRICTNESS[OF_LEVEL[kind.action.level]] <= mine]  # others ask for more
    stronger = [one for one in rules if STRICTNESS[one.then] > mine]
    stronger += [one for one in rules[: rules.index(rule)] if STRICTNESS[one.then] == mine]
    if calls.first(kinds, rule, stronger):
        return
    for one in list(stronger):  # those without which it would fire are named
        others = [other for other in stronger if other is not one]
        stronger = stronger if calls.first(kinds, rule, others) else others
    by = " and ".join(repr(one.id) for one in stronger) or "the level that its tools ask for themselves"
    sentence = f"The rule {rule.id!r} can never fire: {by} always decides before it. Change or remove one."
    yield UnsoundRules(sentence, rule.id, tuple(one.id for one in stronger))


def _outward_for_guests(question: SoundnessQuestion, calls: _Calls) -> Iterator[UnsoundRules]:
    """Say so when a guest could use a tool that tells somebody outside the house, whoever says yes to it."""
    kinds = [kind for kind in calls.kinds if kind.action.risk == "outward" and kind.role == NOBODY]
    if kind := calls.first(filter(_is_within_walls, kinds), ANY_CALL, _denying(question)):
        yield UnsoundRules(
            f"A guest could use {kind.action.tool}, which sends something out of the house, through the agent "
            f"{kind.agent.name!r}. Add a rule that denies it to guests, or take it from that agent."
        )


def _private_folders(question: SoundnessQuestion, calls: _Calls) -> Iterator[UnsoundRules]:
    """Say so when a folder of a private agent can be reached for somebody whom that agent does not act for."""
    for private in question.agents:
        if not private.private or not private.roles:
            continue
        roots = set(private.roots)
        kinds = (
            kind
            for kind in calls.kinds
            if kind.role not in private.roles
            and roots & (set(kind.agent.roots) if kind.action.root == "*" else {kind.action.root})
        )
        if kind := calls.first(filter(_is_within_walls, kinds), ANY_CALL, _denying(question)):
            yield UnsoundRules(
                f"The agent {kind.agent.name!r} could reach a folder of the private agent {private.name!r} "
                f"({', '.join(sorted(roots & set(kind.agent.roots)))}) for a {kind.role}, with {kind.action.tool}. "
                "Give it folders of its own."
            )


def _is_within_walls(kind: CallKind) -> bool:
    return walls(kind.agent, CallActor(role=kind.role), kind.action).allowed


def _denying(question: SoundnessQuestion) -> list[Rule]:
    return [rule for rule in question.policy.rules if rule.then == "deny"]


class _Calls:
    """Every call that could be made, by kinds."""

    def __init__(self, question: SoundnessQuestion) -> None:
        self.kinds = [
            CallKind(agent, role, action) for agent in question.agents for role in ROLES for action in question.actions
        ]
        spans = [span for rule in question.policy.rules for span in rule.hours]
        minutes = {0} | {edge % MINUTES_OF_DAY for span in spans for edge in (span.begin, span.end)}
        self._moments = [_MONDAY + timedelta(days=day, minutes=minute) for day in range(7) for minute in minutes]
        self._takes = question.takes
        self._left = MOST_STEPS
        # The same is asked of many kinds.
        self._fits = cache(fits_any)
        self._escapable = cache(self._is_escapable)
        self._some_text = cache(self._is_some_text)

    def first(self, kinds: Iterable[CallKind], rule: Rule, others: Sequence[Rule] = ()) -> CallKind | None:
        """Return the first kind of which some call fits a rule and none of the others. Raises `RulesWrong`."""
        for kind in (kind for kind in kinds if self._speaks_of(rule, kind)):
            near = [other for other in others if self._speaks_of(other, kind)]
            for at in (at for at in self._moments if rule.holds_at(at)):
                now = frozenset(_texts(other) for other in near if other.holds_at(at))
                if self._escapable(_texts(rule), now):
                    return kind
        return None

    def _speaks_of(self, rule: Rule, kind: CallKind) -> bool:
        return (
            rule.concerns(kind.action)
            and self._fits(rule.agents, kind.agent.name)
            and self._fits(rule.roles, kind.role)
            and self._fits(rule.tools, kind.action.tool)
            and self._fits(rule.risks, kind.action.risk)
            and all(name in self._takes[kind.action.tool] for name in rule.arguments)
        )

    def _is_escapable(self, wanted: Conditions, others: frozenset[Conditions]) -> bool:
        """Whether there are texts that are as one rule wants them, and for each other rule one that it does not fit."""
        needed = dict(wanted)

        def escaped(avoided: Mapping[str, frozenset[str]], left: Sequence[Conditions]) -> bool:
            self._spend(1)
            if not left:
                return True
            for name, patterns in left[0]:
                if name not in PLACES and name not in needed:  # an argument that may be left out
                    return escaped(avoided, left[1:])
                more = avoided.get(name, frozenset()) | patterns
                if self._some_text(needed.get(name, frozenset()), more) and escaped({**avoided, name: more}, left[1:]):
                    return True
            return False

        return escaped({}, sorted(others, key=len)) and all(self._some_text(texts, frozenset()) for _, texts in wanted)

    def _is_some_text(self, fitting: frozenset[str], avoided: frozenset[str]) -> bool:
        """Whether there is a text that fits one of some patterns, where there are some, and none of others."""
        wanted, barred = ([_parts(pattern) for pattern in group] for group in (fitting, avoided))
        patterns = [*wanted, *barred]
        letters = list(_letters(token for tokens in patterns for token in tokens))
        begun = tuple(_reached(tokens, {0}) for tokens in patterns)
        seen, waiting = {begun}, [begun]
        while waiting:
            places = waiting.pop()
            fits = [len(tokens) in at for tokens, at in zip(patterns, places, strict=True)]
            is_wanted, hits = not wanted or any(fits[: len(wanted)]), fits[len(wanted) :]
            if is_wanted and not any(hits):
                return True
            if any(hit and tokens[-1:] == ["*"] for hit, tokens in zip(hits, barred, strict=True)):
                continue  # it will fit whatever follows
            for takers in letters:
                self._spend(sum(map(len, places)))
                after = tuple(_after(tokens, at, takers) for tokens, at in zip(patterns, places, strict=True))
                if after not in seen:
                    seen.add(after)
                    waiting.append(after)
        return False

    def _spend(self, steps: int) -> None:
        self._left -= steps
        if self._left < 0:
            raise RulesWrong(
                f"The rules could not be proven ({Code.UNPROVEN}). Make them fewer, or their patterns simpler."
            )


def _texts(rule: Rule) -> Conditions:
    """Return what a rule wants of texts: people, rooms and devices, and arguments by their names."""
    wanted = {f"argument {name}": patterns for name, patterns in rule.arguments.items()}
    wanted |= {name: getattr(rule, name) for name in PLACES}
    return frozenset((name, frozenset(patterns)) for name, patterns in wanted.items() if patterns)


def _parts(pattern: str) -> list[str]:
    """Return a pattern as its letters, brackets and stars."""
    return _TOKEN.findall(re.sub(r"\*+", "*", plain(pattern)))


def _letters(tokens: Iterable[str]) -> Iterator[frozenset[str]]:
    """Yield which parts of patterns take a letter, once for all letters that they do not tell apart."""
    parts = frozenset(tokens)
    written = {"\0", *"".join(parts)}
    letters = written | {chr(ord(letter) + 1) for letter in written}  # and what lies between those that are written
    yield from {frozenset(part for part in parts if fnmatchcase(letter, part)) for letter in letters}


def _after(tokens: Sequence[str], places: Iterable[int], takers: frozenset[str]) -> frozenset[int]:
    """Return how far a pattern may have been followed after one more letter, from how far it was."""
    left = (place for place in places if place < len(tokens) and tokens[place] in takers)
    return _reached(tokens, {place + (tokens[place] != "*") for place in left})


def _reached(tokens: Sequence[str], places: set[int]) -> frozenset[int]:
    """Return places in a pattern with those behind them that need no letter."""
    return frozenset(places | {place + 1 for place in places if tokens[place : place + 1] == ["*"]})
