"""Who comes back to the app sees what waits for them, and dismisses it; before the next time it says nothing."""

from __future__ import annotations

import json
import sqlite3
import time
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.journeys.browser import ANSWER_MS, answer, connected, opened, say
from tests.journeys.conftest import Running
from tests.journeys.test_app_everywhere import AXE, violations

pytestmark = pytest.mark.real
SEEN = "localStorage.getItem('atlas.seen')"
PHONE, DESK = {"width": 390, "height": 844}, {"width": 1280, "height": 800}
WORDS = {
    "en-GB": ("While you were out", "A message waits for you.", "2 messages wait for you.", "Seen"),
    "de-DE": ("Während du weg warst", "Eine Nachricht wartet auf dich.", "2 Nachrichten warten auf dich.", "Gesehen"),
}

ASKED = {  # about which list, and how it is told that nobody answered
    "en-GB": ("picnic", "I asked, and nobody answered"),
    "de-DE": ("camping", "Ich habe gefragt, und niemand hat geantwortet"),
}

SILENT = {
    "en-GB": ("A timer ended and did not ring", "An alarm did not ring: bins"),
    "de-DE": ("Ein Timer ist abgelaufen und hat nicht geklingelt", "Ein Wecker hat nicht geklingelt: bins"),
}


def send(house: Running, path: str, body: dict[str, Any], method: str = "POST") -> int:
    """Ask the house for something, as the owner; return the status of its answer."""
    headers = {"Authorization": f"Bearer {house.token}", "Content-Type": "application/json"}
    request = urllib.request.Request(f"{house.url}{path}", json.dumps(body).encode(), headers, method=method)
    with urllib.request.urlopen(request) as reply:
        return int(reply.status)


def post(house: Running, path: str, body: dict[str, Any]) -> None:
    """Have something done, as the owner."""
    assert send(house, path, body) == 201


def leave_message(house: Running, person: str, text: str) -> None:
    """Leave a message for a person, as the owner."""
    post(house, "/api/voice-messages", {"text": text, "person": person})


def token_of(house: Running, name: str, person: str) -> str:
    """Let in the device of a person who is not there: what is for them waits, and nothing plays it."""
    return house.new_token(name, "adult", "--person", person)


@contextmanager
def looking(page: Page) -> Iterator[None]:
    """Wait until the page has looked for what waits: it then forgets what was seen and waits no more."""
    page.evaluate(f"localStorage.setItem('atlas.seen', JSON.stringify([...JSON.parse({SEEN} ?? '[]'), 'gone']))")
    yield
    page.wait_for_function(f"() => !{SEEN}.includes('gone')")


def away(page: Page, title: str):
    return page.get_by_role("region", name=title, exact=True)


@pytest.mark.parametrize("size", [PHONE, DESK], ids=["phone", "desk"])
@pytest.mark.parametrize("locale", WORDS)
def test_what_waits_for_who_comes_back_is_shown_until_it_is_dismissed(
    own_house: Running, locale: str, size: dict[str, int]
) -> None:
    title, one, two, seen = WORDS[locale]
    person = f"Pia {locale[:2]} {'desk' if size is DESK else 'phone'}"
    token = token_of(own_house, f"{person} phone", person)
    leave_message(own_house, person, "the plumber called")
    with opened(own_house, token=token, locale=locale, viewport=size, reduced_motion="reduce") as page:
        connected(page)
        card = away(page, title)
        expect(card).to_contain_text(one, timeout=ANSWER_MS)
        page.evaluate(AXE.read_text(encoding="utf-8"))
        assert not (wrong := violations(page)), wrong
        assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
        leave_message(own_house, person, "and the baker")
        page.reload()
        connected(page)
        expect(card).to_contain_text(two, timeout=ANSWER_MS)
        card.get_by_role("button", name=seen).click()
        expect(card).to_have_count(0)
        with looking(page):
            page.reload()
        connected(page)
        expect(card).to_have_count(0)


def test_a_message_that_is_read_waits_no_more_and_leads_to_where_it_is(own_house: Running) -> None:
    token = token_of(own_house, "tablet", "Tom")
    leave_message(own_house, "Tom", "the kettle is mended")
    with opened(own_house, token=token) as page:
        connected(page)
        away(page, "While you were out").get_by_role("link", name="A message waits for you.").click()
        expect(page.get_by_text("the kettle is mended")).to_be_visible(timeout=ANSWER_MS)
        with page.expect_response("**/heard"):
            page.get_by_role("button", name="Got it").click()
        with looking(page):
            page.get_by_role("link", name="Talk", exact=True).click()
        expect(away(page, "While you were out")).to_have_count(0)


def test_an_owner_sees_for_whom_a_message_waits_never_its_words_and_deletes_it(own_house: Running) -> None:
    token_of(own_house, "Lou phone", "Lou")
    leave_message(own_house, "Lou", "the cake is in the attic")
    token = own_house.new_token("hall screen", "owner")  # which did not leave it
    with opened(own_house, token=token, path="messages", viewport=PHONE) as page:
        row = page.get_by_role("region", name="Waiting for others").get_by_role("listitem").filter(has_text="For Lou")
        expect(row).to_be_visible(timeout=ANSWER_MS)
        expect(page.locator("main")).not_to_contain_text("attic")
        page.evaluate(AXE.read_text(encoding="utf-8"))
        assert not (wrong := violations(page)), wrong
        row.get_by_role("button", name="Delete for good: For Lou").click()
        expect(row).to_have_count(0, timeout=ANSWER_MS)


