"""The calendar's sheets: what the house refuses is said in them, and how often an event repeats is chosen."""

from __future__ import annotations

import re
from datetime import date, timedelta

import pytest
from playwright.sync_api import Page, expect

from tests.journeys.browser import ANSWER_MS, opened
from tests.journeys.conftest import Running

pytestmark = pytest.mark.real
PHONE = {"width": 390, "height": 844}
TODAY = date.today()  # noqa: DTZ011  # the house stands here
IN_THREE_DAYS = TODAY + timedelta(days=3)


def events_of(house: Running, page: Page, first: date, last: date) -> list[dict[str, str]]:
    address = f"{house.url}/api/calendar?from={first}&to={last}"
    reply = page.request.get(address, headers={"Authorization": f"Bearer {house.token}"})
    return list(reply.json()["events"])


def test_what_the_house_refuses_is_said_inside_the_sheet(own_house: Running) -> None:
    with opened(own_house, path="calendar", viewport=PHONE) as page:
        page.get_by_role("button", name="New event").click()
        page.get_by_label("What").fill("moon landing")
        page.get_by_label("Day", exact=True).fill("9998-01-01")
        page.get_by_role("button", name="Save").click()
        trouble = page.get_by_role("dialog").get_by_role("alert")
        expect(trouble).to_contain_text("too far away", timeout=ANSWER_MS)
        expect(page.locator(".outcome")).to_have_count(0)
        page.get_by_label("Day", exact=True).fill(IN_THREE_DAYS.isoformat())
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_role("dialog")).to_have_count(0, timeout=ANSWER_MS)


def test_a_new_event_has_an_end_of_its_own_or_a_last_day(own_house: Running) -> None:
    last = IN_THREE_DAYS + timedelta(days=2)
    with opened(own_house, path="calendar", viewport=PHONE) as page:
        for what, time, until, ends in (("concert", "20:00", "01:30", ""), ("hike", "", "", str(last))):
            page.get_by_role("button", name="New event").click()
            page.get_by_label("What").fill(what)
            page.get_by_label("Day", exact=True).fill(IN_THREE_DAYS.isoformat())
            page.get_by_label("Time (empty: all day)").fill(time)
            if until:
                page.get_by_label("Until").fill(until)
            page.get_by_label("Last day").fill(ends)
            page.get_by_role("button", name="Save").click()
            expect(page.get_by_role("dialog")).to_have_count(0, timeout=ANSWER_MS)
        events = {event["title"]: event for event in events_of(own_house, page, TODAY, TODAY + timedelta(days=7))}
        assert events["concert"]["end"][:16] == f"{IN_THREE_DAYS + timedelta(days=1)}T01:30"
        assert events["hike"]["end"][:10] == str(last + timedelta(days=1)), (
            "the day behind its last, as calendars have it"
        )
        page.locator(".event", has_text="concert").first.click()
        expect(page.get_by_role("dialog")).to_contain_text(re.compile(r"20:00 – .*1:30"))


@pytest.mark.parametrize(
    ("locale", "labels", "choice"),
    [
        ("en-GB", ("New event", "What", "Day", "Repeats", "Save"), "Every week"),
        ("de-DE", ("Neuer Termin", "Was", "Tag", "Wiederholt sich", "Speichern"), "Jede Woche"),
    ],
)
def test_an_event_repeats_from_its_own_day_as_it_is_chosen(
    own_house: Running, locale: str, labels: tuple[str, ...], choice: str
) -> None:
    new, what, day, repeats, save = labels
    with opened(own_house, path="calendar", locale=locale, viewport=PHONE) as page:
        page.get_by_role("button", name=new).click()
        page.get_by_label(what, exact=True).fill(f"choir {locale[:2]}")
        page.get_by_label(day, exact=True).fill(IN_THREE_DAYS.isoformat())
        page.get_by_label(repeats).select_option(label=choice)
        page.get_by_role("button", name=save).click()
        expect(page.get_by_role("dialog")).to_have_count(0, timeout=ANSWER_MS)
        expect(page.locator(".event", has_text=re.compile(f"choir {locale[:2]}")).first).to_be_visible()
        events = events_of(own_house, page, TODAY, TODAY + timedelta(days=20))
        days = [event["start"][:10] for event in events if event["title"] == f"choir {locale[:2]}"]
        assert days == [str(IN_THREE_DAYS + timedelta(weeks=week)) for week in range(3)]


def test_an_event_is_moved_to_another_day_hour_and_place_and_one_of_all_day_gets_a_time(own_house: Running) -> None:
    headers = {"Authorization": f"Bearer {own_house.token}"}
    with opened(own_house, path="calendar", viewport=PHONE) as page:
        for body in (
            {"title": "dentist", "start": f"{IN_THREE_DAYS}T15:30", "minutes": 45},
            {"title": "picnic", "start": f"{IN_THREE_DAYS}"},
        ):
            assert page.request.post(f"{own_house.url}/api/calendar", headers=headers, data=body).ok
        later = IN_THREE_DAYS + timedelta(days=1)
        page.locator(".event", has_text="dentist").first.click()
        page.get_by_label("Day", exact=True).fill(later.isoformat())
        page.get_by_label("Time", exact=True).fill("16:15")
        page.get_by_label("Where").fill("Main street 4")
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_role("dialog")).to_have_count(0, timeout=ANSWER_MS)
        expect(page.locator(".event", has_text="dentist").first).to_contain_text("Main street 4")
        page.locator(".event", has_text="picnic").first.click()
        page.get_by_label("Time (empty: all day)").fill("12:00")
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_role("dialog")).to_have_count(0, timeout=ANSWER_MS)
        events = {event["title"]: event for event in events_of(own_house, page, TODAY, TODAY + timedelta(days=7))}
        assert events["dentist"]["start"][:16] == f"{later}T16:15"
        assert events["dentist"]["end"][:16] == f"{later}T17:00", "it is as long as it was"
        assert events["picnic"]["start"][:16] == f"{IN_THREE_DAYS}T12:00"
