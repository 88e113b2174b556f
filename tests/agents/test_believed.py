"""Sentences that were once believed without a deed behind them, in both languages; and what sounds like them."""

from __future__ import annotations

import pytest

from atlas.agents.tongues import Tongues, open_tongues
from atlas.agents.truth import Deeds, correction, is_true

TONGUES = {language: open_tongues(language) for language in ("en", "de")}


def believed(asked: str, said: str, tongues: Tongues) -> bool:
    deeds = Deeds(asked=asked)
    return is_true(said, deeds, tongues) and not correction(said, deeds, tongues)


@pytest.mark.parametrize(
    ("language", "asked", "said"),
    [
        ("en", "what a day", "Meanwhile the front door got locked."),
        ("en", "what a day", "I emailed Bob."),
        ("en", "what a day", "Bob was told about it by email."),
        ("en", "did you feed the fish", "Yes, they were hungry."),
        ("en", "did you water our plants", "Watered and happy."),
        ("en", "what time is my alarm", "Seven."),
        ("en", "what's on my list", "Milk, eggs and bread."),
        ("en", "what's in our calendar tomorrow", "You have a dentist appointment at nine."),
        ("en", "do I have any emails", "Two, both from Anna."),
        ("en", "what did Anna write in her email", "She says she'll be late."),
        ("en", "how many timers are running", "Two timers."),
        ("de", "so ein Tag", "Ich habe mir erlaubt, die Haustür abzuschließen."),
        ("de", "so ein Tag", "Bob hab ich auch gleich gemailt."),
        ("de", "so ein Tag", "Die Haustür schloss ich ab."),
        ("de", "was steht auf meiner Liste", "Milch, Eier und Brot."),
        ("de", "was habe ich morgen vor", "Um neun hast du Zahnarzt."),
        ("de", "wann klingelt mein Wecker", "Um sieben."),
        ("de", "wie viele Timer laufen", "Zwei."),
        ("de", "habe ich neue Mails", "Zwei, beide von Anna."),
    ],
)
def test_it_is_not_believed_any_more(language: str, asked: str, said: str) -> None:
    assert not believed(asked, said, TONGUES[language])


@pytest.mark.parametrize(
    ("language", "asked", "said"),
    [
        ("en", "did you know the moon is hollow", "No, it is made of rock."),
        ("en", "what's in our galaxy", "A few hundred billion stars."),
        ("en", "what's on the menu of a French bistro", "Onion soup and steak."),
        ("en", "how many timers should I use for a roast", "One for the meat."),
        ("en", "what should I put on my shopping list for pancakes", "Flour, eggs and milk."),
        ("en", "when is the best time for meetings", "Before lunch."),
        ("de", "wie viele Eier sind in einem Kuchen", "Drei."),
        ("de", "was habe ich dir getan", "Gar nichts."),
        ("de", "was steht in der Bibel", "Vieles."),
    ],
)
def test_what_only_sounds_like_it_passes(language: str, asked: str, said: str) -> None:
    assert believed(asked, said, TONGUES[language])
