"""The app in Firefox: typed to, spoken to through a real sound server, and heard there."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from atlas.audio import AudioChunk
from tests.journeys.conftest import Running, until
from tests.journeys.firefox import FIREFOX, firefox, records
from tests.journeys.sound_rooms import SoundServer, words_of

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("timers_end")]
READY = "document.querySelector('.frame')?.dataset.state === 'ready'"
ANSWER = "document.querySelector('.log li:last-child.house:not([data-entry=waiting])')?.innerText"

GROWTH = """(log => {  // a browser that keeps what is in sight where it is tells of it as of scrolling
    log.querySelector('li').style.minHeight = '4000px';
    log.dispatchEvent(new Event('scroll'));
})(document.querySelector('.log'))"""
AT_THE_END = "(log => log.scrollHeight - log.scrollTop - log.clientHeight < 4)(document.querySelector('.log'))"


@pytest.fixture(autouse=True)
def _installed() -> None:
    if not FIREFOX:
        pytest.fail("there is no Firefox on this machine; install it (apt-get install firefox-esr)")


def test_firefox_shows_the_app_types_to_it_and_undoes_a_deed(
    house: Running, sounds: SoundServer, tmp_path: Path
) -> None:
    with firefox(house, sounds, "attic_mic", "attic_out", tmp_path) as page:
        page.until(READY)
        page.press("#words")
        page.type("set an amber timer for seventeen minutes")
        page.until(f"{ANSWER}?.match(/amber timer/i)")
        page.press(".log li:last-child .deed button")
        page.until("document.querySelector('.log li:last-child .deed')?.innerText.includes('Taken back')")
        page.run("location.hash = '#/home'")
        page.until("!document.querySelector('.talk') && document.querySelector('h1, h2')?.innerText")
        assert not page.errors


def test_firefox_keeps_the_end_in_sight_also_when_what_was_said_gets_its_height_later(
    house: Running, sounds: SoundServer, tmp_path: Path
) -> None:
    with firefox(house, sounds, "attic_mic", "attic_out", tmp_path) as page:
        page.until(READY)
        page.press("#words")
        page.type("what time is it")
        page.until(f"{ANSWER}?.match(/[AP]M/) && {READY} && {AT_THE_END}")
        page.run(GROWTH)
        page.type("what day is it")
        page.until(f"{ANSWER}?.match(/day/)")
        page.until(AT_THE_END)
        assert not page.errors


def test_firefox_hears_a_spoken_request_and_is_heard(
    house: Running, sounds: SoundServer, spoken: Callable[[str], AudioChunk], tmp_path: Path
) -> None:
    with (
        firefox(house, sounds, "attic_mic", "attic_out", tmp_path) as page,
        sounds.recording("attic_out", tmp_path / "heard.raw") as played,
    ):
        page.until(READY)
        page.press(".talk")
        page.until("document.querySelector('.frame').dataset.state === 'listening'")
        until(lambda: records(sounds), 60, "Firefox recording")
        sounds.play(spoken("set a timer for eleven minutes"), "attic_mic")
        page.until(f"{ANSWER}?.match(/(eleven|11) minutes/i)")
        page.until(READY)
        until(lambda: re.search("(eleven|11) minutes", words_of(house, played(), tmp_path)), 30, "the answer aloud")
        assert not page.errors
