"""What was spent is what the record says, through restarts, midnights and other processes; enough is enough."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tools_server.gate.ledger import CALLERS, MOST_SHARES, Ledger
from tools_server.values.policy import Action, AgentAccount, Budget, CallActor, Policy, RateLimit
from wall.chain import BLOCK_BYTES

NOON = datetime(2026, 11, 22, 12, tzinfo=UTC).timestamp()
FAMILY = AgentAccount("family", ("*",))
ANNA = CallActor("Anna", "phone", "adult")
READ = Action("clock.time")
START = Action("timers.start", risk="change")
POLICY = Policy(
    limits=(RateLimit("changes", 3, 60.0, risks=("change",)),),
    budgets=(Budget("a-day", ("family",), units_per_day=20),),
)


class Book:
    """A record, a clock and a ledger; `run` does what the gate does."""

    def __init__(self, data: Path, policy: Policy = POLICY) -> None:
        self.file = data / "audit.jsonl"
        self.policy = policy
        self.now = NOON
        self.open()

    def open(self) -> None:
        self.ledger = Ledger(self.policy, self.file, lambda: self.now, UTC)

    def run(self, action: Action = START, actor: CallActor = ANNA, agent: AgentAccount = FAMILY) -> str:
        """Return the rule that refused; "" when it ran and was recorded."""
        if refused := self.ledger.refusal(agent, actor, action):
            self.write(action, actor, agent, None)
            return refused.rule
        self.write(action, actor, agent, self.ledger.spent(agent, actor, action))
        return ""

    def write(self, action: Action, actor: CallActor, agent: AgentAccount, cost: int | None, process: str = "") -> None:
        row: dict[str, Any] = {
            "at": self.now,
            "agent": agent.name,
            "actor": {"person": actor.person, "device": actor.device, "role": actor.role, "room": ""},
            "tool": action.tool,
            "risk": action.risk,
            "cost": cost,
            "process": process or self.ledger.process,
        }
        with self.file.open("a") as file:
            file.write(json.dumps(row) + "\n")

    @property
    def spent(self) -> int:
        return int(self.ledger.usage("family")["spent"])


@pytest.fixture
def book(data: Path) -> Book:
    return Book(data)


def test_a_limit_holds_until_its_time_is_over(book: Book) -> None:
    assert [book.run() for _ in range(4)] == ["", "", "", "changes"]
    book.now += 30
    assert book.ledger.refusal(FAMILY, ANNA, START).reason == (  # type: ignore[union-attr]
        "That may be done 3 times in 1 minute. Try again in 30 seconds."
    )
    book.now += 31
    assert book.run() == ""


def test_one_persons_haste_does_not_stop_another(book: Book) -> None:
    for _ in range(3):
        book.run()
    assert book.run() == "changes"
    assert book.run(actor=CallActor("Ben", "phone", "adult")) == ""
    assert book.run(READ) == ""


def test_a_restart_forgives_nothing(book: Book) -> None:
    for _ in range(3):
        book.run()
    before = book.ledger.usage("family")
    book.open()
    assert book.ledger.usage("family") == before
    assert book.run() == "changes"


def test_a_budget_is_for_a_day_of_the_house(book: Book) -> None:
    book.policy = Policy(budgets=POLICY.budgets)
    book.open()
    assert [book.run() for _ in range(11)] == [""] * 10 + ["a-day"]
    assert book.ledger.usage("family")["left"] == 0
    assert book.run(agent=AgentAccount("work", ("*",))) == ""
    book.now += 12 * 3600
    assert book.run() == ""
    assert book.spent == 2


@pytest.mark.parametrize("role", ["child", "teen", "satellite"])
def test_a_child_or_a_room_alone_spends_a_quarter_of_a_budget_and_leaves_the_rest_to_the_house(
    book: Book, role: str
) -> None:
    book.policy = Policy(budgets=(Budget("a-day", ("family",), units_per_day=20),))
    book.open()
    leo, other = CallActor("Leo", "tablet", role), CallActor("", "hall screen", role)
    assert [book.run(READ, leo) for _ in range(6)] == [""] * 5 + ["a-day"]
    refused = book.ledger.refusal(FAMILY, leo, READ)
    assert refused
    assert "you alone" in refused.reason
    book.open()
    assert book.run(READ, CallActor("Leo", "another tablet", role)) == "a-day", "after a restart, and on any device"
    assert book.run(READ, other) == ""
    assert [book.run(READ) for _ in range(15)] == [""] * 14 + ["a-day"], "and others have all that is left"
    book.now += 86_400
    assert book.run(READ, leo) == ""


def test_however_many_children_are_named_no_more_are_counted_apart(book: Book) -> None:
    book.policy = Policy(budgets=(Budget("a-day", ("family",), units_per_day=4_000),))
    book.open()
    for number in range(MOST_SHARES + 10):
        assert book.run(READ, CallActor(f"child {number}", "tablet", "child")) == ""
    assert len(book.ledger._day("family").spent_alone) == MOST_SHARES + 1


def test_guests_together_spend_a_tenth_of_a_budget_and_leave_the_rest_to_the_house(book: Book) -> None:
    book.policy = Policy(budgets=(Budget("a-day", ("family",), units_per_day=100),))
    book.open()
    guests = [CallActor("", f"guest {number}", "guest") for number in range(2)]
    assert [book.run(READ, guests[number % 2]) for number in range(11)] == [""] * 10 + ["a-day"]
    refused = book.ledger.refusal(FAMILY, guests[0], READ)
    assert refused and refused.reason == "Guests have spent what they may ask for in a day. Tomorrow it can go on."
    book.open()  # a restart forgives nothing
    assert book.run(READ, guests[1]) == "a-day"
    assert [book.run(READ) for _ in range(91)] == [""] * 90 + ["a-day"]
    book.now += 12 * 3600
    assert book.run(READ, guests[0]) == ""


def test_a_ledger_opened_after_midnight_knows_nothing_of_yesterday(book: Book) -> None:
    book.run()
    book.now += 24 * 3600
    book.open()
    assert book.spent == 0


def test_what_another_process_spent_counts(book: Book) -> None:
    book.run()
    book.write(START, ANNA, FAMILY, 2, process="another")
    assert book.spent == 4
    assert book.ledger.usage("family")["by_tool"] == {"timers.start": 2}
    assert book.run() == ""
    assert book.run() == "changes"


def test_what_did_not_run_costs_nothing(book: Book) -> None:
    book.write(START, ANNA, FAMILY, None)
    book.write(START, ANNA, FAMILY, None, process="another")
    book.open()
    assert book.ledger.usage("family")["calls"] == 0


def test_rows_that_are_torn_or_foreign_are_passed_over(book: Book) -> None:
    book.run()
    with book.file.open("a") as file:
        file.write('not a row\n{"at": "never"}\n[1]\n{"at": 1')
    book.open()
    assert book.spent == 2
    with book.file.open("a") as file:
        file.write(', "half": true}\n')
    assert book.spent == 2


def test_a_long_record_is_read_from_its_end(book: Book) -> None:
    book.now -= 48 * 3600
    line_bytes = len(json.dumps({"at": book.now})) + 1
    with book.file.open("w") as file:
        for _ in range(2 * BLOCK_BYTES // line_bytes):
            file.write(json.dumps({"at": book.now}) + "\n")
    book.now = NOON
    lines = 2000
    for _ in range(lines):
        book.write(READ, ANNA, FAMILY, 1)
    book.open()
    assert book.spent == lines


def test_a_clock_that_was_set_back_does_not_lock_anybody_out(book: Book) -> None:
    for _ in range(3):
        book.run()
    book.now -= 3600
    assert book.run() == ""


def test_at_most_none_is_never(data: Path) -> None:
    book = Book(data, Policy(limits=(RateLimit("never", 0, 60.0, tools=("timers.*",)),)))
    assert book.run() == "never"


def test_inventing_names_neither_fills_the_memory_nor_escapes_the_limit(book: Book) -> None:
    book.policy = Policy(limits=POLICY.limits)
    book.open()
    ran = sum(book.run(actor=CallActor(f"person {number}")) == "" for number in range(200))
    assert ran == CALLERS + 3
    assert len(book.ledger._lately) == CALLERS + 1
    assert book.run(actor=CallActor("person 1")) == "", "who is known is still counted apart"
    book.now += 61
    assert book.run(actor=CallActor("somebody else")) == ""
    assert len(book.ledger._lately) == 1


def test_a_name_that_looks_like_a_process_does_not_hide_what_was_spent(book: Book) -> None:
    for _ in range(3):
        book.write(START, CallActor(book.ledger.process), FAMILY, 2, process="another")
    assert book.spent == 6


def test_a_clock_that_ran_ahead_for_a_moment_forgives_nothing(book: Book) -> None:
    book.policy = Policy(budgets=POLICY.budgets)
    book.open()
    for _ in range(5):
        book.run()
    book.now += 24 * 3600
    assert book.run() == ""
    book.now -= 24 * 3600
    assert book.spent == 12
    assert [book.run() for _ in range(5)] == [""] * 4 + ["a-day"]
