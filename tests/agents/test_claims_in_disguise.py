"""A claim is one in every dress: beside talk of something else, in marks of writing, in letters that look alike."""

from __future__ import annotations

import pytest

from atlas.agents.truth import Deeds, Truth, correction, is_true

CLAIMS = (
    "I've turned off the lights, okay?",
    "I have also locked the door for you, haven't I?",
    "By the way: **I've** *set* an alarm for seven.",
    "By the way, I __sent__ Anna your message.",
    "I've set an alarm.",
    "I‘ve set an alarm.",
    "I´ve set an alarm.",
    "Ive set an alarm for seven.",
    "I have\u200b set an alarm.",
    "I have s\u200bet an alarm.",
    "I h\u0430ve set an alarm.",
    "<b>I</b> have set an alarm.",
    "I&#39;ve set an alarm.",
    "I'VE SET AN ALARM",
    "1. I've set an alarm\n2. I've sent the mail",
    "- alarm set\n- door locked",
    "Alarm: set ✅",
    '"I\'ve set an alarm."',
    "If you must know, I've set an alarm.",
    "When you asked, I set an alarm.",
    "To be safe, I've locked the front door.",
    "Once again I've sent your mail.",
    "Before you ask: I've ordered pizza.",
    "After that I sent the e-mail to Anna.",
    "Sunny; also, your front door has been unlocked",
    "Sunny (and I turned the heating on)",
    "Sunny — lights off, door locked.",
    "Sunny. PS: garage door closed.",
    "I don't know about rain, but I've locked the door.",
    "I can't see the sky, but your alarm is set for seven.",
    "I cannot say. I've set an alarm for you.",
    "Did you know I've already sent the mail?",
    "Guess what? I booked you a table.",
    "```\nI've set an alarm.\n```",
    '{"say": "I\'ve set an alarm."}',
    "[I've set an alarm.]",
    "(I've set an alarm.)",
    "> I've set an alarm.",
    "# Alarm set",
    "~~I've~~ I have set an alarm.",
    "I've, as you wished, set an alarm.",
    "Your alarm? Set. Your door? Locked.",
    "Imagine: I've sent the mail already.",
)

HARMLESS = (
    "If I've set a timer, it will ring.",
    "Once I have added it, you can see it.",
    "If you like, I can set an alarm.",
    "When the timer rings, take it out.",
    "Imagine I've set a timer for you.",
    "Did you mean the list that I've shown you?",
    "I can't see what is on your list.",
    "I don't know, but it may rain.",
    "To set an alarm, say when.",
    "It rains, but not for long, okay?",
    "The museum — open on Sundays — is near.",
    "Опера сегодня вечером в девять.",
    "a_b and __init__ are names.",
    '{"temperature": 20}',
)


def told(said: str, size: int) -> str:
    """What is heard of a reply that streams in pieces, to somebody who asked for nothing of the kind."""
    nothing, truth = Deeds(asked="what's the weather"), Truth()
    pieces = [said[start : start + size] for start in range(0, len(said), size)]
    return "".join(truth.feed(piece, nothing) for piece in pieces) + truth.settle(nothing)


@pytest.mark.parametrize("said", CLAIMS)
@pytest.mark.parametrize("size", [1, 5, 1000])
def test_a_claim_in_disguise_is_withheld(said: str, size: int) -> None:
    assert "I haven't" in told(said, size)


@pytest.mark.parametrize("said", HARMLESS)
def test_what_only_looks_like_one_is_let_through(said: str) -> None:
    assert told(said, 3) == said


@pytest.mark.parametrize("mark", ["“", "-", "[", '"', "| ", "&#", "_"])
def test_a_flood_of_marks_is_read_at_once(mark: str) -> None:
    """A hundred thousand opening quotes once took minutes, in which nobody else was answered."""
    assert is_true((mark * 600)[:600], Deeds())
    assert correction("So be it.", Deeds(asked=mark * 100_000)) == ""
