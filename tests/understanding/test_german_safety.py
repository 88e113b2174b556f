"""What a German sentence forbids, takes back or leaves alone is never done, and no long text holds up the house."""

from __future__ import annotations

import pytest

from atlas.understanding.endings import CLOSED_SECONDS
from atlas.understanding.exemptions import LONGEST_CHARACTERS, MOST_JOINTS, Exemptions
from atlas.understanding.frames import Frames
from atlas.understanding.grammar import open_grammar
from tests.understanding.test_german_wishes import HOUSE, calls, meant, reader

pytestmark = pytest.mark.real


@pytest.mark.parametrize("joint", ["außer ", "nur das ", "bis auf ", "aber ", ", "])
def test_a_text_of_many_exemptions_or_a_long_one_is_not_searched_for_them(joint: str) -> None:
    tables = open_grammar("de").tables
    exemptions = Exemptions(tables["exempt"], Frames(tables["frames"], open_grammar("de").digits))
    assert not exemptions.read("Alle Lichter aus " + joint * (MOST_JOINTS + 1) + "dem Flurlicht", HOUSE)
    assert not exemptions.read("Alle Lichter aus außer dem Flurlicht" + " " + "a" * LONGEST_CHARACTERS, HOUSE)
    assert not calls(joint * 1000)


@pytest.mark.parametrize(
    ("text", "spared"),
    [
        ("alles bis auf das Garagentor zumachen", "Garagentor"),
        ("alles außer dem Garagentor schließen", "Garagentor"),
        ("mach alles zu, aber Finger weg vom Garagentor", "Garagentor"),
        ("alle Rollos außer dem Schlafzimmerrollladen schließen", "Schlafzimmerrollladen"),
        ("alle Lichter aus außer dem Flurlicht und mach den Fernseher an", "Flurlicht"),
        ("alle Lichter aus, im Flur brauch ich es noch", "Flurlicht"),
        ("alle Lichter aus, das im Flur kann anbleiben", "Flurlicht"),
        ("alle Lichter aus, außer das im Flur", "Flurlicht"),
        ("alle Lichter aus außer dem Licht im Keller", ""),
        ("alle Lichter aus, außer beim Balkon", ""),
        ("alle Lichter ausschalten, nur nicht im Keller", ""),
        ("mach alle Lichter aus, bis auf die auf dem Balkon", ""),
    ],
)
def test_what_an_exemption_names_is_never_what_is_done(text: str, spared: str) -> None:
    understood = meant(text)
    given = [dict(one.arguments) for one in understood.commands]
    assert not any(one.get("everything") or "device" not in one for one in given if "Licht" in text or not spared)
    assert spared not in [one.get("device") for one in given]
    assert not any(one.get("kind") == "cover" and one.get("shape") != "blind" for one in given)
    assert not given if not spared else given or understood.reply or understood.choices


def test_a_length_up_to_which_a_blind_goes_is_no_exemption() -> None:
    assert calls("Fahr das Küchenrollo bis auf dreißig Prozent runter")


@pytest.mark.parametrize(
    "text",
    [
        "Wehe du machst den Fernseher aus",
        "Wehe, du machst den Fernseher aus!",
        "hüte dich, den Fernseher auszumachen",
        "untersteh dich, den Fernseher auszumachen",
        "im Rezept steht, mach den Wasserkocher an",
        "hier steht: mach das Küchenlicht aus",
        "ja nicht, mach den Fernseher aus",
        "auf gar keinen Fall, hörst du, mach den Fernseher aus",
        "auf keinen Fall den Fernseher ausmachen",
        "mach den Fernseher aus, nee",
        "mach den Fernseher aus nee",
        "mach das Küchenlicht aus, warte",
        "mach das Küchenlicht aus, warte mal",
        "schließ die Haustür auf, ach nee, warte",
    ],
)
def test_what_is_forbidden_quoted_or_taken_back_is_not_done(text: str) -> None:
    assert not calls(text)


@pytest.mark.parametrize(
    "text",
    ["mach das Küchenlicht bitte", "schließ die Haustür bitte", "dreh die Heizung im Schlafzimmer bitte"],
)
def test_behind_please_the_end_of_a_german_verb_is_waited_for(text: str) -> None:
    assert reader().goes_on(text)
    settle = reader().settle_seconds(text, HOUSE)
    assert settle is None or settle > CLOSED_SECONDS


@pytest.mark.parametrize(
    "text",
    [
        "öffne das Rollo in der Küche bitte",
        "öffne das Küchenrollo",
        "mach das Küchenlicht",
        "schalte das Licht in der Küche",
        "schließ die Haustür auf",
        "schließ die Haustür ab",
        "mach das Garagentor auf",
    ],
)
def test_nothing_but_a_particle_or_infinitive_closes_and_never_where_a_door_is_moved(text: str) -> None:
    settle = reader().settle_seconds(text, HOUSE)
    assert settle is None or settle > CLOSED_SECONDS


@pytest.mark.parametrize("text", ["mach das Küchenlicht aus", "bitte das Küchenlicht ausmachen"])
def test_a_particle_or_an_infinitive_closes_a_german_wish(text: str) -> None:
    assert reader().settle_seconds(text, HOUSE) == CLOSED_SECONDS


@pytest.mark.parametrize("word", ["außer", "aber", "nur", "bis auf", "und zwar", "sobald", "wenn"])
def test_words_that_join_a_clause_go_on(word: str) -> None:
    assert reader().goes_on(f"Mach alle Lichter aus {word}")
