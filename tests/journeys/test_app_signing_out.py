"""Who leaves, or is shut out, leaves nothing of the household in the browser."""

from __future__ import annotations

import json
from uuid import uuid4

import pytest
from playwright.sync_api import Page, expect

from tests.journeys.browser import ANSWER_MS, answer, connected, leave, opened, say
from tests.journeys.conftest import Running

pytestmark = pytest.mark.real


def stored(page: Page) -> dict[str, str]:
    return dict(json.loads(page.evaluate("JSON.stringify({ ...localStorage, ...sessionStorage })")))


def owner_of(house: Running) -> tuple[str, str]:
    """Return the name and the token of an owner's device."""
    name = f"phone {uuid4().hex[:6]}"
    return name, house.new_token(name, "owner")


def begin(page: Page) -> None:
    """Leave as many traces as one can: the agents, what was seen, words, and what this browser itself is to be."""
    connected(page)
    expect(page.get_by_role("group", name="Who listens")).to_be_visible(timeout=ANSWER_MS)
    page.evaluate("localStorage.setItem('atlas.seen', JSON.stringify(['alarm_1 5']))")
    page.evaluate("localStorage.setItem('atlas.preferences', JSON.stringify({ look: 'dark' }))")
    say(page, "set a timer for ten minutes")
    answer(page)
    assert "work" in stored(page)["atlas.agents"]


def nothing_is_left(page: Page, house: Running) -> None:
    expect(page.get_by_role("heading", name="Who is there?")).to_be_visible(timeout=ANSWER_MS)
    assert set(stored(page)) <= {"atlas.preferences"}
    assert "dark" in stored(page)["atlas.preferences"], "how this browser looks is nobody's own"
    assert page.title() == "Atlas"
    assert page.evaluate("location.hash") in ("", "#/")
    token = house.new_token(f"tablet {uuid4().hex[:6]}", "child")
    page.route("**/api/me", lambda route: None)  # the house does not say yet who this is
    page.get_by_label("Token").fill(token)
    page.evaluate("localStorage.setItem('atlas.token', document.querySelector('#token').value)")
    page.reload()
    expect(page.locator(".talk")).to_be_visible(timeout=ANSWER_MS)
    expect(page.get_by_role("group", name="Who listens")).to_have_count(0)


def test_who_leaves_takes_everything_of_the_account_along(own_house: Running) -> None:
    _, token = owner_of(own_house)
    with opened(own_house, token=token) as page:
        begin(page)
        page.evaluate("location.hash = '#/notes'")
        expect(page.get_by_role("heading", name="Notes", exact=True)).to_be_visible(timeout=ANSWER_MS)
        page.evaluate("location.hash = '#/more'")
        leave(page)
        nothing_is_left(page, own_house)


def test_who_is_shut_out_leaves_nothing_behind_in_any_window(own_house: Running) -> None:
    name, token = owner_of(own_house)
    with opened(own_house, token=token, stopped="status of 401|WebSocket") as page:
        begin(page)
        with page.expect_popup() as opening:
            page.evaluate("open('/')")
        other = opening.value
        connected(other)
        devices = page.request.get(
            f"{own_house.url}/api/devices", headers={"Authorization": f"Bearer {own_house.token}"}
        ).json()["devices"]
        assert name in {one["name"] for one in devices}
        own_house.atlas("token", "revoke", name)
        expect(other.get_by_role("heading", name="Who is there?")).to_be_visible(timeout=ANSWER_MS)
        nothing_is_left(page, own_house)


def test_who_leaves_in_one_window_has_left_in_all_of_them(own_house: Running) -> None:
    _, token = owner_of(own_house)
    with opened(own_house, token=token) as page:
        begin(page)
        with page.expect_popup() as opening:
            page.evaluate("open('/')")
        other = opening.value
        connected(other)
        page.evaluate("location.hash = '#/more'")
        leave(page)
        expect(other.get_by_role("heading", name="Who is there?")).to_be_visible(timeout=ANSWER_MS)
        assert set(stored(other)) <= {"atlas.preferences"}
