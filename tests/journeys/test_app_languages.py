"""The app speaks one language, its own: every page of it is read in houses of that language, of another and of two."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.journeys.browser import ANSWER_MS, answer, connected, opened, say, show
from tests.journeys.conftest import ROOT, Running, house_without_weights
from tests.journeys.test_app_everywhere import ROUTES

pytestmark = pytest.mark.real

# Words that sentences of one language can hardly do without, and that are none of the other.
ENGLISH = re.compile(
    r"\b(?:the|is|are|your|you|it|of|this|that|and|there|left|nothing|with|where|or|not|to|for|from|asked|done|"
    r"only|every|can|may|have|has|be|somebody|shopping)\b",
    re.IGNORECASE,
)
GERMAN = re.compile(
    r"\b(?:der|das|ist|sind|dein|deine|ein|eine|und|nicht|nichts|wenn|oder|von|zu|für|auf|ich|wird|werden|kann|"
    r"darf|haben|gefragt|erledigt|nur|jede|jeden)\b",
    re.IGNORECASE,
)
PATH = re.compile(r"/\S+")  # a folder may be called anything
OTHER = {"de-DE": ENGLISH, "en-GB": GERMAN}
SETTINGS = {"de": 'language = "de"', "en": 'language = "en"', "two": 'languages = ["en", "de"]'}
TEXTS = """() => {
    const lines = [];
    // Names, addresses, commands and lines of logs are as they are, and say so.
    const left_out = "code, pre, [translate=no], script, style, noscript";
    const read = node => {
        if (node.nodeType === Node.TEXT_NODE && node.textContent.trim()) lines.push(node.textContent.trim());
        if (node.nodeType !== Node.ELEMENT_NODE || node.matches(left_out)) return;
        for (const name of ["aria-label", "placeholder", "title", "alt"])
            if (node.getAttribute(name)) lines.push(node.getAttribute(name));
        node.childNodes.forEach(read);
    };
    read(document.body);
    return lines;
}"""


@pytest.fixture(scope="module", params=SETTINGS)
def languages_house(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, Running]]:
    """A house of one language, of another, and of both: nothing that is pressed or typed here needs weights."""
    folder: Path = tmp_path_factory.mktemp(request.param)
    settings = (ROOT / "atlas.toml").read_text().replace('language = "en"', SETTINGS[request.param], 1)
    with house_without_weights(folder, settings) as running:
        yield request.param, running


def texts(page: Page) -> list[str]:
    expect(page.locator(".frame:not(:has(.loading))")).to_be_visible()
    lines: list[str] = page.evaluate(TEXTS)
    return lines


def foreign(page: Page, locale: str, route: str) -> list[str]:
    """Return what of the page is in the language that it should not be in."""
    lines = {line: PATH.sub("", line) for line in texts(page)}
    return [f"{route}: {line}" for line, words in lines.items() if OTHER[locale].search(words)]


@pytest.mark.parametrize("locale", OTHER)
def test_no_page_holds_a_sentence_of_another_language(languages_house: tuple[str, Running], locale: str) -> None:
    _, house = languages_house
    wrong: list[str] = []
    with opened(house, locale=locale) as page:
        connected(page)
        for route in ROUTES:
            show(page, route)
            wrong += foreign(page, locale, route)
            if route == "house/health":
                page.locator("section[aria-labelledby=doctor] button").click()
                page.locator("section[aria-labelledby=doctor] li").first.wait_for(timeout=150_000)
                wrong += foreign(page, locale, "house/health, examined")
    assert wrong == []


PRESSED = {
    "de-DE": (r"Timer gestellt auf 3 Minuten\.", "Eier", "morgen um neun", r"Ich erinnere dich .*"),
    "en-GB": (r"Timer set for 3 minutes\.", "eggs", "tomorrow at nine", r"I'll remind you .*"),
}


@pytest.mark.parametrize("locale", OTHER)
def test_what_is_pressed_is_answered_in_the_language_of_the_app(
    languages_house: tuple[str, Running], locale: str
) -> None:
    _, house = languages_house
    started, what, when, promised = PRESSED[locale]
    with opened(house, locale=locale, path="time") as page:
        page.get_by_role("button", name=re.compile("^3 min", re.IGNORECASE)).click()
        expect(page.locator(".outcome")).to_contain_text(re.compile(started), timeout=ANSWER_MS)
        fields = page.locator("form", has=page.get_by_placeholder(re.compile("plumber|Klempner"))).locator("input")
        fields.nth(0).fill(what)
        fields.nth(1).fill(when)
        fields.nth(1).press("Enter")
        expect(page.locator(".outcome")).to_contain_text(re.compile(promised), timeout=ANSWER_MS)
        show(page, "board")
        page.locator("form input").first.fill(what)
        page.keyboard.press("Enter")
        page.locator(".task-title", has_text=what).first.click()
        page.get_by_role("dialog").get_by_role("button", name=re.compile("Remove|Entfernen|Löschen")).click()
        question = page.locator(".question")
        expect(question).to_contain_text(what, timeout=ANSWER_MS)
        assert not OTHER[locale].search(question.inner_text()), question.inner_text()
        question.get_by_role("button", name=re.compile("^(No|Nein):")).click()
        expect(question).to_have_count(0, timeout=ANSWER_MS)
        assert not foreign(page, locale, "board")


@pytest.mark.parametrize("locale", OTHER)
def test_what_is_offered_to_be_said_is_what_the_house_understands(
    languages_house: tuple[str, Running], locale: str
) -> None:
    languages, house = languages_house
    spoken = locale[:2] if languages == "two" else languages
    with opened(house, locale=locale) as page:
        connected(page)
        idea = {"en": "What time is it?", "de": "Wie spät ist es?"}[spoken]
        expect(page.locator(".ideas").get_by_role("button").first).to_have_text(idea, timeout=ANSWER_MS)
        note = page.get_by_text(re.compile("This house understands German|Dieses Haus versteht Englisch"))
        expect(note).to_have_count(0 if locale[:2] == spoken else 1, timeout=ANSWER_MS)


GERMAN_TALK, ENGLISH_TALK = ("wie spät ist es", r"Es ist \d.*"), ("what time is it", r"It's .*")
TALK = {"de": [GERMAN_TALK], "en": [ENGLISH_TALK], "two": [GERMAN_TALK, ENGLISH_TALK, GERMAN_TALK]}


@pytest.mark.parametrize("locale", OTHER)
def test_talk_is_answered_in_the_language_of_its_words(languages_house: tuple[str, Running], locale: str) -> None:
    languages, house = languages_house
    with opened(house, locale=locale) as page:
        connected(page)
        for words, reply in TALK[languages]:
            say(page, words)
            assert re.fullmatch(reply, answer(page))
