"""A person deletes a whole list in the app, after a yes, and takes that back."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from tests.journeys.browser import opened
from tests.journeys.conftest import Running, api
from tests.journeys.test_app_everywhere import AXE, violations

pytestmark = pytest.mark.real
WORDS = {
    "en-GB": ("Delete the list Picnic", "Delete the picnic list with 2 things", "Yes", "No", "Deleted", "Undo"),
    "de-DE": (
        "Die Liste Picnic löschen",
        "Liste Picnic löschen und damit 2 Dinge",
        "Ja",
        "Nein",
        "gelöscht",
        "Rückgängig",
    ),
}


@pytest.mark.parametrize("size", [(390, 844), (1280, 800)], ids=["phone", "desk"])
@pytest.mark.parametrize("locale", WORDS)
def test_a_list_is_deleted_after_a_yes_and_undo_brings_it_back_whole(
    own_house: Running, locale: str, size: tuple[int, int]
) -> None:
    delete, asks, yes, no, deleted, undo = WORDS[locale]
    api(own_house, "POST", "/api/lists/picnic/items", {"items": ["a rug", "plums"]})
    viewport: Any = {"width": size[0], "height": size[1]}
    with opened(own_house, path="lists/picnic", locale=locale, viewport=viewport) as page:
        chip = page.get_by_role("link", name="Picnic")
        button = page.get_by_role("button", name=delete)
        question = page.locator(".question", has_text=asks)
        button.click()
        question.get_by_role("button", name=no).click()
        expect(question).to_have_count(0)
        expect(page.get_by_role("checkbox", name="plums")).to_be_visible()
        button.click()
        page.evaluate(AXE.read_text(encoding="utf-8"))
        assert not (wrong := violations(page)), wrong
        question.get_by_role("button", name=yes).click()
        expect(page.locator(".outcome")).to_contain_text(deleted)
        expect(chip).to_have_count(0)
        expect(page.locator(".chip[aria-current]")).to_have_count(1)  # the shopping list, which nobody can delete
        expect(button).to_have_count(0)
        page.evaluate(AXE.read_text(encoding="utf-8"))
        assert not (wrong := violations(page)), wrong
        assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
        page.get_by_role("button", name=undo).click()
        expect(chip).to_have_attribute("aria-current", "true")
        expect(page.get_by_role("checkbox")).to_have_count(2)


def test_who_may_not_delete_a_list_is_not_offered_it(own_house: Running) -> None:
    api(own_house, "POST", "/api/lists/picnic/items", {"items": ["a rug"]})
    token = own_house.new_token("a guests", "guest")
    with opened(own_house, path="lists/picnic", token=token) as page:
        expect(page.locator(".refused").first).to_be_visible()
        expect(page.get_by_role("button", name="Delete the list Picnic")).to_have_count(0)
