"""Regional German: small words by a table, names of this house by their sound, and nothing that was not meant."""

from __future__ import annotations

import pytest

from atlas.understanding.dialect import Dialect, sound
from atlas.understanding.grammar import open_grammar
from atlas.understanding.names import NamedDevice, NamedPlace, Names
from tests.conftest import for_every

HOUSE = Names(
    (
        NamedDevice("Hintertür", "lock", "Küche"),
        NamedDevice("Haustür", "lock", "Flur"),
        NamedDevice("Badlicht", "light", "Bad"),
        NamedDevice("Waschmaschine", "switch", "Waschküche"),
        NamedDevice("Bügeleisen", "switch", "Waschküche"),
        NamedDevice("Wohnzimmervorhänge", "cover", "Wohnzimmer", "curtain"),
        NamedDevice("Schlafzimmerrollladen", "cover", "Schlafzimmer", "blind"),
        NamedDevice("Rasenmäher", "mower", "Garten"),
        NamedDevice("Gute Nacht", "scene"),
    ),
    tuple(map(NamedPlace, ("Küche", "Flur", "Bad", "Wohnzimmer", "Schlafzimmer", "Waschküche", "Garten"))),
)


@pytest.fixture(scope="module")
def dialect() -> Dialect:
    return Dialect(open_grammar("de").tables)


@for_every(
    ("spoken", "written"),
    [
        ("Schließ mer mol die Hinnerdür zu", "Schließ mir mal die Hintertür zu"),
        ("Moch amoi as Liacht im Bod o", "mach mal das Licht im Bad an"),
        ("Is d'Waschmaschin no an?", "ist die Waschmaschine noch an?"),
        ("Schalt s Bügeleisa aus", "Schalt das Bügeleisen aus"),
        ("Ziag d'Vorhäng zua, bittschen", "zieh die Vorhänge zu, bitte"),
        ("Mach mol de Rollade im Schlofzimmer zu", "Mach mal die Rollladen im Schlafzimmer zu"),
        ("I mecht a bisserl mehr Liacht", "ich möchte ein bisschen mehr Licht"),
        ("Mach ned s Liacht an", "Mach nicht das Licht an"),
        ("Is de Huusdöör afslaten?", "ist die Haustür abgeschlossen?"),
        ("Denn mook ehr man af", "dann mach sie mal ab"),
    ],
)
def test_a_sentence_of_a_region_is_written_as_everybody_writes_it(dialect: Dialect, spoken: str, written: str) -> None:
    assert dialect.written(spoken, HOUSE)[0] == written


@for_every(
    "sentence",
    [
        "Mach das Licht im Bad an",
        "Lilly muss aufs Klo, aber schnell",
        "Das Bett ist im Schlafzimmer",
        "Unten alles finster machen",
        "Wer hat den Kuchen gegessen?",
        "Der Nachbar mäht den Rasen",
        "Schon gut, das ist in Ordnung",
        "Da ist noch Licht im Flur",
        "Die Farbe des Autos ist rot",
    ],
)
def test_plain_german_is_left_as_it_is(dialect: Dialect, sentence: str) -> None:
    written, count = dialect.written(sentence, HOUSE)
    assert written in ("", sentence) or count < 2, written


@for_every(
    ("spoken", "written"),
    [
        ("auf zwoarazwanzg", "auf zweiundzwanzig"),
        ("uf füfedrissg", "auf fünfunddreißig"),
        ("uff dreiezwanzsch", "auf dreiundzwanzig"),
        ("um hoibe viere", "um halb vier"),
        ("am halbi nüni", "um halb neun"),
        ("um viertel noch zwoa", "um viertel nach zwei"),
        ("Klock twölf", "um zwölf"),
        ("in ana hoibn Stund", "in einer halben Stunde"),
    ],
)
def test_numbers_and_hours_are_put_together_as_everywhere(dialect: Dialect, spoken: str, written: str) -> None:
    assert dialect.written(spoken, HOUSE)[0] == written


@for_every(
    "sentence",
    [
        "nein, nicht so laut",
        "das Eis ist neu",
        "am achten Dezember hab ich eine Prüfung",
        "um eine Stunde verlängern",
        "Timer auf einundzwanzig Minuten",
        "eine Minute noch",
    ],
)
def test_what_only_sounds_like_a_number_is_none(dialect: Dialect, sentence: str) -> None:
    assert dialect.written(sentence, HOUSE)[0] in ("", sentence)


def test_what_could_be_two_names_is_neither(dialect: Dialect) -> None:
    alike = Names((NamedDevice("Grillbad", "light"), NamedDevice("Krillpad", "light")))
    assert dialect.written("Mach mol des Grillbod an", alike)[0] == "Mach mal das Grillbod an"


@for_every(
    ("spoken", "written"),
    [("Mach mol des Dief an", "Mach mal das Dief an"), ("des Toff is o", "das Toff is an")],
)
def test_no_word_is_a_name_without_vowels_for_its_consonants_alone(dialect: Dialect, spoken: str, written: str) -> None:
    names = Names((NamedDevice("TV", "media"), NamedDevice("DVD", "media")))
    assert dialect.written(spoken, names)[0] == written


def test_a_language_without_a_table_has_no_dialects() -> None:
    assert Dialect({}).written("Moch amoi as Liacht o", HOUSE) == ("", 0)


@for_every(
    ("name", "text"),
    [
        ("Hintertür", "Hinnerdür"),
        ("Schlafzimmer", "Schlofzimmer"),
        ("Waschmaschine", "Waschmaschin"),
        ("Vorhänge", "Vorhäng"),
    ],
)
def test_a_name_and_its_dialect_sound_alike(name: str, text: str) -> None:
    assert sound(name) == sound(text)
