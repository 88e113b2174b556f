"""What a German wish bounds, leaves alone or wants otherwise for a part is done so, asked about, or not done at all."""

from __future__ import annotations

from typing import Any

import pytest

from tests.understanding.test_german_wishes import calls, meant

pytestmark = pytest.mark.real
LIGHTS = {"Küchenlicht", "Flurlicht", "Leselampe", "Schlafzimmerlicht", "Nachttischlampe"}
OFF, ON = {"on": False}, {"on": True}


def deeds(text: str) -> list[tuple[str, dict[str, object]]]:
    """Return the deeds by what they are done to, each with what is done."""
    given = [(tool, dict(arguments)) for tool, arguments in calls(text)]
    return [
        (
            str(one.pop("device", one.pop("room", None) or one.get("kind", tool))),
            {k: v for k, v in one.items() if k != "kind"},
        )
        for tool, one in given
    ]


@pytest.mark.parametrize(
    ("text", "part", "rest", "others"),
    [
        ("alle Lichter aus, nur im Flur an", ("Flur", ON), OFF, LIGHTS - {"Flurlicht"}),
        ("alle Lichter aus, aber im Flur an", ("Flur", ON), OFF, LIGHTS - {"Flurlicht"}),
        (
            "alle Lichter im Schlafzimmer aus, nur die Nachttischlampe an",
            ("Nachttischlampe", ON),
            OFF,
            {"Schlafzimmerlicht"},
        ),
        (
            "Heizung überall auf zwanzig Grad, nur im Schlafzimmer achtzehn",
            ("Schlafzimmerheizung", {"temperature": 18.0}),
            {"temperature": 20.0},
            {"Büroheizung"},
        ),
        (
            "überall zwanzig, nur im Schlafzimmer achtzehn",
            ("Schlafzimmerheizung", {"temperature": 18.0}),
            {"temperature": 20.0},
            {"Büroheizung"},
        ),
        (
            "Rollos überall runter, nur in der Küche halb",
            ("Küchenrollo", {"position": 50}),
            {},
            {"Schlafzimmerrollladen"},
        ),
        (
            "alle Lampen auf dreißig Prozent, die Nachttischlampe auf zehn",
            ("Nachttischlampe", {"brightness": 10}),
            {"brightness": 30},
            LIGHTS - {"Nachttischlampe"},
        ),
    ],
)
def test_what_is_wanted_otherwise_for_a_part_is_done_so_and_the_rest_to_the_others(
    text: str, part: tuple[str, dict[str, object]], rest: dict[str, object], others: set[str]
) -> None:
    *first, last = deeds(text)
    assert last == part
    assert {name for name, _ in first} == others
    assert all(done == rest for _, done in first)


def test_a_wish_for_a_part_alone_touches_nothing_else() -> None:
    assert {name for name, _ in deeds("mach die Lichter aus, aber nur im Schlafzimmer")} == {
        "Schlafzimmerlicht",
        "Nachttischlampe",
    }


def test_whether_all_but_one_or_that_one_alone_is_meant_is_asked() -> None:
    assert meant("alle Lichter aus, nur die Leselampe").reply


@pytest.mark.parametrize(
    ("text", "touched"),
    [
        ("lass das Küchenlicht an und mach den Fernseher aus", ["Fernseher"]),
        ("Lass bitte den Fernseher an und mach nur das Küchenlicht aus", ["Küchenlicht"]),
        ("Flurlicht anlassen und Küchenlicht aus", ["Küchenlicht"]),
        ("die Haustür bleibt zu, mach nur die Hintertür auf", ["Hintertür"]),
        ("das Flurlicht soll an bleiben, mach das Küchenlicht aus", ["Küchenlicht"]),
        ("lass das Licht an und stell einen Timer auf zehn Minuten", ["timers.start"]),
        ("lass das Licht in der Küche an und mach sonst alle Lichter aus", sorted(LIGHTS - {"Küchenlicht"})),
    ],
)
def test_what_is_left_as_it_is_before_a_wish_is_not_touched(text: str, touched: list[str]) -> None:
    assert sorted(name for name, _ in deeds(text)) == touched


@pytest.mark.parametrize(
    ("text", "done"),
    [
        ("Leselampe auf zehn Prozent, aber nicht heller", [("Leselampe", {"brightness": 10})]),
        ("mach das Küchenradio leiser, aber nicht ganz aus", [("Küchenradio", {"what": "volume", "by": -10})]),
        ("Küchenlicht auf fünfzig Prozent und bitte nicht dunkler", [("Küchenlicht", {"brightness": 50})]),
    ],
)
def test_how_far_a_wish_goes_is_no_second_deed(text: str, done: list[tuple[str, dict[str, object]]]) -> None:
    assert deeds(text) == done


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("mach das Küchenrollo runter, aber nicht ganz", "Mach das Küchenrollo halb runter?"),
        ("in dreizehn machst du das Küchenlicht aus", "In dreizehn Minuten machst du das Küchenlicht aus?"),
    ],
)
def test_what_is_left_open_is_put_as_a_question(text: str, question: str) -> None:
    understood = meant(text)
    assert not understood.commands
    assert understood.choices
    assert understood.choices.question == question


@pytest.mark.parametrize("text", ["die Tür ist nicht ganz zu", "das Rollo geht nicht ganz zu"])
def test_a_report_leaves_nothing_open(text: str) -> None:
    understood = meant(text)
    assert not understood.commands
    assert not understood.choices


@pytest.mark.parametrize("text", ["mach das mal wieder so wie sonst", "mach es wie immer", "mach das so wie gestern"])
def test_how_it_always_is_is_asked_and_takes_nothing_back(text: str) -> None:
    understood = meant(text)
    assert not understood.commands
    assert understood.reply


