"""What a sentence names only to reject is dropped, and its opposite stands; devices and places are left to others."""

from __future__ import annotations

from atlas.understanding.grammar import open_grammar
from atlas.understanding.rejected_values import LONGEST_CHARACTERS, RejectedValues
from tests.conftest import for_every


def without(language: str, text: str) -> str:
    grammar = open_grammar(language)
    return RejectedValues(grammar.tables["rejects"], grammar.digits, grammar.tables["slips"]).without(text)


@for_every(
    ("language", "text", "kept"),
    [
        ("en", "set the kitchen light to thirty, not to twenty", "set the kitchen light to thirty"),
        ("en", "set the light to 30 percent, not 20", "set the light to 30 percent"),
        ("en", "set the heating not to twenty but to twenty two", "set the heating to twenty two"),
        ("en", "set the heating to nineteen rather than twenty", "set the heating to nineteen"),
        ("en", "set the heating to nineteen instead of twenty", "set the heating to nineteen"),
        ("en", "not ten, twenty percent for the kitchen light", "twenty percent for the kitchen light"),
        ("en", "set a timer for five minutes, not ten", "set a timer for five minutes"),
        ("en", "set a timer not for ten but for fifteen minutes", "set a timer for fifteen minutes"),
        ("en", "wake me at seven, not at eight", "wake me at seven"),
        ("en", "wake me not at eight but at seven", "wake me at seven"),
        ("en", "remind me on Tuesday, not Monday, to call Anna", "remind me on Tuesday to call Anna"),
        ("en", "add milk not bread to the shopping list", "add milk to the shopping list"),
        ("en", "put milk on the shopping list, not bread", "put milk on the shopping list"),
        ("en", "make the kitchen light red, not blue", "make the kitchen light red"),
        ("en", "turn the desk lamp blue instead of red", "turn the desk lamp blue"),
        ("en", "turn the kitchen light on, not off", "turn the kitchen light on"),
        ("en", "not this one, the next one", "the next one"),
        ("de", "stell die Heizung nicht auf zwanzig, auf dreißig", "stell die Heizung auf dreißig"),
        (
            "de",
            "stell die Heizung nicht auf zwanzig, sondern auf zweiundzwanzig",
            "stell die Heizung auf zweiundzwanzig",
        ),
        ("de", "stell die Heizung auf neunzehn statt auf zwanzig", "stell die Heizung auf neunzehn"),
        ("de", "stell die Heizung statt auf zwanzig auf neunzehn", "stell die Heizung auf neunzehn"),
        ("de", "nicht zehn, zwanzig Prozent für das Licht", "zwanzig Prozent für das Licht"),
        ("de", "stell einen Timer nicht auf zehn, sondern auf elf Minuten", "stell einen Timer auf elf Minuten"),
        ("de", "weck mich um sieben, nicht um acht", "weck mich um sieben"),
        ("de", "weck mich nicht um acht, sondern um sieben", "weck mich um sieben"),
        ("de", "erinnere mich am Dienstag, nicht am Montag, an Anna", "erinnere mich am Dienstag an Anna"),
        ("de", "setz Milch auf die Einkaufsliste, nicht Brot", "setz Milch auf die Einkaufsliste"),
        ("en", "add milk not bread", "add milk"),
        ("en", "put bread on the list but no butter", "put bread on the list"),
        ("en", "add milk but not the eggs", "add milk"),
        ("de", "setz Brot auf die Liste, aber keine Butter", "setz Brot auf die Liste"),
        ("en", "add milk, not bread", "add milk"),
        ("en", "add milk instead of bread", "add milk"),
        ("de", "schreib Milch auf, nicht Brot", "schreib Milch auf"),
        ("de", "setz nicht Brot, sondern Milch auf die Einkaufsliste", "setz Milch auf die Einkaufsliste"),
        ("de", "setz Hafermilch statt Kuhmilch auf die Einkaufsliste", "setz Hafermilch auf die Einkaufsliste"),
        ("de", "mach das Küchenlicht rot, nicht blau", "mach das Küchenlicht rot"),
        ("de", "mach die Lampe nicht rot, sondern blau", "mach die Lampe blau"),
        ("de", "mach das Küchenlicht an, nicht aus", "mach das Küchenlicht an"),
    ],
)
def test_a_value_that_is_rejected_is_dropped(language: str, text: str, kept: str) -> None:
    assert without(language, text) == kept


@for_every(
    ("language", "text", "meant"),
    [
        ("en", "office light to fifty, nah, seventy", "office light to seventy"),
        ("en", "the lamp at sixty, no, seventy per cent if you would", "the lamp at seventy per cent if you would"),
        ("en", "the lamp at sixty percent, no, seventy if you would", "the lamp at seventy percent if you would"),
        ("en", "can my lamp be purple, no wait, blue, I want blue", "can my lamp be blue, I want blue"),
        (
            "en",
            "ten minutes for the carrots, no, they are old ones, better make it fifteen",
            "fifteen minutes for the carrots",
        ),
        ("de", "die Lampe auf zwanzig, nein, dreißig Prozent bitte", "die Lampe auf dreißig Prozent bitte"),
        ("de", "mach die Lampe rot, nee, blau", "mach die Lampe blau"),
        (
            "de",
            "ein Timer auf zehn Minuten, nein, die sind alt, mach lieber fünfzehn",
            "ein Timer auf fünfzehn Minuten",
        ),
    ],
)
def test_a_value_that_is_put_right_is_not_meant(language: str, text: str, meant: str) -> None:
    assert without(language, text) == meant


@for_every(
    ("language", "text"),
    [
        ("en", "the lamp to fifty, no, the fan"),
        ("en", "the lamp to fifty and the fan to sixty, no, they are new, make it seventy"),
        ("en", "do not set it to twenty"),
        ("en", "turn on the hall light, not the kitchen light"),
        ("en", "all lights off, not the hall"),
        ("en", "the light is not on, turn it on"),
        ("en", "it's not warm enough, make it twenty one"),
        ("en", "not now, I'm on the phone"),
        ("en", "is the light on or not"),
        ("en", "don't turn it on, off"),
        ("de", "mach das nicht auf zwanzig"),
        ("de", "alle Lichter aus, nur nicht im Flur"),
        ("de", "das Licht geht nicht an, mach was"),
        ("de", "ist das Licht an oder nicht"),
        ("de", "schließ die Haustür ab, nicht die Hintertür"),
        ("de", "setze Milch nicht auf die Einkaufsliste"),
        ("en", "put milk not on the shopping list"),
        ("en", "not seven, half eight"),
        ("en", "a" * LONGEST_CHARACTERS + " to thirty, not to twenty"),
    ],
)
def test_a_sentence_that_rejects_no_value_stays_as_it_is(language: str, text: str) -> None:
    assert without(language, text) == text