@pytest.mark.parametrize("locale", WORDS)
def test_what_nobody_stopped_heard_or_answered_is_told(own_house: Running, locale: str) -> None:
    title, *_, seen = WORDS[locale]
    post(own_house, f"/api/lists/{ASKED[locale][0]}/items", {"items": ["milk"]})
    assert send(own_house, f"/api/lists/{ASKED[locale][0]}/items", {}, "DELETE") == 202, "a person is asked first"
    post(own_house, "/api/announcements", {"text": f"dinner in {locale}"})
    post(own_house, "/api/alarms", {"when": "tomorrow at six", "name": f"gym {locale[:2]}"})
    post(own_house, "/api/timers", {"seconds": 3600, "name": "eggs"})
    post(own_house, "/api/alarms", {"when": "tomorrow at six", "name": "bins"})
    with closing(sqlite3.connect(own_house.data / "tools" / "tools.db")) as tools, tools:  # as if hours had gone by
        tools.execute("UPDATE broadcast SET at = at - 3601")
        tools.execute("UPDATE asks SET asked_at = asked_at - 3600, expires_at = expires_at - 3600")
        tools.execute("UPDATE timers SET deadline = deadline - 7200, announced_at = deadline WHERE name = 'eggs'")
        tools.execute("UPDATE alarms SET missed_at = 1, silent = 1 WHERE name = 'bins'")
        tools.execute(
            "UPDATE alarms SET missed_at = ?, due_at = NULL WHERE name = ?", (time.time(), f"gym {locale[:2]}")
        )
    token = token_of(own_house, f"Uma {locale} phone", f"Uma {locale[:2]}")
    with closing(sqlite3.connect(own_house.data / "devices.db")) as devices, devices:  # as if it had been there already
        devices.execute("UPDATE devices SET created = 0 WHERE name = ?", (f"Uma {locale} phone",))
    with opened(own_house, token=token, locale=locale, viewport={"width": 320, "height": 640}) as page:
        connected(page)
        card = away(page, title)
        expect(card).to_contain_text(f"dinner in {locale}", timeout=ANSWER_MS)
        name, words = ASKED[locale]
        expect(card.get_by_text(words).filter(has_text=name)).to_be_visible()
        expect(card.get_by_role("link", name=f"gym {locale[:2]}", exact=False)).to_be_visible()
        for sentence in SILENT[locale]:
            expect(card).to_contain_text(sentence)
        page.evaluate(AXE.read_text(encoding="utf-8"))
        assert not (wrong := violations(page)), wrong
        assert page.evaluate("document.documentElement.scrollWidth") <= 320
        card.get_by_role("button", name=seen).click()
        with looking(page):
            page.reload()
        connected(page)
        expect(card).to_have_count(0)


def test_a_guest_is_told_of_the_alarm_that_they_set_and_of_nothing_else(own_house: Running) -> None:
    token = own_house.new_token("a guests phone", "guest")
    post(own_house, "/api/alarms", {"when": "tomorrow at six", "name": "household"})
    with opened(own_house, token=token, viewport=PHONE) as page:
        connected(page)
        body, headers = {"when": "tomorrow at six", "name": "train"}, {"Authorization": f"Bearer {token}"}
        assert page.request.post(f"{own_house.url}/api/alarms", headers=headers, data=body).ok
        with closing(sqlite3.connect(own_house.data / "tools" / "tools.db")) as tools, tools:
            tools.execute(
                "UPDATE alarms SET missed_at = ?, due_at = NULL WHERE name IN ('household', 'train')", (time.time(),)
            )
        page.reload()
        connected(page)
        card = away(page, "While you were out")
        expect(card).to_contain_text("Nobody stopped an alarm: train", timeout=ANSWER_MS)
        expect(card.get_by_role("listitem")).to_have_count(1)


def test_a_phone_that_has_just_come_in_begins_with_the_welcome(own_house: Running) -> None:
    post(own_house, "/api/alarms", {"when": "tomorrow at six", "name": "choir"})
    with closing(sqlite3.connect(own_house.data / "tools" / "tools.db")) as tools, tools:  # a message would be read out
        missed = "UPDATE alarms SET missed_at = ?, due_at = NULL WHERE name = 'choir'"
        tools.execute(missed, (time.time(),))
    token = token_of(own_house, "Eve phone", "Eve")
    with opened(own_house, token=token, viewport=PHONE) as page:
        connected(page)
        with looking(page):
            page.reload()
        expect(page.locator(".welcome")).to_be_visible()
        expect(away(page, "While you were out")).to_have_count(0)
        leave_message(own_house, "Eve", "after you came")
        page.reload()
        expect(away(page, "While you were out")).to_contain_text("A message waits for you.", timeout=ANSWER_MS)


@pytest.mark.parametrize("size", [PHONE, DESK], ids=["phone", "desk"])
def test_what_was_said_is_never_under_what_waits(own_house: Running, size: dict[str, int]) -> None:
    person = f"Ida {size['width']}"
    token = token_of(own_house, f"{person} phone", person)
    post(own_house, "/api/alarms", {"when": "tomorrow at six", "name": f"swim {size['width']}"})
    with closing(sqlite3.connect(own_house.data / "tools" / "tools.db")) as tools, tools:  # a message would be read out
        missed = "UPDATE alarms SET missed_at = ?, due_at = NULL WHERE name = ?"
        tools.execute(missed, (time.time(), f"swim {size['width']}"))
    with opened(own_house, token=token, viewport=size) as page:
        connected(page)
        card = away(page, "While you were out")
        expect(card).to_be_visible(timeout=ANSWER_MS)
        for _ in range(6):
            say(page, "set a timer for ten minutes")
            answer(page)
            connected(page)
        lower = card.bounding_box()
        log = page.locator(".log").bounding_box()
        assert lower and log and lower["y"] + lower["height"] <= log["y"]
        last = page.locator(".log li:last-child .words")
        expect(last).to_be_in_viewport(ratio=1)
