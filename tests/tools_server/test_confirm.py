"""Nothing that needs a person's yes is done without one, and no yes does more than the one thing it was said to."""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import anyio
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed448
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tools_server.boot.opening import ServerSettings, opened_gate
from tools_server.gate.call_request import CallRequest, CallResult
from tools_server.gate.confirmations import (
    MOST_OPEN,
    MOST_OPEN_OF_CALLER,
    MOST_UNANSWERED,
    NO_REPLY,
    STATEMENT_CHARACTERS,
    ConfirmationReply,
    Confirmations,
)
from tools_server.sdk.confirmation import ConfirmedCall
from tools_server.sdk.toolkit import Call, Result
from tools_server.values.boot_files import BootFailed
from tools_server.values.policy import Action, AgentAccount, CallActor, Decision, Hours, Rule

ANNA = {"person": "Anna", "device": "phone", "role": "adult", "room": "kitchen"}
MIA = {"person": "Mia", "device": "tablet", "role": "child", "room": "attic"}


@pytest.fixture
async def board(world: Any) -> Any:
    """A world with one task, which wants to be removed."""
    await world.ok("tasks.add", title="Buy milk")
    return world


def left(board: Any) -> list[str]:
    return sorted(path.stem for path in board.board.iterdir())


async def asked(board: Any, agent: str = "family", actor: Any = None, tool: str = "tasks.remove", **given: Any) -> Any:
    """Call, be asked, and return the question as the wire shows it."""
    answer = await board.call(tool, agent, actor, **(given or {"title": "Buy milk"}))
    assert answer.ask, answer.text
    return answer.ask.shown()


def with_yes(ask: Any, statement: str) -> ConfirmationReply:
    return ConfirmationReply(ask["id"], "accept", statement)


# ── asking ─────────────────────────────────────────────────────────────────────────────────────────


async def test_a_destructive_call_asks_first_and_does_nothing(board: Any) -> None:
    answer = await board.call("tasks.remove", title="buy  MILK")
    assert answer.error == "confirm"
    assert answer.text.startswith("Remove Buy milk from the task board? Somebody in the house has to say yes")
    assert answer.ask.level == "confirm"
    assert answer.ask.expires_at == board.clock[0] + 60
    assert left(board) == ["buy-milk"]
    row = board.record[-1]
    assert (row["outcome"], row["verdict"], row["rule"]) == ("asked", "confirm", "destructive-needs-a-yes")
    assert row["confirmation"] == {"level": "confirm", "ask": answer.ask.id}
    assert (row["risk"], row["arguments"], row["receipt"], row["cost"]) == ("destructive", ["title"], "", None)
    assert row["arguments_sha256"] == answer.ask.deed.arguments_sha256


async def test_who_is_denied_is_not_asked(board: Any) -> None:
    answer = await board.call("tasks.remove", "family", {"role": "guest"}, title="Buy milk")
    assert (answer.error, answer.ask) == ("denied", None)
    assert (board.record[-1]["outcome"], board.record[-1]["rule"]) == ("denied", "role:remove-2")


async def test_what_is_not_there_is_said_at_once_instead_of_asked(board: Any) -> None:
    answer = await board.call("tasks.remove", title="Buy a horse")
    assert (answer.error, answer.ask) == ("not_found", None)


async def test_asking_twice_is_one_question(board: Any) -> None:
    first = await asked(board)
    board.pass_seconds(10)
    assert await asked(board) == first
    assert len((await board.ok("asks.waiting", "house")).data["asks"]) == 1


async def test_the_house_hears_who_wants_what(board: Any) -> None:
    ask = await asked(board, actor=ANNA)
    answer = await board.ok("asks.waiting", "house")
    assert answer.text == "Remove Buy milk from the task board?"
    assert answer.data["asks"] == [{**ask, "agent": "family", "actor": ANNA | {"device_id": ""}}]
    for agent in ("family", "owner", "guest"):
        assert (await board.refused("asks.waiting", agent)).error == "denied"
        assert (await board.refused("asks.answer", agent, statement=board.house.says(ask))).error == "denied"


async def test_a_tool_without_words_of_its_own_is_asked_about_by_what_it_does_and_with_what(world: Any) -> None:
    rule = Rule("ask-for-timers", "confirm", "Timers are asked for.", tools=("timers.start",))
    world.gate._policy = replace(world.gate._policy, rules=(rule, *world.gate._policy.rules))
    answer = await world.call("timers.start", seconds=60, name="pizza")
    assert answer.ask.sentence == "Start a timer that runs for some seconds, with seconds 60, name “pizza”: shall I?"
    assert await world.said("timers.start", seconds=60, name="pizza") == "Pizza timer set for 1 minute."


