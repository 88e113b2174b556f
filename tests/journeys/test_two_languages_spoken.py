"""One English and one German command, spoken into the same house: each is answered in its language, by its voice."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from atlas.audio import AudioChunk
from tests.journeys.browser import opened
from tests.journeys.conftest import Running, running_house, write_wav
from tests.journeys.test_heard_in_noise import AROUND, _espeak
from tests.journeys.test_two_languages import HOUSE

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def house_of_two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    file = tmp_path_factory.mktemp("two") / "house.json"
    file.write_text(json.dumps(HOUSE))
    settings = f'\n[tools.home.scripted]\nfile = "{file}"\n'
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("ATLAS_HOUSE_LANGUAGES", "en,de")
        with running_house(settings) as house:
            yield house


def _answer(house: Running, sound: AudioChunk, folder: Path) -> tuple[str, str, str]:
    """Return what was heard, and the words and the language of the answer as a recogniser hears its sound."""
    around = AudioChunk(AROUND)
    asked, reply = write_wav(folder / "asked.wav", around + sound + around), folder / "reply.wav"
    turn = house.turn_of("hear", str(asked), "--out", str(reply))
    heard = house.client().audio.transcriptions.create(model="whisper-1", file=reply, response_format="verbose_json")
    return turn["reply"], heard.text, heard.language


def test_each_command_is_answered_aloud_in_its_language(
    house_of_two: Running, spoken: Callable[[str], AudioChunk], tmp_path: Path
) -> None:
    reply, words, language = _answer(house_of_two, spoken("Turn on the kitchen light."), tmp_path)
    assert reply == "The kitchen light is now on."
    assert (language, "kitchen light" in words.lower()) == ("english", True)

    reply, words, language = _answer(house_of_two, _espeak("de", "Stell einen Timer auf zehn Minuten."), tmp_path)
    assert reply == "Timer gestellt auf 10 Minuten."
    assert (language, "minuten" in words.lower()) == ("german", True)

    reply, words, language = _answer(house_of_two, spoken("How long is left on my timer?"), tmp_path)
    assert reply.startswith("Your 10 minute timer has")
    assert (language, "minute" in words.lower()) == ("english", True)

    reply, _, language = _answer(house_of_two, _espeak("de", "Schalte die Stehlampe ein."), tmp_path)
    assert (reply, language) == ("Die Stehlampe im Wohnzimmer ist jetzt an.", "german")


def test_the_house_says_which_language_a_voice_merely_stands_in_for_and_where_a_better_one_is(
    house_of_two: Running,
) -> None:
    with opened(house_of_two, path="house") as page:
        voice = (
            page.get_by_role("region", name="The parts of the house").get_by_role("listitem").filter(has_text="Voice")
        )
        expect(voice).to_contain_text("espeak-ng speaks German: no voice for Piper in that language is here")
        expect(voice).to_contain_text("the app has it under Models")
        expect(page.get_by_text("All is well.")).to_be_visible()
