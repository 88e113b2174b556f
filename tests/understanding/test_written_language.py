"""In which language words are written, told by the words and letters of each."""

from __future__ import annotations

from functools import cache

from atlas.understanding.act_model import corpus_lines
from atlas.understanding.written_language import WrittenLanguage, open_written_language
from tests.conftest import for_every


@cache
def both() -> WrittenLanguage:
    return open_written_language(["en", "de"])


WRITTEN = {
    "en": [
        *("turn on the kitchen light", "and off again", "What is the tallest mountain?", "yes", "thanks", "light on"),
        *("turn off the Stehlampe", "who are you", "the second one", "five minutes"),
    ],
    "de": [
        *("mach das Küchenlicht an", "und wieder aus", "Wer hat den Faust geschrieben?", "ja", "nein", "Licht an"),
        *("mach das Licht im living room aus", "die zweite", "danke", "Stehlampe aus"),
    ],
    "": ["Timer Status", "Pause", "status", "10", "", "?!", "Küche"],
}


@for_every(("language", "text"), [(one, text) for one, texts in WRITTEN.items() for text in texts])
def test_words_tell_their_language_and_what_both_languages_say_tells_none(language: str, text: str) -> None:
    assert both().of(text) == language


@for_every("language", ["en", "de"])
def test_hardly_a_sentence_of_a_household_is_taken_for_the_other_language(language: str) -> None:
    lines = corpus_lines(language)[::20]
    told = [both().of(line.rpartition("\t")[2].replace("{", " ").replace("}", " ")) for line in lines]
    assert sum(one not in ("", language) for one in told) <= len(told) // 200
    assert sum(one == language for one in told) >= len(told) * 0.9


def test_with_one_language_nothing_is_told() -> None:
    assert open_written_language(["en"]).of("mach das Licht an") == ""


def test_a_long_text_is_told_by_its_beginning() -> None:
    assert both().of("das ist ein Satz. " * 10_000) == "de"
