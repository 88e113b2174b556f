"""What is answered to who asks what was done, sent or noted in a talk, complains about it, or says thank you."""

from __future__ import annotations

from dataclasses import replace

import pytest

from atlas.understanding.concern import SmallTalk
from atlas.understanding.grammar import open_grammar
from tests.understanding.talking import GERMAN_NAMES, NAMES, Talk


def talk(language: str) -> Talk:
    names = replace(NAMES if language == "en" else GERMAN_NAMES, people=("Oskar",))
    return Talk(open_grammar(language), names=names)


@pytest.mark.parametrize(
    ("language", "deed", "question"),
    [
        ("en", "turn on the hall light", "what have you gone and done"),
        ("en", "turn on the hall light", "eh, what did you turn on there"),
        ("en", "turn on the hall light", "sorry, did that go through?"),
        ("de", "Mach das Küchenlicht an", "Was hast du denn da jetzt angemacht?"),
        ("de", "Mach das Küchenlicht an", "Was haben Sie gerade eben gemacht?"),
        ("de", "Mach das Küchenlicht an", "Hast du das jetzt gemacht oder nicht?"),
    ],
)
async def test_what_was_just_done_is_looked_up(language: str, deed: str, question: str) -> None:
    house = talk(language)
    await house.say(deed)
    house.calls()
    await house.say(question)
    assert house.calls() == [("history.last", {})]


@pytest.mark.parametrize(
    ("language", "turns", "answer"),
    [
        ("en", ["flurb", "what did you just do"], "Nothing: I haven't changed anything."),
        ("de", ["flurb", "Was hast du gerade gemacht?"], "Nichts: Ich habe nichts geändert."),
        (
            "en",
            ["turn on the hall light", "flurb", "what did that change"],
            "Nothing just now. Before that: home.turn done.",
        ),
        ("en", ["message Oskar the van's here", "what did you tell him exactly?"], "To Oskar: “the van's here”."),
        (
            "en",
            ["message Oskar the van's here", "did you say the keys as well?"],
            "No, only this: To Oskar: “the van's here”.",
        ),
        ("en", ["flurb", "have you told Oskar?"], "Nothing: I haven't told anybody anything just now."),
        ("de", ["Schreib Oskar, der Bus kommt", "Was hast du ihm geschrieben?"], "An Oskar: „der Bus kommt“."),
    ],
)
async def test_what_came_to_nothing_and_what_was_sent_is_said(language: str, turns: list[str], answer: str) -> None:
    house = talk(language)
    said = [await house.say(turn) for turn in turns]
    assert said[-1] == answer


@pytest.mark.parametrize(
    ("language", "deed", "complaint", "question", "yes"),
    [
        (
            "en",
            "turn on the hall light",
            "I never asked you to do that",
            "Sorry. home.turn done. Shall I take that back?",
            "yes",
        ),
        (
            "de",
            "Mach das Küchenlicht an",
            "Das hab ich doch gar nicht gesagt",
            "Entschuldigung. home.turn done. Soll ich das zurücknehmen?",
            "ja",
        ),
    ],
)
async def test_a_complaint_about_a_deed_offers_to_take_it_back(
    language: str, deed: str, complaint: str, question: str, yes: str
) -> None:
    house = talk(language)
    await house.say(deed)
    assert await house.say(complaint) == question
    house.calls()
    await house.say(yes)
    assert house.calls() == [("history.undo", {})]


@pytest.mark.parametrize(
    ("language", "complaint", "answer"),
    [
        ("en", "you never listen to me", "I'm sorry. I have done nothing now; please say it in other words."),
        (
            "de",
            "Sie verstehen mich einfach nicht",
            "Das tut mir leid. Getan habe ich jetzt nichts; sag es bitte mit anderen Worten.",
        ),
    ],
)
async def test_a_complaint_where_nothing_was_done_is_regretted(language: str, complaint: str, answer: str) -> None:
    assert await talk(language).say(complaint) == answer


@pytest.mark.parametrize(
    ("language", "deed", "text"),
    [
        ("en", "dim the hall light to ten percent", "I said off, not dimmer. Good grief"),
        ("de", "Stell das Küchenradio auf 20 Prozent", "Ich sagte aus, nicht leiser"),
    ],
)
async def test_what_was_said_instead_is_done(language: str, deed: str, text: str) -> None:
    house = talk(language)
    await house.say(deed)
    house.calls()
    await house.say(text)
    assert [(name, call.get("on")) for name, call in house.calls()] == [("home.turn", False)]


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "what did you do at school today"),
        ("en", "what did the dog do"),
        ("en", "did you turn off the oven"),
        ("en", "I didn't want to get up this morning"),
        ("en", "what are you doing on Saturday"),
        ("de", "Was hast du in der Schule gemacht?"),
        ("de", "Was hat der Hund gemacht?"),
        ("de", "Das hab ich dem Chef nicht gesagt"),
        ("de", "Du verstehst dich nicht mit ihm"),
    ],
)
async def test_talk_of_other_deeds_is_none_of_the_house(language: str, text: str) -> None:
    house = talk(language)
    await house.say("turn on the hall light" if language == "en" else "Mach das Küchenlicht an")
    house.calls()
    answer = await house.say(text)
    assert not [name for name, _ in house.calls() if name in ("history.last", "history.undo")]
    assert not answer.startswith(("Sorry.", "Nothing", "Entschuldigung.", "Nichts"))


@pytest.mark.parametrize(
    ("language", "text", "answer"),
    [
        ("en", "oh brilliant, cheers duck", "You're welcome."),
        ("en", "ta very much, night then", "You're welcome. Good night."),
        ("en", "you're a legend, thanks for that", "You're welcome."),
        ("en", "sorry, my fault, I got it wrong", "That's all right."),
        ("en", "just got in, shattered", "Welcome home."),
        ("en", "that'll do", "All right."),
        ("en", "oh that's much better", "All right."),
        ("de", "Super, merci, du bist ein Engel", "Gern."),
        ("de", "Vielen Dank, mehr brauche ich nicht.", "Gern."),
        ("de", "Ach, Verzeihung, da hab ich mich vertan", "Schon gut."),
        ("de", "Dank dir, gute Nacht", "Gern. Gute Nacht."),
    ],
)
def test_courtesies_are_answered_clause_by_clause(language: str, text: str, answer: str) -> None:
    assert SmallTalk(open_grammar(language).tables).courtesy(text) == answer


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "thanks, and turn the light off"),
        ("en", "perfect"),
        ("en", "that's better off"),
        ("en", "that's right, the hall"),
        ("en", "sorry, not the hall, the kitchen"),
        ("en", "good night, wake me at seven"),
        ("en", "thank Oskar for me"),
        ("de", "Danke, und jetzt das Licht aus"),
        ("de", "gut so, aber leiser"),
        ("de", "Entschuldigung, nicht zehn, zwanzig"),
        ("de", "lass so"),
    ],
)
def test_a_wish_beside_thanks_and_what_may_be_an_answer_are_no_courtesy(language: str, text: str) -> None:
    assert SmallTalk(open_grammar(language).tables).courtesy(text) == ""