async def test_an_agent_in_a_loop_fills_no_memory_and_silences_nobody_else(board: Any) -> None:
    for number in range(MOST_OPEN):
        await board.ok("tasks.add", title=f"Task number {number}")
        await asked(board, actor={**ANNA, "person": f"Person {number // 8}"}, title=f"Task number {number}")
    answer = await board.refused("tasks.remove", title="Buy milk")
    assert (answer.error, answer.ask) == ("failed", None)
    await asked(board, "owner", {"role": "owner"})
    board.pass_seconds(60)
    await asked(board)


@pytest.mark.parametrize("role", ["guest", "child"])
async def test_one_who_asks_for_much_leaves_room_for_the_questions_of_others(board: Any, role: str) -> None:
    removing = Rule("guests-too", "confirm", "It is asked about.", tools=("tasks.remove",))
    board.gate._policy = replace(board.gate._policy, rules=(removing,))
    for number in range(MOST_OPEN_OF_CALLER + 1):
        await board.ok("tasks.add", title=f"Task number {number}")
    asker = {"person": "" if role == "guest" else "Mia", "role": role, "room": ""}
    for number in range(MOST_OPEN_OF_CALLER):
        await asked(board, actor={**asker, "device": f"device {number}"}, title=f"Task number {number}")
    last = {"title": f"Task number {MOST_OPEN_OF_CALLER}"}
    refused = await board.call("tasks.remove", "family", {**asker, "device": "another"}, **last)
    assert (refused.error, refused.ask) == ("failed", None)
    await asked(board, actor=ANNA, **last)


# ── a yes ──────────────────────────────────────────────────────────────────────────────────────────


async def test_a_yes_inside_the_call_does_it_once(board: Any) -> None:
    ask = await asked(board)
    yes = with_yes(ask, board.house.says(ask, channel="voice", person="Anna", device="kitchen"))
    done = await board.call("tasks.remove", reply=yes, title="Buy milk")
    assert (done.error, done.text, left(board)) == (None, "Removed Buy milk from your tasks.", [])
    values = {"ask": ask["id"], "answer": "yes", "channel": "voice", "person": "Anna", "device": "kitchen"}
    assert board.record[-1]["confirmation"] == {"level": "confirm", **values}
    await board.ok("tasks.add", title="Buy milk")
    again = await board.call("tasks.remove", reply=yes, title="Buy milk")
    assert (again.error, again.ask, left(board)) == ("confirm", None, ["buy-milk"])
    assert again.text == "That question is closed: it was answered, or it is too old. Ask me again."
    assert (board.record[-1]["outcome"], board.record[-1]["reason"]) == ("confirm", "closed")


@pytest.mark.parametrize("with_state", [True, False])
async def test_a_yes_by_itself_lets_the_same_call_through_once(board: Any, with_state: bool) -> None:
    ask = await asked(board, actor=ANNA)
    noted = await board.ok("asks.answer", "house", statement=board.house.says(ask))
    assert (noted.text, noted.data["tool"]) == ("Noted: yes.", "tasks.remove")
    assert (await board.ok("asks.waiting", "house")).data["asks"] == []
    reply = ConfirmationReply(ask["id"] if with_state else "")
    done = await board.call("tasks.remove", "family", ANNA, reply, title="Buy milk")
    assert (done.error, left(board)) == (None, [])
    await board.ok("tasks.add", title="Buy milk")
    assert (await board.call("tasks.remove", "family", ANNA, reply, title="Buy milk")).ask.id != ask["id"]
    assert left(board) == ["buy-milk"]


async def test_a_no_is_a_no_once_and_then_it_may_be_asked_again(board: Any) -> None:
    ask = await asked(board)
    assert await board.said("asks.answer", "house", statement=board.house.says(ask, "no")) == "Noted: no."
    answer = await board.call("tasks.remove", title="Buy milk")
    assert (answer.error, answer.text) == ("denied", "All right, I won't.")
    assert board.record[-1]["confirmation"]["answer"] == "no"
    assert (await asked(board))["id"] != ask["id"]
    assert left(board) == ["buy-milk"]


@pytest.mark.parametrize("inside", [True, False])
async def test_the_first_answer_counts(board: Any, inside: bool) -> None:
    ask = await asked(board)
    await board.ok("asks.answer", "house", statement=board.house.says(ask, "no"))
    yes = board.house.says(ask)
    if inside:
        second = await board.call("tasks.remove", reply=with_yes(ask, yes), title="Buy milk")
    else:
        second = await board.call("asks.answer", "house", statement=yes)
    assert (second.error, second.text) == ("confirm", "That question was answered already.")
    answer = await board.call("tasks.remove", title="Buy milk")
    assert (answer.text, left(board)) == ("All right, I won't.", ["buy-milk"])


