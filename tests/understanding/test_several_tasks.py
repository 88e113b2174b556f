"""Each task that is named in one breath is one of its own; what only belongs to one is no other."""

from __future__ import annotations

from atlas.understanding.grammar import open_grammar
from atlas.understanding.masks import MaskedPiece
from atlas.understanding.parser import LabelledPiece, Parse
from atlas.understanding.several_tasks import ADD, SeveralTasks
from atlas.understanding.slots import Command
from tests.conftest import for_every

ROWS = [
    ("en", "fix the tap, ring the school about the trip, and bleed the radiator", 3),
    ("en", "book the dentist, call Granny and pay the gas bill", 3),
    ("de", "Müll rausbringen, Zimmer aufräumen und Rasen mähen", 3),
    ("de", "Laterne reparieren und Päckchen zur Post bringen", 2),
    ("en", "buy milk and eggs", 1),
    ("en", "clean the kitchen, the hall and the bath", 1),
    ("en", "hoover the stairs and landing", 1),
    ("de", "Milch und Eier kaufen", 1),
    ("de", "Küche, Bad und Flur putzen", 1),
    ("de", "Oma anrufen, weil sie krank ist", 1),
]


@for_every("language, title, count", ROWS)
def test_tasks_in_one_breath_are_told_apart(language: str, title: str, count: int) -> None:
    several = SeveralTasks(open_grammar(language).tables["several_tasks"])
    command = Command(ADD, {"title": title})
    parse = Parse(ADD, 0.99, (command,), text=title, pieces=(LabelledPiece(MaskedPiece("x", 0, len(title)), "B-T"),))
    assert len(several.told_apart([command], parse)) == count
