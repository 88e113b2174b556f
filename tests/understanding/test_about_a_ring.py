"""What is said to something that rings, without a wake word, and what is other talk beside it."""

from __future__ import annotations

from functools import cache

import pytest

from atlas.understanding.grammar import open_grammar
from atlas.understanding.understanding import Reader
from tests.houses import english, reader_of
from tests.understanding.talking import Talk


@cache
def reader(language: str) -> Reader:
    return reader_of(english() if language == "en" else open_grammar(language))


ABOUT = {
    "en": [
        *("stop", "Stop it!", "shut up", "never mind", "be quiet", "That's enough.", "silence"),
        *("stop the timer", "turn off the alarm", "snooze", "snooze for ten minutes", "cancel the pizza timer"),
        *("I'm up", "set a timer for five minutes", "how much time is left on the timer"),
    ],
    "de": ["Stopp.", "Ruhe!", "Sei still.", "Stopp den Timer.", "Mach den Wecker aus.", "Genug."],
}
OTHER = {
    "en": [
        *(
            "the bus stop is over there",
            "he works nonstop",
            "did you see the alarm clock on ebay",
            "quiet people are nice",
        ),
        *("there is enough pasta for everyone", "I said stop hitting your sister", "turn off the oven", "what a day"),
    ],
    "de": ["Die Haltestelle ist da drüben.", "Ich habe genug Nudeln gekocht.", "In der Ruhe liegt die Kraft."],
}


@pytest.mark.parametrize(("language", "text"), [(one, text) for one, texts in ABOUT.items() for text in texts])
def test_what_may_be_meant_for_a_ring_is_heeded(language: str, text: str) -> None:
    assert reader(language).is_about_ring(text)


@pytest.mark.parametrize(("language", "text"), [(one, text) for one, texts in OTHER.items() for text in texts])
def test_other_talk_beside_a_ring_is_not(language: str, text: str) -> None:
    assert not reader(language).is_about_ring(text)


@pytest.mark.parametrize("stop", ["Stop it!", "stop that", "stop the timer"])
async def test_a_bare_stop_after_a_timer_was_set_ends_what_rings_first(stop: str) -> None:
    talk = Talk(english(), "Kitchen")
    await talk.say("set a timer for five minutes")
    talk.calls()
    await talk.say(stop)
    ((tool, arguments),) = talk.calls()
    assert tool == "alarms.stop" or (tool == "timers.cancel" and arguments["silence"] is True)


@pytest.mark.parametrize(
    "other",
    [
        *("cancel the five minute timer", "stop the pasta timer", "pause the timer", "stop the radio"),
        *("cancel the kitchen timer", "stop it in the kitchen", "add five minutes to the timer"),
    ],
)
async def test_what_names_another_thing_ends_no_ring_in_its_place(other: str) -> None:
    talk = Talk(english(), "Kitchen")
    await talk.say("set a timer for five minutes")
    talk.calls()
    await talk.say(other)
    assert not any("silence" in arguments for _, arguments in talk.calls())


@pytest.mark.parametrize(
    "text",
    [
        *("cancel all alarms", "Delete all my alarms, please.", "clear all of the alarms", "cancel both alarms"),
        *("cancel every alarm", "cancel my alarms", "get rid of all the alarms"),
    ],
)
def test_all_alarms_are_cancelled(text: str) -> None:
    (command,) = reader("en").read(text).commands
    assert (command.tool, dict(command.arguments)) == ("alarms.cancel_all", {})


@pytest.mark.parametrize(
    "text",
    [
        *("cancel the alarm", "cancel my 7 o'clock alarm", "cancel all alarms for tomorrow", "turn off all alarms"),
        *("cancel all alarms but the one at seven", "don't cancel all alarms", "show all alarms"),
        *("cancel all timers", "did you cancel all alarms"),
    ],
)
def test_what_is_not_all_alarms_does_not_cancel_them(text: str) -> None:
    assert not any(one.tool == "alarms.cancel_all" for one in reader("en").read(text).commands)


@pytest.mark.parametrize(
    ("language", "text", "day"),
    [
        *(("en", text, "") for text in ("skip all alarms", "skip every alarm", "Skip all of my alarms, please.")),
        *(("en", text, "tomorrow") for text in ("cancel all alarms for tomorrow", "skip my alarms tomorrow")),
        *(("en", text, "tomorrow") for text in ("cancel all of tomorrow's alarms", "turn off all alarms for tomorrow")),
        *(("en", text, "tomorrow") for text in ("no alarm tomorrow", "No alarms tomorrow morning, please.")),
        ("en", "no alarm on Saturday", "Saturday"),
        ("de", "überspring alle Wecker", ""),
        *(("de", text, "morgen") for text in ("lösche alle Wecker für morgen", "kein Wecker morgen")),
        ("de", "am Samstag bitte keinen Wecker", "samstag"),
    ],
)
def test_all_alarms_are_left_out_once_or_on_a_day(language: str, text: str, day: str) -> None:
    (command,) = reader(language).read(text).commands
    expected = {"every": True, **({"day": day.casefold()} if day else {})}
    assert command.tool == "alarms.skip"
    assert {k: v.casefold() if isinstance(v, str) else v for k, v in command.arguments.items()} == expected
