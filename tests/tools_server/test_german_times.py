"""German words for times mean what a German means by them, from words to a moment on the clock."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from tests.conftest import for_every
from tools_server.times.german import english
from tools_server.times.spoken_time import moment_words, rule_words
from tools_server.times.when import understand
from tools_server.values.language import speaking

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 22, 15, 0, tzinfo=BERLIN)  # a Sunday

MOMENTS = {
    "morgen um halb acht": "2026-11-23 07:30",
    "morgen um 7": "2026-11-23 07:00",
    "übermorgen früh": "2026-11-24 09:00",
    "uebermorgen frueh um sieben": "2026-11-24 07:00",
    "in einer Dreiviertelstunde": "2026-11-22 15:45",
    "in einer Viertelstunde": "2026-11-22 15:15",
    "in einer halben Stunde": "2026-11-22 15:30",
    "in anderthalb Stunden": "2026-11-22 16:30",
    "in zweieinhalb Stunden": "2026-11-22 17:30",
    "in zwei Stunden und zehn Minuten": "2026-11-22 17:10",
    "in drei Tagen um 9 Uhr": "2026-11-25 09:00",
    "in einer Woche um neun Uhr": "2026-11-29 09:00",
    "nächsten Dienstag um 9 Uhr": "2026-11-24 09:00",
    "am Freitag um Viertel nach drei": "2026-11-27 15:15",
    "morgen um Viertel vor neun": "2026-11-23 08:45",
    "morgen um viertel neun": "2026-11-23 08:15",
    "viertel eins": "2026-11-23 12:15",
    "in ner halben Stunde": "2026-11-22 15:30",
    "um zwanzig nach fünf": "2026-11-22 17:20",
    "am 3. Mai um 10 Uhr": "2027-05-03 10:00",
    "am dritten Mai um zehn Uhr": "2027-05-03 10:00",
    "am 24. Dezember um 18 Uhr": "2026-12-24 18:00",
    "am Heiligabend um 16 Uhr": "2026-12-24 16:00",
    "heute Abend um acht": "2026-11-22 20:00",
    "heute um 21 Uhr 15": "2026-11-22 21:15",
    "um 13:15 Uhr": "2026-11-23 13:15",
    "morgen Nachmittag um drei": "2026-11-23 15:00",
    "morgen Mittag": "2026-11-23 12:00",
    "Freitagabend um sieben": "2026-11-27 19:00",
    "morgen früh um sechs Uhr": "2026-11-23 06:00",
}
RULES = {
    "jeden Werktag um sieben": "jeden Werktag um 7 Uhr",
    "jeden Tag um 7 Uhr 30": "jeden Tag um 7 Uhr 30",
    "jeden Montag und Donnerstag um 18 Uhr": "jeden Montag und Donnerstag um 18 Uhr",
    "jeden zweiten Dienstag um 7 Uhr": "jeden zweiten Dienstag um 7 Uhr",
    "montags um acht Uhr": "jeden Montag um 8 Uhr",
    "unter der Woche immer um 7 Uhr": "jeden Werktag um 7 Uhr",
    "montags bis freitags um 7 Uhr": "jeden Werktag um 7 Uhr",
    "von Montag bis Freitag um 7 Uhr": "jeden Werktag um 7 Uhr",
    "wochentags um halb acht": "jeden Werktag um 7 Uhr 30",
    "immer am Wochenende um 9 Uhr": "jeden Samstag und Sonntag um 9 Uhr",
    "täglich um 22 Uhr": "jeden Tag um 22 Uhr",
    "am ersten jedes Monats um neun Uhr": "am 1. jedes Monats um 9 Uhr",
}


@for_every(("words", "moment"), MOMENTS.items())
def test_a_moment_in_german_is_the_moment_that_was_meant(words: str, moment: str) -> None:
    with speaking("de"):
        understood = understand(words, NOW.timestamp(), BERLIN)
    assert f"{understood.at:%Y-%m-%d %H:%M}" == moment


@for_every(("words", "message"), RULES.items())
def test_a_rule_in_german_is_said_back_in_german(words: str, message: str) -> None:
    with speaking("de"):
        understood = understand(words, NOW.timestamp(), BERLIN)
        assert understood.rule
        assert understood.at
        assert rule_words(understood.rule, understood.at, NOW) == message


@for_every("words", ["morgen um halb acht", "nächsten Dienstag um 9 Uhr", "am 3. Mai um 10 Uhr"])
def test_what_is_said_back_means_the_same_again(words: str) -> None:
    with speaking("de"):
        understood = understand(words, NOW.timestamp(), BERLIN)
        assert understood.at
        again = understand(moment_words(understood.at, NOW), NOW.timestamp(), BERLIN)
    assert again.at == understood.at


def test_english_words_in_a_german_house_stay_as_they_are() -> None:
    assert english("in 10 minutes") == "in 10 minutes"
    assert english("tomorrow at 5 pm") == "tomorrow at 5 pm"


def test_an_english_house_does_not_read_german() -> None:
    from tools_server.times.time_phrase import NotUnderstood

    with pytest.raises(NotUnderstood):
        understand("morgen um halb acht", NOW.timestamp(), BERLIN)
