"""A person sees in the app what was heard of them, forgets it, and teaches the house what they said."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import pytest
from playwright.sync_api import expect

from atlas.audio import AudioChunk, silence
from tests.journeys.browser import ANSWER_MS, answer, connected, opened, say
from tests.journeys.conftest import Running, write_wav

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("timers_end")]


@pytest.fixture
def thing() -> str:
    """A name that no other test has."""
    return f"kite {uuid4().hex[:6].translate(str.maketrans('0123456789', 'ghijklmnop'))}"


def test_cards_and_their_undo_come_back_after_a_reload(house: Running, thing: str) -> None:
    with opened(house) as page:
        connected(page)
        say(page, f"set a {thing} timer for twenty minutes")
        answer(page)
        expect(page.locator(".deed").last.get_by_role("button", name="Undo")).to_be_visible()
        page.reload()
        connected(page)
        card = page.locator(".entry", has_text=re.compile(thing, re.I)).last.locator(".deed")
        card.get_by_role("button", name="Undo").click()
        expect(card).to_contain_text("Taken back")
        page.reload()
        connected(page)
        card = page.locator(".entry", has_text=re.compile(thing, re.I)).last.locator(".deed")
        expect(card).to_contain_text("Taken back")


def test_what_was_spoken_shows_how_it_was_heard_and_is_forgotten_alone(
    house: Running, spoken: Callable[[str], AudioChunk], tmp_path: Path, thing: str
) -> None:
    wav = write_wav(tmp_path / "microphone.wav", silence(0.6) + spoken("set a timer for nine minutes") + silence(2.0))
    with opened(house, wav) as page:
        connected(page)
        say(page, f"add {thing} to the shopping list")
        answer(page)
        connected(page)
        page.locator(".talk").click()
        expect(page.locator(".entry.person .words").last).to_have_text(re.compile("nine|9", re.I), timeout=ANSWER_MS)
        words = answer(page)
        connected(page)
        page.get_by_role("link", name="Conversations").first.click()
        row = page.locator(".exchange", has_text=words).first
        expect(row).to_contain_text("spoken")
        row.click()
        sheet = page.get_by_role("dialog", name="What Atlas heard")
        expect(sheet.locator("blockquote")).to_have_text(re.compile("nine|9", re.I))
        sheet.get_by_role("button", name="Forget this").click()
        expect(page.locator(".outcome")).to_contain_text("One exchange is forgotten.")
        expect(page.locator(".exchange", has_text=words)).to_have_count(0)
        expect(page.locator(".exchange", has_text=thing)).to_have_count(1)


def test_this_is_what_i_said_becomes_a_sentence_of_the_house_and_can_be_unlearnt(house: Running, thing: str) -> None:
    with opened(house, stopped="status of 400") as page:
        connected(page)
        say(page, f"{thing} o'clock please")
        answer(page)
        page.get_by_role("link", name="Conversations").first.click()
        page.locator(".exchange", has_text=thing).click()
        sheet = page.get_by_role("dialog", name="What you typed")
        sheet.get_by_role("button", name=re.compile("^This is what I said")).click()
        sheet.get_by_label("What you said").fill(f"{thing} o'clock")
        sheet.get_by_label("What it is to do").fill("the colour of the sea")
        sheet.get_by_role("button", name="Save").click()
        expect(page.locator(".outcome")).to_have_attribute("data-bad", "true", timeout=ANSWER_MS)
        sheet.get_by_label("What it is to do").fill("set a timer for seven minutes")
        sheet.get_by_role("button", name="Save").click()
        expect(sheet).to_have_count(0, timeout=ANSWER_MS)
        page.get_by_role("link", name="Talk").first.click()
        say(page, f"{thing} o'clock")
        assert "7 minutes" in answer(page)
        page.goto(f"{house.url}/#/house/sentences")
        page.get_by_role("button", name=f"Unlearn: {thing} o'clock").click()
        expect(page.locator(".row", has_text=thing)).to_have_count(0, timeout=ANSWER_MS)