@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_who_asked_may_take_it_back_but_not_answer_it(board: Any, action: Any) -> None:
    ask = await asked(board)
    answer = await board.call("tasks.remove", reply=ConfirmationReply(ask["id"], action), title="Buy milk")
    assert (answer.error, left(board)) == ("denied", ["buy-milk"])
    assert board.record[-1]["confirmation"]["channel"] == "client"
    late = await board.call("asks.answer", "house", statement=board.house.says(ask))
    assert (late.error, late.data["reason"]) == ("confirm", "closed")


@pytest.mark.parametrize("statement", ["", "yes", "true", "a.b.c", "\ud800", "x" * 1998, "é" * 900])
async def test_an_accept_without_a_signed_statement_is_no_yes(board: Any, statement: str) -> None:
    ask = await asked(board)
    answer = await board.call("tasks.remove", reply=with_yes(ask, statement), title="Buy milk")
    assert (answer.error, answer.ask, left(board)) == ("confirm", None, ["buy-milk"])
    assert board.record[-1]["reason"] == ("forged" if statement else "nobody")
    done = await board.call("tasks.remove", reply=with_yes(ask, board.house.says(ask)), title="Buy milk")
    assert done.error is None, "what is no answer answers nothing, so the question was still open"


def encoded(claims: Any, header: Any, signature: bytes = b"") -> str:
    parts = [json.dumps(header).encode(), json.dumps(claims).encode(), signature]
    return ".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts)


def shared_secret(house: Any, ask: Any) -> str:
    """HS256 with the public key, which everybody has, as its secret. PyJWT will not make one, so it is made by hand."""
    import hashlib
    import hmac

    unsigned = encoded(house.claims(ask), {"alg": "HS256", "typ": "JWT"}).rsplit(".", 1)[0]
    pem = house.key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    mac = base64.urlsafe_b64encode(hmac.digest(pem, unsigned.encode(), hashlib.sha256)).rstrip(b"=").decode()
    return f"{unsigned}.{mac}"


FORGED: dict[str, Callable[[Any, Any], str]] = {
    "unsigned": lambda house, ask: jwt.encode(house.claims(ask), "", algorithm="none"),
    "unsigned, but says it is signed": lambda house, ask: encoded(house.claims(ask), {"alg": "EdDSA"}),
    "signed by another": lambda house, ask: jwt.encode(house.claims(ask), Ed25519PrivateKey.generate(), "EdDSA"),
    "signed by another, of a kind": lambda house, ask: jwt.encode(
        house.claims(ask), ed448.Ed448PrivateKey.generate(), "EdDSA"
    ),
    "another algorithm": lambda house, ask: jwt.encode(
        house.claims(ask), ec.generate_private_key(ec.SECP256R1()), "ES256"
    ),
    "the public key as a secret": shared_secret,
    "changed after signing": lambda house, ask: ".".join(
        [house.says(ask, "no").split(".")[0], house.says(ask).split(".")[1], house.says(ask, "no").split(".")[2]]
    ),
    "a header a thousand brackets deep": lambda house, ask: base64.urlsafe_b64encode(b"[" * 1400).decode() + ".e30.e30",
    "for somebody else": lambda house, ask: house.says(ask, aud="atlas-lights"),
    "for nobody": lambda house, ask: house.says(ask, aud=None),
    "no person": lambda house, ask: house.says(ask, person=None),
    "a person without end": lambda house, ask: house.says(ask, person="A" * 101),
    "an answer that is none": lambda house, ask: house.says(ask, "maybe"),
    "a channel that is none": lambda house, ask: house.says(ask, channel="model"),
    "no time": lambda house, ask: house.says(ask, iat=None),
    "no end": lambda house, ask: house.says(ask, exp=None),
    "no number as its end": lambda house, ask: house.says(ask, exp=float("nan")),
    "without end": lambda house, ask: house.says(ask, exp=ask["expires_at"] + 1e9),
    "a number without end": lambda house, ask: house.says(ask, exp=10**400),
    "from the future": lambda house, ask: house.says(ask, iat=ask["expires_at"], exp=ask["expires_at"] + 60),
}
OTHER: dict[str, Callable[[Any, Any], str]] = {
    "another question": lambda house, ask: house.says(ask, ask="0" * 32),
    "another tool": lambda house, ask: house.says(ask, tool="tasks.done"),
    "other arguments": lambda house, ask: house.says(ask, arguments_sha256="0" * 64),
    "another sentence": lambda house, ask: house.says(ask, sentence_sha256="0" * 64),
}


