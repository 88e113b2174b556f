"""A person edits a note of many pages in the app; of what is too long they are told, and nothing of it is cut."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from tests.journeys.browser import opened
from tests.journeys.conftest import Running, api
from tests.journeys.test_app_everywhere import AXE, violations

pytestmark = pytest.mark.real
WORDS = {
    "en-GB": ("Text", "Edit", "Save", "That is 60,001 characters", "here 60,000 are the most", "up to 60,000", "1,900"),
    "de-DE": (
        *("Text", "Bearbeiten", "Speichern", "Das sind 60.001 Zeichen", "höchstens 60.000 gehen hier"),
        *("bis zu 60.000", "1.900"),
    ),
}
DIARY = "\n\n".join(f"Day {number}: it rained on the füchse." for number in range(1_500))[:50_000].strip()
# Chromium takes ten seconds to type a thousand lines.
REPLACED = "(field, text) => { field.value = text; field.dispatchEvent(new Event('input', { bubbles: true })); }"


@pytest.mark.parametrize("size", [(390, 844), (1280, 800)], ids=["phone", "desk"])
@pytest.mark.parametrize("locale", WORDS)
def test_a_note_of_many_pages_is_edited_and_nothing_of_what_is_too_long_is_cut(
    own_house: Running, locale: str, size: tuple[int, int]
) -> None:
    label, edit, save, counted, most, shown_up_to, _ = WORDS[locale]
    note = api(own_house, "POST", "/api/notes", {"title": f"Diary {locale} {size[0]}", "text": "x"})["note"]["file"]
    address = f"/api/notes/note?note={quote(note)}"
    revision = api(own_house, "GET", address)["revision"]
    api(own_house, "PUT", address, {"text": DIARY, "revision": revision})
    viewport: Any = {"width": size[0], "height": size[1]}
    with opened(own_house, path=f"notes/{quote(note, safe='')}", locale=locale, viewport=viewport) as page:
        page.get_by_role("button", name=edit, exact=True).click()
        field = page.get_by_label(label, exact=True)
        expect(field).to_have_value(DIARY)
        field.press("Control+End")
        page.keyboard.insert_text((60_001 - len(DIARY)) * "y")
        page.get_by_role("button", name=save, exact=True).click()
        trouble = page.get_by_role("alert").filter(has_text=counted)
        expect(trouble).to_contain_text(most)
        expect(trouble).to_be_in_viewport()
        page.evaluate(AXE.read_text(encoding="utf-8"))
        assert not (wrong := violations(page)), wrong
        assert len(field.input_value()) == 60_001
        assert api(own_house, "GET", address)["text"] == DIARY
        field.evaluate(REPLACED, f"{DIARY}\n\nThe end.")
        page.get_by_role("button", name=save, exact=True).click()
        expect(page.locator(".markdown")).to_contain_text("The end.")
        assert api(own_house, "GET", address)["text"] == f"{DIARY}\n\nThe end."
        [file] = own_house.data.glob(f"**/{note}")
        file.write_text(file.read_text() + 12_000 * "z")  # as somebody does with an editor of files
        page.reload()
        expect(page.locator("main")).to_contain_text(shown_up_to)
        expect(page.get_by_role("button", name=edit, exact=True)).to_have_count(0)


@pytest.mark.parametrize("locale", WORDS)
def test_a_new_note_that_is_too_long_is_told_and_stays_as_it_was_pasted(own_house: Running, locale: str) -> None:
    label, _, save, *_, most = WORDS[locale]
    with opened(own_house, path="notes/", locale=locale) as page:
        page.locator("main form input").fill("Pasted")
        page.get_by_label(label, exact=True).fill(2_000 * "y")
        page.get_by_role("button", name=save, exact=True).click()
        expect(page.locator(".outcome[data-bad=true]")).to_contain_text(most)
        assert len(page.get_by_label(label, exact=True).input_value()) == 2_000
