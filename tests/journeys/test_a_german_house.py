"""A house that speaks German: typed at its real gateway, done by its real tool server, and answered in German."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.journeys.conftest import ROOT, Running, house_without_weights

pytestmark = pytest.mark.real  # no weights, but every process of a house
# What no German answer holds; names of things and places are not among them.
ENGLISH = re.compile(
    r"\b(?:the|is|are|your|you|for|set|at|on|and|there|left|minutes?|hours?|today|tomorrow|every|nothing|with)\b"
)
ASKED = {
    "Wie spät ist es?": r"Es ist \d{1,2} Uhr(?: \d{1,2})?\.",
    "Welcher Tag ist heute?": r"Es ist \w+tag, \d{1,2}\. \w+ 20\d\d\.|Es ist Mittwoch, .*",
    "Stell einen Timer auf zehn Minuten": r"Timer gestellt auf 10 Minuten\.",
    "Wie lange läuft der Timer noch?": r"Dein 10-Minuten-Timer läuft noch .*Minuten.*",
    "Pausiere den Timer": r"10-Minuten-Timer angehalten, es bleiben .*",
    "Setze den Timer fort": r"10-Minuten-Timer läuft weiter, es bleiben .*",
    "Stell einen Pizza Timer auf anderthalb Stunden": r"Pizza-Timer gestellt auf 1 Stunde und 30 Minuten\.",
    "Brich alle Timer ab": r"Beide Timer abgebrochen\.",
    "Weck mich morgen um halb acht": r"Wecker gestellt: morgen um 7 Uhr 30\.",
    "Weck mich jeden Werktag um sieben": r"Wecker gestellt: jeden Werktag um 7 Uhr.*",
    "Welche Wecker habe ich?": r"Es gibt 2 Wecker: .* und .*",
    "Lösche den Wecker um sieben Uhr": r"Wecker gelöscht: jeden Werktag um 7 Uhr.*",
    "Erinnere mich in einer Dreiviertelstunde an die Wäsche": r"Ich erinnere dich .* um \d{1,2} Uhr.*: Wäsche\.",
    "Erinnere mich jeden Montag um acht an die Blumen": r"Ich erinnere dich jeden Montag um 8 Uhr.*: Blumen\.",
    "Welche Erinnerungen habe ich?": r"Es gibt 2 Erinnerungen: .*",
    "Lösche die Erinnerung an die Wäsche": r"Erinnerung gelöscht: Wäsche\.",
    "Setze Milch und Brot auf die Einkaufsliste": r"Milch und Brot auf die Einkaufsliste gesetzt\.",
    "Was steht auf der Einkaufsliste?": r"Auf der Einkaufsliste stehen 2 Dinge: Milch und Brot\.",
    "Trag am 3. Mai um 10 Uhr Zahnarzt in den Kalender ein": r"Eingetragen: Zahnarzt \w+, 3\. Mai.* um 10 Uhr\.",
    "Verschiebe den Zahnarzt auf halb elf": r".* um 10 Uhr 30\.",
    "Was steht morgen im Kalender?": r"Im Kalender steht morgen nichts\.",
    "Notiere, dass die Heizung gewartet wurde": r"Notiert: die Heizung gewartet wurde\.",
    "Merk dir, dass Anna Erdnüsse nicht verträgt": r"Ich merke mir: Anna verträgt Erdnüsse nicht\.",
    "Was weißt du über Anna?": r"Mir wurde gesagt: Anna verträgt Erdnüsse nicht\.",
    "Mach das rückgängig": r"Zuletzt habe ich das getan: .* Soll ich es zurücknehmen\?",
    "Stell einen Wecker": r"Für wann: um sieben oder um acht Uhr\?",
    "um acht": r"Wecker gestellt: .* um (?:8|20) Uhr\.",
}


@pytest.fixture(scope="module")
def german_house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A house without weights: nothing of this needs a model, an ear or a mouth."""
    settings = (ROOT / "atlas.toml").read_text().replace('language = "en"', 'language = "de"')
    with house_without_weights(tmp_path_factory.mktemp("haus"), settings) as running:
        yield running


def test_a_day_in_german_is_understood_and_answered_in_german(german_house: Running) -> None:
    client, wrong = german_house.client(), {}
    history: list[dict[str, str]] = []
    for words, message in ASKED.items():
        history = [*history[-2:], {"role": "user", "content": words}]
        answer = client.chat.completions.create(model="family", messages=history)
        reply = answer.choices[0].message.content or ""
        history.append({"role": "assistant", "content": reply})
        if not re.fullmatch(message, reply) or ENGLISH.search(reply):
            wrong[words] = reply
    assert wrong == {}