@pytest.mark.parametrize("how", [*FORGED, *OTHER])
async def test_what_the_house_did_not_sign_for_this_is_refused_in_words_and_recorded(board: Any, how: str) -> None:
    ask = await asked(board)
    statement = {**FORGED, **OTHER}[how](board.house, ask)
    answer = await board.call("tasks.remove", reply=with_yes(ask, statement), title="Buy milk")
    assert (answer.error, answer.ask) == ("confirm", None)
    assert answer.text.startswith("That yes ")
    assert answer.text.endswith(".")
    row = board.record[-1]
    assert (row["outcome"], row["reason"]) == ("confirm", "forged" if how in FORGED else "other")
    assert row["confirmation"]["ask"] == ask["id"]
    brought = await board.call("asks.answer", "house", statement=statement[:1998])
    assert brought.error == "confirm"
    assert board.record[-1]["outcome"] == "confirm"
    assert left(board) == ["buy-milk"]
    assert (await board.call("tasks.remove", title="Buy milk")).ask.id == ask["id"]


async def test_a_yes_fits_only_the_call_that_was_asked_about(board: Any) -> None:
    await board.ok("tasks.add", title="Buy bread")
    ask = await asked(board, actor=ANNA)
    await board.ok("asks.answer", "house", statement=board.house.says(ask))
    others: list[tuple[str, str, Any, dict[str, str]]] = [
        ("tasks.remove", "family", ANNA, {"title": "Buy bread"}),
        ("tasks.remove", "family", MIA, {"title": "Buy milk"}),
        ("tasks.remove", "owner", {**ANNA, "role": "owner"}, {"title": "Buy milk"}),
    ]
    for tool, agent, actor, arguments in others:
        for reply in (ConfirmationReply(), ConfirmationReply(ask["id"])):
            answer = await board.call(tool, agent, actor, reply, **arguments)
            assert answer.ask.id != ask["id"]
        answer = await board.call(tool, agent, actor, with_yes(ask, board.house.says(ask)), **arguments)
        assert (answer.error, answer.ask) == ("confirm", None)
    assert left(board) == ["buy-bread", "buy-milk"]
    assert (await board.call("tasks.remove", "family", ANNA, title="Buy milk")).error is None


async def test_after_a_minute_the_question_is_closed_whatever_the_statement_says(board: Any) -> None:
    ask = await asked(board)
    long = board.house.says(ask, exp=ask["expires_at"] + 50)
    board.pass_seconds(60)
    answer = await board.call("tasks.remove", reply=with_yes(ask, long), title="Buy milk")
    assert (answer.error, board.record[-1]["reason"]) == ("confirm", "closed")
    assert (await asked(board))["id"] != ask["id"]


async def missed(board: Any) -> list[str]:
    """The ids of the questions that nobody answered, the latest first."""
    return [row["id"] for row in (await board.ok("asks.waiting", "house", missed=True)).data["missed"]]


async def test_a_question_that_nobody_answered_is_told_for_a_week(board: Any, reopened: Any) -> None:
    ask = await asked(board, actor=MIA)
    assert await missed(board) == [], "it still waits"
    board.pass_seconds(61)
    data = (await board.ok("asks.waiting", "house", missed=True)).data
    row = {**ask, "agent": "family", "actor": MIA | {"device_id": ""}, "asked_at": board.clock[0] - 61}
    assert (data["asks"], data["missed"]) == ([], [row])
    assert "missed" not in (await board.ok("asks.waiting", "house")).data
    await board.ok("tasks.add", title="Buy bread")
    other = await asked(board, title="Buy bread")
    board.pass_seconds(61)
    with reopened(board.clock[0]) as later:
        assert await missed(later) == [other["id"], ask["id"]]
        later.pass_seconds(7 * 86_400 - 60)
        assert await missed(later) == []
        await later.ok("tasks.add", title="Buy a pen")
        await asked(later, title="Buy a pen")
        assert len(later.gate._state.rows("SELECT * FROM asks")) == 1


@pytest.mark.parametrize("word", ["yes", "no"])
async def test_a_question_that_was_answered_or_is_put_again_was_not_missed(board: Any, word: str) -> None:
    ask = await asked(board)
    await board.ok("asks.answer", "house", statement=board.house.says(ask, answer=word))
    board.pass_seconds(61)
    assert await missed(board) == []
    await asked(board)
    board.pass_seconds(61)
    assert len(await missed(board)) == 1
    await asked(board)
    assert await missed(board) == [], "it is asked about anew"


