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


DUE = [
    ("de", "Neue Aufgabe: Keller aufräumen bis Samstag", "Keller aufräumen bis Samstag", "Keller aufräumen", "Samstag"),
    ("de", "Aufgabe bis Freitag: Auto waschen", "bis Freitag Auto waschen", "Auto waschen", "Freitag"),
    ("de", "Steuer auf die Aufgaben, fällig am Montag", "Steuer", "Steuer", "am Montag"),
    ("de", "Aufgabe: am Samstag Rasen mähen", "am Samstag Rasen mähen", "am Samstag Rasen mähen", None),
    ("en", "new task: fix the tap by Friday", "fix the tap by Friday", "fix the tap", "Friday"),
    ("en", "put the tax return on my tasks, due on Monday", "the tax return", "the tax return", "on Monday"),
    ("en", "task: ring Nan on Friday", "ring Nan on Friday", "ring Nan on Friday", None),
    ("en", "task: sit by the river", "sit by the river", "sit by the river", None),
]


@for_every("language, text, title, task, day", DUE)
def test_a_task_is_due_on_the_day_until_which_it_is_wanted(
    language: str, text: str, title: str, task: str, day: str | None
) -> None:
    several = SeveralTasks(open_grammar(language).tables["several_tasks"])
    [made] = several.due([Command(ADD, {"title": title})], text)
    assert (made.arguments["title"], made.arguments.get("due")) == (task, day)
