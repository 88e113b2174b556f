"""Who is believed where a grammar and what was learnt read the same words in two ways."""

from __future__ import annotations

from atlas.understanding.frames import Frames
from atlas.understanding.meaning import TurnMeaning
from atlas.understanding.names import NOBODY
from atlas.understanding.parser import NOTHING, Before, Parse
from atlas.understanding.rivals import Rivals, meant
from atlas.understanding.slots import Command
from tests.conftest import for_every
from tests.houses import english


@for_every("before", [NOTHING, Before(act="timers.start")])
def test_a_tool_of_later_days_is_no_talk_although_nothing_was_learnt_of_it(before: Before) -> None:
    call = (Command("jokes.tell", {}),)
    frames = Frames(english().tables.get("frames", {}), english().digits)
    rivals = Rivals(call, Parse("talk", 0.99), before, "tell us a joke", NOBODY, "", frames, lambda: None, TurnMeaning)
    assert meant(rivals) == TurnMeaning(commands=call)


def test_one_ring_is_skipped_and_not_the_series_cancelled_that_was_just_set() -> None:
    skips, cancels = Command("alarms.skip", {"day": "tomorrow"}), Command("alarms.cancel", {"time": "every day at six"})
    frames, before = Frames(english().tables.get("frames", {}), english().digits), Before(act="alarms.set")
    parse = Parse("alarms.cancel", 0.99, (cancels,), follows=True)
    rivals = Rivals((skips,), parse, before, "skip tomorrow's alarm", NOBODY, "", frames, lambda: None, TurnMeaning)
    assert meant(rivals) == TurnMeaning(commands=(skips,))


def test_a_list_that_is_named_and_has_nothing_on_it_yet_is_no_task() -> None:
    makes, task = Command("lists.add", {"list": "gifts", "items": []}), Command("tasks.add", {"title": "called gifts"})
    frames, before = Frames(english().tables.get("frames", {}), english().digits), Before(act="tasks.add")
    parse = Parse("tasks.add", 0.96, (task,), follows=True)
    rivals = Rivals((makes,), parse, before, "make a list called gifts", NOBODY, "", frames, lambda: None, TurnMeaning)
    assert meant(rivals) == TurnMeaning(commands=(makes,))