async def test_of_very_many_questions_that_nobody_answered_the_latest_are_told(board: Any) -> None:
    for number in range(MOST_UNANSWERED + 5):
        await board.ok("tasks.add", title=f"Task number {number}")
        last = await asked(board, title=f"Task number {number}")
        board.pass_seconds(61)
    ids = await missed(board)
    assert (len(ids), ids[0]) == (MOST_UNANSWERED, last["id"])
    assert len(board.gate._state.rows("SELECT * FROM asks")) == MOST_UNANSWERED + 1


async def test_a_statement_that_is_too_old_is_refused_though_the_question_is_open(board: Any) -> None:
    ask = await asked(board)
    short = board.house.says(ask, exp=ask["expires_at"] - 50)
    board.pass_seconds(10)
    answer = await board.call("tasks.remove", reply=with_yes(ask, short), title="Buy milk")
    assert (answer.text, board.record[-1]["reason"]) == ("That yes came too late. Ask me again.", "late")
    assert left(board) == ["buy-milk"]


async def test_a_clock_that_is_set_back_opens_nothing_again(board: Any) -> None:
    ask = await asked(board)
    await board.ok("asks.answer", "house", statement=board.house.says(ask))
    board.pass_seconds(-3600)
    assert (await asked(board))["id"] != ask["id"]
    assert left(board) == ["buy-milk"]


async def test_after_a_restart_the_question_still_waits_for_what_is_left_of_its_minute(
    world: Any, reopened: Any
) -> None:
    await world.ok("tasks.add", title="Buy milk")
    ask = await asked(world)
    with reopened(world.clock[0] + 59) as later:
        reply = with_yes(ask, later.house.says(ask))
        assert (await later.call("tasks.remove", reply=reply, title="Buy milk")).error is None
        assert left(later) == []


async def test_a_yes_that_is_brought_to_one_process_counts_in_another_once(world: Any, reopened: Any) -> None:
    await world.ok("tasks.add", title="Buy milk")
    ask = await asked(world)  # over stdio, say: a process of its own
    with reopened(world.clock[0]) as house:
        [waiting] = (await house.ok("asks.waiting", "house")).data["asks"]
        assert waiting["id"] == ask["id"]
        await house.ok("asks.answer", "house", statement=house.house.says(waiting))
        again = await house.refused("asks.answer", "house", statement=house.house.says(waiting))
        assert again.text == "That question was answered already."
    assert (await world.call("tasks.remove", title="Buy milk")).error is None
    await world.ok("tasks.add", title="Buy milk")
    assert (await world.call("tasks.remove", title="Buy milk")).ask.id != ask["id"], "one yes is for one deed"


async def test_a_disk_that_takes_no_question_is_told_of(board: Any) -> None:
    board.gate._state.run("CREATE TRIGGER full BEFORE INSERT ON asks BEGIN SELECT RAISE(FAIL, 'full'); END")
    answer = await board.refused("tasks.remove", title="Buy milk")
    assert (answer.error, answer.text) == ("failed", "The disk did not take it: the file cannot be written.")
    assert left(board) == ["buy-milk"]


async def test_when_what_would_happen_has_changed_it_is_asked_again(board: Any) -> None:
    """A yes is to the sentence that was heard, not to what it has come to mean since."""
    await board.ok("tasks.add", title="Buy oat milk")
    ask = await asked(board, title="oat")
    yes = with_yes(ask, board.house.says(ask))
    (board.board / "buy-oat-milk.md").unlink()
    await board.ok("tasks.add", title="Feed oat to the horse")
    answer = await board.call("tasks.remove", reply=yes, title="oat")
    assert answer.ask.sentence == "Remove Feed oat to the horse from the task board?"
    assert left(board) == ["buy-milk", "feed-oat-to-the-horse"]


LANGUAGES = pytest.mark.parametrize(("spoken", "pressed"), [("en", "de"), ("de", "en")])


@LANGUAGES
async def test_a_yes_counts_whatever_language_the_page_speaks_on_which_it_is_pressed(
    board: Any, spoken: str, pressed: str
) -> None:
    board.language = spoken
    ask = await asked(board)
    board.language = pressed
    answer = await board.call("tasks.remove", reply=with_yes(ask, board.house.says(ask)), title="Buy milk")
    assert (answer.error, answer.ask, left(board)) == (None, None, []), answer.text


