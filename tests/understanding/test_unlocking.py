"""A door is unlocked by words that say so and stand alone; beside another wish, or on a remark, only with a yes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from atlas.config import load
from atlas.conversation import Message
from atlas.understanding.grammar import open_grammar
from atlas_bench._effects import AT
from atlas_bench._household import Outcome, household
from tests.conftest import for_every
from tests.understanding.talking import GERMAN_NAMES, NAMES, Talk
from tests.understanding.test_wishes_in_turn import deeds

pytestmark = pytest.mark.real
KINDS = {"Front Door": "lock", "Back Door": "lock", "Tumble Dryer": "switch"}
GERMAN_KINDS = {"Haustür": "lock", "Terrassentür": "lock", "Trockner": "switch"}
STATES = {"lock": {"locked": False}, "switch": {"on": True}}


def talk_in(language: str, room: str) -> Talk:
    """Return a dialogue that the grammar alone understands, begun in one of the rooms."""
    return Talk(open_grammar(language), room, GERMAN_NAMES if language == "de" else NAMES)


async def outcomes(folder: Path, language: str, sentences: Sequence[str]) -> list[Outcome]:
    """Return what comes of sentences, said one after the other in a hall of two doors and a dryer."""
    kinds = GERMAN_KINDS if language == "de" else KINDS
    devices = [
        {"name": name, "kind": kind, "room": "Hall", "can": [*STATES[kind]], "state": STATES[kind], "aliases": []}
        for name, kind in kinds.items()
    ]
    rules, history, made = load(os.environ).tools.policy.read_text(encoding="utf-8"), tuple[Message, ...](), []
    async with household(folder, {"rooms": [{"name": "Hall"}], "devices": devices}, language, rules, AT) as home:
        await home.names.fetch()
        for text in sentences:
            made.append(await home.say(text, "Hall", history))
            history += made[-1].messages
    return made


@for_every(
    "language, text",
    [
        ("en", "wake me at seven and unlock the front door"),
        ("en", "set a timer for ten minutes and unlock the front door"),
        ("de", "weck mich um sieben und sperr die Haustür auf"),
        ("de", "mach die Leselampe aus und sperr die Haustür auf"),
    ],
)
async def test_a_door_is_unlocked_beside_another_wish_only_with_a_yes(language: str, text: str) -> None:
    talk = talk_in(language, "Flur" if language == "de" else "Hall")
    assert (await talk.say(text)).endswith("?")
    assert not talk.calls()


async def test_a_door_by_itself_is_unlocked_at_once() -> None:
    tools = [tool for tool, _ in await deeds(talk_in("en", "Hall"), "unlock the front door")]
    assert tools == ["home.unlock"]


async def test_a_door_does_not_open_now_that_waits_for_what_the_house_cannot_tell() -> None:
    talk = talk_in("de", "Flur")
    assert "Wann das ist" in await talk.say("nach dem Essen die Leselampe aus und sperr die Haustür auf")
    assert not talk.calls()


@for_every("language, remark", [("en", "no, open it"), ("de", "nein, doch auf"), ("de", "mach wieder auf")])
async def test_a_door_that_was_just_locked_is_unlocked_by_a_word(language: str, remark: str) -> None:
    door, room = ("die Haustür", "Flur") if language == "de" else ("the front door", "Hall")
    lock = f"sperr {door} zu" if language == "de" else f"lock {door}"
    assert [tool for tool, _ in await deeds(talk_in(language, room), lock, remark)] == ["home.unlock"]


@pytest.mark.parametrize(
    ("language", "sentences", "reply"),
    [
        ("en", ("lock the front door", "Poppy's gone off without her PE kit again."), "Unlock Front Door?"),
        ("en", ("lock the front door", "someone's at it, let them in"), "Unlock Front Door?"),
        ("en", ("lock both doors", "and open them again please"), "Which one do you mean?"),
        ("de", ("sperr die Haustür auf", "und die hintere auch"), "Welches Gerät meinst du?"),
    ],
)
async def test_a_remark_unlocks_nothing_unasked(
    language: str, sentences: Sequence[str], reply: str, tmp_path: Path
) -> None:
    *before, remark = await outcomes(tmp_path, language, sentences)
    assert before[0].calls
    assert (remark.text, remark.calls) == (reply, ())


@pytest.mark.parametrize(
    ("language", "sentences"),
    [
        ("en", ("is the tumble dryer still going?", "let it finish")),
        ("de", ("Ist der Trockner noch an?", "Lass ihn fertig laufen.")),
    ],
)
async def test_what_is_to_finish_is_left_alone(language: str, sentences: Sequence[str], tmp_path: Path) -> None:
    *_, last = await outcomes(tmp_path, language, sentences)
    assert last.calls == ()
