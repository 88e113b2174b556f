"""Dialogues in English with all that was learnt: what goes on, is put right, or is only remarked on behind a deed."""

from __future__ import annotations

from pathlib import Path

import pytest

from atlas.agents.agent_commands import Commands
from atlas.agents.minds import InOrder
from atlas.understanding.grammar import open_grammar
from tests.understanding.talking import Call, Talk, dialogues
from tests.understanding.test_dialogues import does_what_is_meant
from tests.understanding.test_exemptions import reader

pytestmark = pytest.mark.real

LEARNT = dialogues((Path(__file__).parent / "dialogues_learnt_en.txt").read_text(encoding="utf-8"))


def learnt_talk() -> Talk:
    talk = Talk(open_grammar("en"))
    commands = Commands(talk.grammar.tables, talk.tools)
    talk.agent = InOrder("family", reader(), [commands], names=lambda: talk.names)
    return talk


@pytest.mark.parametrize("turns", LEARNT, ids=lambda turns: " / ".join(text for text, _ in turns))
async def test_a_dialogue_goes_on_from_what_was_done(turns: list[tuple[str, list[Call] | str]]) -> None:
    await does_what_is_meant(learnt_talk(), turns)