@LANGUAGES
async def test_a_yes_that_came_by_itself_counts_in_the_next_call_whatever_language_that_is_in(
    board: Any, spoken: str, pressed: str
) -> None:
    board.language = spoken
    ask = await asked(board)
    board.language = pressed
    await board.ok("asks.answer", "house", statement=board.house.says(ask))
    answer = await board.call("tasks.remove", title="Buy milk")
    assert (answer.error, answer.ask, left(board)) == (None, None, []), answer.text


async def test_what_is_done_is_told_in_the_language_of_the_page_that_pressed(board: Any) -> None:
    ask = await asked(board)
    yes = with_yes(ask, board.house.says(ask))
    board.language = "de"
    german = await board.call("tasks.remove", reply=yes, title="Buy milk")
    await board.ok("tasks.add", title="Buy milk")
    assert german.text == await board.said("tasks.remove", title="Buy milk")


async def test_who_asks_for_it_in_another_language_is_asked_in_that(board: Any) -> None:
    first = await asked(board)
    board.language = "de"
    second = await asked(board)
    assert second["sentence"] != first["sentence"]
    assert len((await board.ok("asks.waiting", "house")).data["asks"]) == 1


async def test_a_deed_that_became_another_is_asked_about_in_the_language_of_its_question(board: Any) -> None:
    await board.ok("tasks.add", title="Buy oat milk")
    ask = await asked(board, title="oat")
    (board.board / "buy-oat-milk.md").unlink()
    await board.ok("tasks.add", title="Feed oat to the horse")
    board.language = "de"
    answer = await board.call("tasks.remove", reply=with_yes(ask, board.house.says(ask)), title="oat")
    assert answer.ask.sentence == "Remove Feed oat to the horse from the task board?"
    assert left(board) == ["buy-milk", "feed-oat-to-the-horse"]


async def test_two_retries_at_once_with_one_yes_do_it_once(board: Any) -> None:
    gate, ran, go = board.gate, [], anyio.Event()

    async def slowly(call: Call, title: str) -> Result:
        ran.append(title)
        await go.wait()
        return Result("Done.")

    gate._tools = {**gate._tools, "tasks.remove": replace(gate._tools["tasks.remove"], run=slowly)}
    ask = await asked(board)
    yes, answers = with_yes(ask, board.house.says(ask)), list[CallResult]()
    async with anyio.create_task_group() as tasks:

        async def retry(reply: ConfirmationReply) -> None:
            answers.append(await board.call("tasks.remove", reply=reply, title="Buy milk"))

        for reply in (yes, yes, ConfirmationReply(ask["id"]), ConfirmationReply()):
            tasks.start_soon(retry, reply)
        await anyio.wait_all_tasks_blocked()
        go.set()
    assert ran == ["Buy milk"]
    assert sorted(str(answer.error) for answer in answers) == ["None", "confirm", "confirm", "confirm"]


# ── explicit ───────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
async def strict(board: Any) -> Any:
    """Where removing tasks takes an explicit word."""
    rule = Rule("never-lightly", "explicit", "Tasks are not removed lightly.", tools=("tasks.remove",))
    board.gate._policy = replace(board.gate._policy, rules=(*board.gate._policy.rules, rule))
    return board


@pytest.mark.parametrize("channel", ["voice", "chat"])
async def test_where_an_explicit_word_is_needed_a_plain_spoken_yes_is_not_enough(strict: Any, channel: str) -> None:
    ask = await asked(strict)
    assert ask["level"] == "explicit"
    plain = strict.house.says(ask, channel=channel)
    answer = await strict.call("tasks.remove", reply=with_yes(ask, plain), title="Buy milk")
    assert answer.text == "A yes is not enough for that: press the button, or say exactly what is to be done."
    assert (strict.record[-1]["reason"], left(strict)) == ("explicit", ["buy-milk"])
    named = strict.house.says(ask, channel=channel, explicit=True)
    assert (await strict.call("tasks.remove", reply=with_yes(ask, named), title="Buy milk")).error is None


@pytest.mark.parametrize("channel", ["button", "terminal"])
async def test_pressing_is_the_explicit_word(strict: Any, channel: str) -> None:
    ask = await asked(strict)
    await strict.ok("asks.answer", "house", statement=strict.house.says(ask, channel=channel))
    assert (await strict.call("tasks.remove", title="Buy milk")).error is None


async def test_a_plain_spoken_no_is_always_enough(strict: Any) -> None:
    ask = await asked(strict)
    await strict.ok("asks.answer", "house", statement=strict.house.says(ask, "no", channel="voice"))
    assert (await strict.call("tasks.remove", title="Buy milk")).text == "All right, I won't."


