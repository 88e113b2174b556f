"""What people press and must confirm is kept until it is answered: all of it, and never more than a bound."""

from __future__ import annotations

from atlas.conversation import Actor, Tool
from atlas.pressed_calls import MOST_WAITING, PressedCalls
from tests.scripted_tools import Preview, ScriptedResult, ScriptedTools

SCHEMA = {"type": "object", "properties": {"title": {"type": "string"}}}


def pressed(now: list[float]) -> PressedCalls:
    """Calls of one tool, which asks first."""
    tool = Tool("tasks.remove", "", SCHEMA)
    tools = ScriptedTools(
        [(tool, lambda arguments, actor: ScriptedResult(f"Removed {arguments['title']}.", changed="removed"))],
        {"tasks.remove": Preview(lambda arguments, actor: f"Remove {arguments['title']}?")},
        lambda statement: "yes",
        now=lambda: now[0],
    )
    return PressedCalls({"family": tools}, lambda: now[0])


async def asked(calls: PressedCalls, number: int) -> str:
    result = await calls.call(
        "family", "tasks.remove", {"title": f"task {number}"}, Actor("", f"phone {number}", "adult")
    )
    assert result.ask, result.text
    return result.ask.id


async def test_as_many_questions_wait_as_there_may_be_and_then_the_oldest_goes() -> None:
    calls = pressed([0.0])
    ids = [await asked(calls, number) for number in range(MOST_WAITING + 1)]
    assert len(calls) == MOST_WAITING
    assert await calls.settle(ids[0], yes=True) is None
    assert len(calls) == MOST_WAITING
    assert await calls.settle(ids[1], yes=True) is not None


async def test_what_is_too_old_to_be_answered_is_forgotten() -> None:
    now = [0.0]
    calls = pressed(now)
    for number in range(200):
        await asked(calls, number)
    assert len(calls) == 200
    now[0] = 61.0
    await asked(calls, 201)
    assert len(calls) == 1


async def test_a_no_forgets_the_call_and_does_nothing() -> None:
    calls = pressed([0.0])
    ask = await asked(calls, 1)
    assert await calls.settle(ask, yes=False) is None
    assert await calls.settle(ask, yes=True) is None