@pytest.mark.parametrize(
    "text",
    [
        "geh weg da, das ist heiß, Finger weg vom Wasserkocher",
        "Finger weg vom Wasserkocher",
        "Hände weg vom Bügeleisen, Mia",
        "geh weg vom Fernseher",
        "weg vom Bügeleisen",
        "bleib weg vom Garagentor",
    ],
)
def test_somebody_who_is_sent_away_from_a_thing_is_not_the_house(text: str) -> None:
    understood = meant(text)
    assert not understood.commands
    assert not understood.choices
    assert not understood.reply


@pytest.mark.parametrize(
    ("text", "when"),
    [
        ("wenn's acht ist, mach den Fernseher aus", "um acht"),
        ("mach den Fernseher aus, wenn es halb neun ist", "um halb neun"),
    ],
)
def test_a_condition_that_is_a_time_of_day_is_a_time(text: str, when: str) -> None:
    [(tool, arguments)] = calls(text)
    assert (tool, arguments["when"]) == ("later.do", when)


@pytest.mark.parametrize(
    "text", ["wenn es dunkel wird, mach das Flurlicht an", "wenn es klingelt, mach das Flurlicht an"]
)
def test_any_other_condition_does_nothing_now(text: str) -> None:
    assert not calls(text)


@pytest.mark.parametrize(
    "text", ["Licht im Flur an bis acht", "lass das Radio an, aber nur bis neun", "Fernseher an bis halb acht"]
)
def test_an_hour_until_which_something_lasts_is_no_value(text: str) -> None:
    assert not [one for _, one in calls(text) if {"brightness", "volume", "speed", "temperature"} & {*one}]


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("sag dem Jonas, er soll runterkommen", {"text": "du sollst runterkommen", "person": "Jonas"}),
        ("sag dem Jonas bitte, dass er runterkommen soll", {"text": "du sollst runterkommen", "person": "Jonas"}),
        ("sag Mia Bescheid, das Büro ist frei", {"text": "das Büro ist frei", "person": "Mia"}),
        ("sag allen, dass das Essen fertig ist", {"text": "das Essen ist fertig"}),
    ],
)
def test_what_somebody_is_to_be_told_is_said_as_a_sentence_of_its_own(text: str, arguments: dict[str, Any]) -> None:
    assert calls(text) == [("broadcast.say", arguments)]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("richte Mia aus, dass der Chef angerufen hat", "der Chef hat angerufen"),
        ("schreib Mia, das Büro ist frei", "das Büro ist frei"),
    ],
)
def test_who_is_to_be_told_something_is_left_it(text: str, left: str) -> None:
    assert calls(text) == [("messages.leave", {"text": left, "person": "Mia"})]


@pytest.mark.parametrize("text", ["sag mir, dass du mich magst", "sag ihm, er soll runterkommen"])
def test_who_is_meant_by_a_pronoun_is_told_nothing(text: str) -> None:
    assert not calls(text)


@pytest.mark.parametrize(
    ("text", "item"),
    [
        ("kannst du Butter auf die Einkaufsliste schreiben", "Butter"),
        ("Milch könntest du noch auf die Einkaufsliste schreiben", "Milch"),
    ],
)
def test_politeness_is_no_part_of_what_is_written_down(text: str, item: str) -> None:
    [(tool, arguments)] = calls(text)
    assert (tool, arguments["items"]) == ("lists.add", [item])


def test_a_pronoun_of_which_nobody_knows_what_it_is_is_not_written_down() -> None:
    assert not calls("Den kannst du gleich auf die Einkaufsliste schreiben")


@pytest.mark.parametrize(
    ("text", "touched"),
    [
        ("Küchenlicht an, äh, das Flurlicht mein ich", "Flurlicht"),
        ("mach das Radio an, den Fernseher meine ich", "Fernseher"),
    ],
)
def test_what_somebody_says_that_they_mean_is_meant(text: str, touched: str) -> None:
    assert [one["device"] for _, one in calls(text)] == [touched]


def test_a_correction_stays_in_the_room_that_was_named() -> None:
    assert not calls("im Schlafzimmer Vorhänge zu, nein, das Rollo")


@pytest.mark.parametrize("text", ["ich will dass das Küchenradio aus ist", "ich möchte, dass das Küchenradio aus geht"])
def test_how_somebody_wants_a_thing_to_be_is_a_deed(text: str) -> None:
    assert calls(text) == [("home.turn", {"on": False, "device": "Küchenradio"})]


@pytest.mark.parametrize(
    "text",
    ["der Fernseher ist schon wieder kaputt", "wir könnten ja die Rollos runtermachen", "das Bügeleisen ist im Eimer"],
)
def test_complaints_and_musings_want_nothing(text: str) -> None:
    understood = meant(text)
    assert not understood.commands
    assert not understood.choices


def test_a_wish_for_what_nobody_can_tell_is_put_as_a_question() -> None:
    understood = meant("mach's gemütlich", "Küche")
    assert not understood.commands
    assert understood.choices


@pytest.mark.parametrize(
    "text", ["lass das Flurlicht bitte an, ich geh gleich wieder runter", "das Küchenlicht bleibt an, sagt Mia"]
)
def test_a_reason_for_leaving_a_thing_as_it_is_is_no_wish(text: str) -> None:
    assert not calls(text)


@pytest.mark.parametrize(
    "text",
    [
        "lösche alle Wecker außer dem um sieben",
        "lösche alle Timer, außer dem für Pasta",
        "sag niemandem, dass das Essen fertig ist",
        "sag keinem, dass das Essen fertig ist",
    ],
)
def test_what_is_spared_is_never_what_is_taken_away_and_nobody_is_no_audience(text: str) -> None:
    assert not meant(text).commands