async def test_a_yes_from_before_the_rule_became_stricter_is_not_enough(board: Any) -> None:
    ask = await asked(board)
    await board.ok("asks.answer", "house", statement=board.house.says(ask, channel="voice"))
    rule = Rule("never-lightly", "explicit", "Tasks are not removed lightly.", tools=("tasks.remove",))
    board.gate._policy = replace(board.gate._policy, rules=(*board.gate._policy.rules, rule))
    answer = await board.call("tasks.remove", title="Buy milk")
    assert (answer.ask.level, answer.ask.id != ask["id"], left(board)) == ("explicit", True, ["buy-milk"])


# ── keys and seams ─────────────────────────────────────────────────────────────────────────────────


async def test_without_a_key_nothing_that_needs_a_yes_is_ever_done(board: Any) -> None:
    board.gate._asks = Confirmations(None, lambda: board.clock[0], board.gate._state)
    answer = await board.call("tasks.remove", title="Buy milk")
    assert answer.text.endswith("Nobody can say yes to that: I have no key to know a person's yes by.")
    ask = answer.ask.shown()
    answer = await board.call("tasks.remove", reply=with_yes(ask, board.house.says(ask)), title="Buy milk")
    assert (answer.error, board.record[-1]["reason"], left(board)) == ("confirm", "no_key", ["buy-milk"])


def test_a_key_of_the_wrong_kind_stops_the_start(world: Any, wire: Any) -> None:
    file = world.data / "key.pem"
    wrong = ec.generate_private_key(ec.SECP256R1()).public_key()
    contents = {
        None: "cannot be read",
        b"": "is not a public key",
        b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n": "is not a public key",
        wrong.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo): "must be Ed25519",
    }
    for content, sentence in contents.items():
        file.unlink(missing_ok=True)
        if content is not None:
            file.write_bytes(content)
        agents, policy = world.data / "agents.toml", wire.policy
        with (
            pytest.raises(BootFailed, match=sentence),
            opened_gate(ServerSettings(world.data / "other", agents, policy, house_key=file)),
        ):
            pass


class Purse:
    """Pays for so many calls."""

    process = "p1"

    def __init__(self, left: int) -> None:
        self.left = left

    def refusal(self, agent: AgentAccount, actor: CallActor, action: Action) -> Decision | None:
        return None if self.left else Decision("deny", "a-day", "The day's work is done.")

    def spent(self, agent: AgentAccount, actor: CallActor, action: Action) -> int:
        self.left -= 1
        return 5


async def test_only_what_runs_is_paid_for_and_an_empty_purse_is_said_before_anybody_is_asked(board: Any) -> None:
    board.gate._meter = purse = Purse(1)
    ask = await asked(board)
    assert (purse.left, board.record[-1]["cost"]) == (1, None)
    done = await board.call("tasks.remove", reply=with_yes(ask, board.house.says(ask)), title="Buy milk")
    assert (done.error, purse.left) == (None, 0)
    assert (board.record[-1]["cost"], board.record[-1]["process"]) == (5, "p1")
    answer = await board.call("tasks.list")
    assert (answer.error, answer.text, answer.code) == ("denied", "The day's work is done.", -32000)
    assert (board.record[-1]["rule"], board.record[-1]["cost"]) == ("a-day", None)


# ── whatever happens, in whatever order ────────────────────────────────────────────────────────────

TITLES = ("Buy milk", "Buy bread")
STEPS = st.one_of(
    st.tuples(st.just("call"), st.sampled_from(TITLES), st.sampled_from(("family", "owner"))),
    st.tuples(st.just("bring"), st.integers(0, 9), st.sampled_from(("yes", "no"))),
    st.tuples(st.just("retry"), st.integers(0, 9), st.sampled_from(("yes", "no", "forged", "empty", "decline"))),
    st.tuples(st.just("twice"), st.integers(0, 9), st.just("yes")),
    st.tuples(st.just("replay"), st.integers(0, 9), st.just("")),
    st.tuples(st.just("pass"), st.sampled_from((1, 30, 59, 61, -1, -100)), st.just("")),
)


class Household:
    """Plays steps against a gate whose one dangerous tool only counts."""

    def __init__(self, world: Any) -> None:
        self.world = world
        self.ran: list[tuple[str, str]] = []
        self.asks: list[tuple[Any, str, str]] = []  # every question there was, with its title and agent
        self.texts: list[tuple[int, str]] = []  # statements that were signed, by question
        self.yeses: set[str] = set()  # questions that a person ever said yes to
        tools = world.gate._tools
        spec = replace(tools["tasks.remove"], run=self.remove, preview=self.preview)
        world.gate._tools = {**tools, "tasks.remove": spec}

    async def preview(self, call: Call, title: str) -> str:
        await anyio.lowlevel.checkpoint()
        return f"Remove {title}?"

    async def remove(self, call: Call, title: str) -> Result:
        self.ran.append((call.agent.name, title))
        await anyio.lowlevel.checkpoint()
        return Result("Removed.")

    async def call(self, title: str, agent: str, reply: ConfirmationReply = NO_REPLY) -> None:
        world = self.world
        answer = await world.gate.call(CallRequest(world.agents[agent], "tasks.remove", {"title": title}, reply=reply))
        if answer.ask and not any(ask["id"] == answer.ask.id for ask, _, _ in self.asks):
            self.asks.append((answer.ask.shown(), title, agent))

    def sign(self, number: int, answer: str) -> str:
        ask, _, _ = self.asks[number % len(self.asks)]
        if answer == "yes":
            self.yeses.add(ask["id"])
        self.texts.append((number, statement := self.world.house.says(ask, answer)))
        return str(statement)

    async def play(self, steps: list[tuple[str, Any, str]]) -> None:
        for step, what, how in steps:
            if step == "call":
                await self.call(what, how)
            elif step == "pass":
                self.world.pass_seconds(what)
            elif self.asks:
                await self.answer(step, what, how)

    async def answer(self, step: str, number: int, how: str) -> None:
        ask, title, agent = self.asks[number % len(self.asks)]
        if step == "bring":
            await self.world.call("asks.answer", "house", statement=self.sign(number, how))
        elif step == "twice":
            yes = ConfirmationReply(ask["id"], "accept", self.sign(number, how))
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self.call, title, agent, yes)
                tasks.start_soon(self.call, title, agent, yes)
        elif step == "replay" and self.texts:
            number, statement = self.texts[number % len(self.texts)]
            ask, title, agent = self.asks[number % len(self.asks)]
            await self.call(title, agent, ConfirmationReply(ask["id"], "accept", statement))
        elif step == "retry":
            statement = {"forged": "no.such.thing", "empty": "", "decline": ""}.get(how)
            signed = self.sign(number, how) if statement is None else statement
            await self.call(
                title, agent, ConfirmationReply(ask["id"], "decline" if how == "decline" else "accept", signed)
            )


@given(st.lists(STEPS, max_size=25))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_a_deed_is_done_at_most_once_for_each_yes_and_never_without(world: Any, steps: list[Any]) -> None:
    world.pass_seconds(10_000)  # nothing is open any more
    household, begin = Household(world), len(world.record)
    anyio.run(household.play, steps)
    done = [row for row in world.record[begin:] if row["tool"] == "tasks.remove" and row["outcome"] == "ok"]
    used = Counter(row["confirmation"]["ask"] for row in done)
    assert len(done) == len(household.ran)
    assert set(used) <= household.yeses
    assert set(used.values()) <= {1}
    by_id = {ask["id"]: (agent, title) for ask, title, agent in household.asks}
    assert Counter(by_id[id] for id in used) == Counter(household.ran), "each yes did what it was said to"


def test_a_statement_with_long_names_fits_into_the_argument_that_brings_it(house: Any) -> None:
    ask = {"id": "0" * 32, "expires_at": 1_800_000_060.123, "tool": "x" * 60}
    ask |= {"arguments_sha256": "0" * 64, "sentence": "Really?"}
    names = dict.fromkeys(("person", "device"), "Anné de la Tour" * 3)
    assert len(house.says(ask, channel="terminal", explicit=True, **names)) < STATEMENT_CHARACTERS


def test_questions_of_different_people_are_different_questions(world: Any) -> None:
    asks = Confirmations(None, lambda: 0.0, world.gate._state)
    first = asks.settle(ConfirmedCall("family", CallActor("Anna"), "t", "h"), "confirm", "Really?", ConfirmationReply())
    second = asks.settle(ConfirmedCall("family", CallActor("Mia"), "t", "h"), "confirm", "Really?", ConfirmationReply())
    assert first != second


async def test_a_question_that_is_open_goes_by_its_answer_also_when_the_hour_that_asked_is_over(world: Any) -> None:
    until_a_minute_past_nine = Rule("early", "confirm", "It is early.", tools=("timers.start",), hours=(Hours(0, 541),))
    world.gate._policy = replace(world.gate._policy, rules=(*world.gate._policy.rules, until_a_minute_past_nine))
    world.pass_seconds(30)
    ask = await asked(world, tool="timers.start", seconds=60)
    world.pass_seconds(40)
    assert await asked(world, tool="timers.start", seconds=60) == ask
    assert (await world.call("timers.start", seconds=61)).receipt, "what nobody was asked about is allowed by now"
