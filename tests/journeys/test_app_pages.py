"""A person looks after the house in the app: devices, time, lists, the board, notes, the calendar, what was said."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from playwright.sync_api import Page, expect

from tests.journeys.browser import ANSWER_MS, answer, connected, opened, say
from tests.journeys.conftest import Running, running_house, until
from tests.journeys.test_app_everywhere import AXE, violations
from tests.processes import free_port
from tests.tools_server.test_home import Lamps

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("timers_end")]


@pytest.fixture
def thing() -> str:
    """A name that no other test has."""
    return f"kite {uuid4().hex[:6].translate(str.maketrans('0123456789', 'ghijklmnop'))}"


@pytest.fixture(scope="module")
def broker() -> Iterator[int]:
    """A real MQTT broker; its port."""
    program = shutil.which("mosquitto", path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin")
    assert program, "the Debian package mosquitto is missing: ./check installs it"
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        settings = Path(folder, "mosquitto.conf")
        settings.write_text(f"listener {port} 127.0.0.1\nallow_anonymous true\nlog_type error\nuser root\n")
        with subprocess.Popen([program, "-c", str(settings)]) as process:
            yield port
            process.terminate()


@pytest.fixture(scope="module")
def house_with_lamps(broker: int) -> Iterator[tuple[Running, Lamps]]:
    more = f'\n[tools.home.mqtt]\nhost = "127.0.0.1"\nport = {broker}\ntls = "none"\n'
    with running_house(more, f'"127.0.0.1:{broker}"') as running:
        lamps = until(lambda: _lamps(broker), 30, "the broker")
        lamps.announce("lamp", "Kitchen")
        yield running, lamps
        lamps.close()


def _lamps(port: int) -> Lamps | None:
    try:
        return Lamps(port)
    except OSError:
        return None


def test_a_tap_switches_a_light_of_a_real_broker_and_the_page_sees_who_else_does(house_with_lamps):
    house, lamps = house_with_lamps
    with opened(house, path="home") as page:
        switch = page.get_by_role("switch", name="lamp", exact=True)
        expect(switch).to_have_attribute("aria-checked", "false", timeout=ANSWER_MS)
        switch.click()
        until(lambda: any("ON" in payload for name, payload in lamps.heard if name == "lamp"), 30, "the lamp being on")
        expect(switch).to_have_attribute("aria-checked", "true")
        lamps.publish("lamp/lamp", '{"state": "OFF"}')  # as somebody at its own switch does
        expect(switch).to_have_attribute("aria-checked", "false", timeout=ANSWER_MS)


def test_a_house_without_devices_says_what_to_do(house):
    with opened(house, path="home") as page:
        expect(page.get_by_role("heading", name="No devices yet")).to_be_visible(timeout=ANSWER_MS)
        page.get_by_role("link", name="Connect them").click()
        expect(page.get_by_role("heading", name="Home Assistant")).to_be_visible(timeout=ANSWER_MS)


def test_the_first_page_of_a_new_house_leads_its_owner_to_settling_in_and_nobody_else(own_house: Running) -> None:
    for role, count in (("owner", 1), ("adult", 0)):
        with opened(own_house, token=own_house.new_token(f"a new {role}s", role), path="more") as page:
            expect(page.locator("main")).to_contain_text(f"a new {role}s")  # the page knows who this is
            page.evaluate("location.hash = '#/talk'")
            connected(page)
            expect(page.get_by_role("button", name="What time is it?")).to_be_visible()
            step = page.get_by_role("link", name="Let in a phone")
            expect(step).to_have_count(count)
            if count:
                step.click()
                expect(page.get_by_role("button", name="Add a phone or a screen")).to_be_visible()


def test_a_spoken_timer_is_seen_and_stopped_and_the_stopping_taken_back(house, thing):
    with opened(house) as page:
        connected(page)
        say(page, f"set a {thing} timer for twenty minutes")
        answer(page)
        page.get_by_role("link", name="Time", exact=True).click()
        timer = page.locator(".timer", has_text=re.compile(thing, re.I))
        expect(timer).to_contain_text(re.compile(r"(19:5\d|20:00)"))
        timer.get_by_role("button", name=re.compile("^Pause")).click()
        expect(timer).to_contain_text("paused")
        timer.get_by_role("button", name=re.compile("^Cancel")).click()
        expect(timer).to_have_count(0)
        page.get_by_role("button", name="Undo").click()
        expect(timer).to_have_count(1)
        timer.get_by_role("button", name=re.compile("^Cancel")).click()
        expect(timer).to_have_count(0)


def test_an_alarm_in_words_and_a_reminder(house, thing):
    with opened(house, path="time") as page:
        page.get_by_label("When is the new alarm?").fill("every weekday at 6:30")
        page.keyboard.press("Enter")
        expect(page.get_by_role("switch", name=re.compile("6:30"))).to_have_attribute("aria-checked", "true")
        expect(
            page.locator(".clock", has_text=re.compile(r"6:30\sAM")).first
        ).to_be_visible()  # as in the words below it
        page.get_by_role("switch", name=re.compile("6:30")).click()
        expect(page.get_by_role("switch", name=re.compile("6:30"))).to_have_attribute("aria-checked", "false")
        page.get_by_label("When is the new alarm?").fill("when the cows come home")
        page.keyboard.press("Enter")
        expect(page.locator(".outcome")).to_have_attribute("data-bad", "true")
        expect(page.get_by_label("When is the new alarm?")).to_have_value("when the cows come home")
        page.get_by_label("What is it about?").fill(thing)
        page.get_by_label("When?", exact=True).fill("tomorrow at nine")
        page.keyboard.press("Enter")
        row = page.locator(".row", has_text=thing)
        expect(row).to_contain_text("Tomorrow, 9:00")
        row.get_by_role("button", name=re.compile("^Done")).click()
        expect(row).to_have_count(0)


def test_things_go_on_a_list_and_are_ticked_off_and_cleared_after_a_yes(house, thing):
    with opened(house, path="lists") as page:
        field = page.get_by_label("Add to shopping")
        field.fill(f"{thing}, {thing} string")
        page.keyboard.press("Enter")
        page.get_by_role("checkbox", name=thing, exact=True).click()
        page.get_by_text("1 ticked off", exact=True).click()
        page.get_by_role("button", name="Clear what is ticked off").click()
        page.locator(".question", has_text=re.compile(thing, re.I)).get_by_role("button", name="Yes").click()
        expect(page.get_by_role("checkbox", name=thing, exact=True)).to_have_count(0, timeout=ANSWER_MS)
        expect(page.get_by_role("checkbox", name=f"{thing} string")).to_be_visible()


@pytest.mark.parametrize(("locale", "joined"), [("en-GB", "and"), ("de-DE", "und")])
def test_what_is_typed_on_the_page_is_as_many_things_as_when_it_is_said(house, thing, locale, joined):
    first, second, third = (f"{thing} {name}" for name in ("ale", "bun", "cob"))
    with opened(house, path="lists", locale=locale, viewport={"width": 390, "height": 844}) as page:
        page.locator("form.add input").first.fill(f"{first}, {second} {joined} {third}")
        page.keyboard.press("Enter")
        for name in (first, second, third):
            expect(page.get_by_role("checkbox", name=name, exact=True)).to_be_visible()
        if locale == "en-GB":
            page.evaluate("location.hash = '#/talk'")
            connected(page)
            say(page, f"add {thing} dip and {thing} egg to the shopping list")
            answer(page)
            page.evaluate("location.hash = '#/lists'")
            for name in (f"{thing} dip", f"{thing} egg"):
                expect(page.get_by_role("checkbox", name=name, exact=True)).to_be_visible()


def test_the_house_says_how_a_new_list_is_called(house, thing):
    with opened(house, path="lists") as page:
        new = page.get_by_label("Open or begin another list")
        new.fill(f"My {thing.title()} List!")
        page.keyboard.press("Enter")
        chip = page.get_by_role("link", name=thing.capitalize())
        expect(chip).to_have_attribute("aria-current", "true")
        page.get_by_label(f"Add to {thing.capitalize()}").fill("rope")
        page.keyboard.press("Enter")
        expect(page.get_by_role("checkbox", name="rope")).to_be_visible()
        new.fill("Einkaufen")
        page.keyboard.press("Enter")
        expect(page.get_by_role("link", name="Shopping")).to_have_attribute("aria-current", "true")
        new.fill("?!")
        page.keyboard.press("Enter")
        expect(page.locator(".outcome")).to_contain_text("Give the list a name in words.")


def column(page: Page, name: str, title: str):
    return page.get_by_role("region", name=name).locator(".task", has_text=title)


def test_a_card_is_moved_by_the_mouse_by_a_menu_and_by_keys_and_every_page_sees_it(house, thing):
    every_card_in_sight = {"width": 1280, "height": 2400}  # the house is shared, and its board with it
    with opened(house, path="board", viewport=every_card_in_sight) as page:
        page.get_by_label("New task").fill(thing)
        page.keyboard.press("Enter")
        expect(column(page, "To do", thing)).to_be_visible()
        other = page.context.browser.new_page()
        other.goto(f"{house.url}/#token={house.token}")
        other.goto(f"{house.url}/#/board")
        expect(column(other, "To do", thing)).to_be_visible()
        column(page, "To do", thing).drag_to(
            page.get_by_role("region", name="Doing"), source_position={"x": 40, "y": 20}
        )
        expect(column(page, "Doing", thing)).to_be_visible()
        expect(column(other, "Doing", thing)).to_be_visible(timeout=ANSWER_MS)
        column(page, "Doing", thing).get_by_label(re.compile("^Move to")).select_option(label="Done")
        expect(column(page, "Done", thing)).to_be_visible()
        column(page, "Done", thing).get_by_role("button", name=thing).focus()
        page.keyboard.press("Control+ArrowLeft")
        expect(column(page, "Doing", thing).get_by_role("button", name=thing)).to_be_focused()
        page.keyboard.press("Control+ArrowLeft")
        expect(column(page, "To do", thing).get_by_role("button", name=thing)).to_be_focused()


def test_what_is_wrong_in_a_sheet_is_told_in_it_where_a_phone_shows_it(house, thing):
    with opened(house, path="board", viewport={"width": 390, "height": 844}, stopped="status of 400") as page:
        page.get_by_label("New task").fill(thing)
        page.keyboard.press("Enter")
        page.get_by_role("button", name=thing, exact=True).click()
        page.get_by_label("Due", exact=False).fill("when the cows come home")
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text(re.compile(r"\w"))
        expect(page.get_by_role("dialog").get_by_role("alert")).to_be_in_viewport()


def test_a_note_is_written_found_and_shown_without_running_what_is_in_it(house, thing):
    # Hostile markup is read in a document of its own, where the policy reports what it stops.
    with opened(house, path="notes", stopped="Executing inline event handler violates") as page:
        page.get_by_role("link", name="Write a note").click()
        page.get_by_label("Title").fill(thing)
        page.get_by_label("Text").fill("It is **red**. <img src=x onerror=alert(1)> <script>alert(2)</script>")
        page.get_by_role("button", name="Save").click()
        expect(page.locator(".markdown strong")).to_have_text("red")
        assert page.locator(".markdown img, .markdown script").count() == 0
        expect(page.locator(".markdown")).to_contain_text("<script>alert(2)</script>")  # read as it was written
        page.get_by_role("button", name="Edit").click()
        page.get_by_label("Text").fill("It is **red**. And blue.")
        page.get_by_role("button", name="Save").click()
        expect(page.locator(".markdown")).to_contain_text("And blue.")
        page.get_by_role("link", name="Notes").first.click()
        page.get_by_label("Search in notes").fill("blue")
        expect(page.get_by_role("link", name=re.compile(thing, re.I))).to_be_visible()


@pytest.mark.parametrize("width", [390, 1280], ids=["phone", "desk"])
def test_of_two_who_edit_a_note_the_second_reads_what_the_first_wrote_and_loses_nothing(house, thing, width):
    with opened(house, path="notes/", viewport={"width": width, "height": 844}) as page:
        page.get_by_label("Title").fill(thing)
        page.get_by_label("Text").fill("Balloons.")
        page.get_by_role("button", name="Save").click()
        expect(page.locator(".markdown")).to_have_text("Balloons.")
        other = page.context.browser.new_page(locale="en-GB")
        other.goto(f"{house.url}/#token={house.token}")
        other.goto(page.url)
        for one, text in ((page, "Balloons and a cake."), (other, "No balloons.")):
            one.get_by_role("button", name="Edit").click()
            one.get_by_label("Text").fill(text)
        other.get_by_role("button", name="Save").click()
        expect(other.locator(".markdown")).to_have_text("No balloons.")
        page.get_by_role("button", name="Save").click()
        alert = page.get_by_role("alert").filter(has_text="Nothing is lost")
        expect(alert).to_be_in_viewport()
        expect(page.get_by_role("region", name="What they wrote")).to_contain_text("No balloons.")
        expect(page.get_by_label("Text")).to_have_value("Balloons and a cake.")
        page.evaluate(AXE.read_text(encoding="utf-8"))
        assert not (wrong := violations(page)), wrong
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.get_by_role("button", name="Add theirs below mine").click()
        page.get_by_role("button", name="Save mine").click()
        expect(page.locator(".markdown p")).to_have_text(["Balloons and a cake.", "No balloons."])


NOTE_IN_THE_CLOTHES_OF_THE_APP = """
| left | right |
|:-----|------:|
| 1 | *2* |

[page](#/lists) [out](https://example.org/a) [in](#token=atlas_x) [and](#/lists&token=atlas_x) [pair](/pair?x)
[other](https://example.org/#token=atlas_x)

<div class="dialog" id="line" role="alert" aria-live="assertive" data-x="1"><button class="go">Yes</button></div>
<dialog open>Sign in</dialog><textarea>password</textarea><select><option>1</option></select>
"""


def test_a_note_wears_nothing_of_the_app_and_no_link_in_it_signs_anybody_in(house, thing):
    with opened(house, path="notes") as page:
        page.get_by_role("link", name="Write a note").click()
        page.get_by_label("Title").fill(thing)
        page.get_by_label("Text").fill(NOTE_IN_THE_CLOTHES_OF_THE_APP)
        page.get_by_role("button", name="Save").click()
        shown = page.locator(".markdown")
        expect(shown.locator("td em")).to_have_text("2")
        assert shown.locator("[class], [id], [role], [aria-live], [data-x]").count() == 0
        assert shown.locator("button, dialog, textarea, select, div").count() == 0
        links = shown.locator("a").evaluate_all("all => all.map(a => [a.textContent, a.getAttribute('href'), a.rel])")
        assert links == [
            ["page", "#/lists", ""],
            ["out", "https://example.org/a", "noopener noreferrer"],
            *([text, None, ""] for text in ("in", "and", "pair", "other")),
        ]


def test_an_event_is_added_seen_in_month_week_and_day_renamed_and_removed_after_a_yes(house, thing):
    with opened(house, path="calendar", viewport={"width": 1280, "height": 800}) as page:
        page.get_by_role("button", name="New event").click()
        page.get_by_label("What").fill(thing)
        page.get_by_label(re.compile("^Time")).fill("15:30")
        page.get_by_role("button", name="Save").click()
        expect(page.locator(".month-event", has_text=re.compile(thing, re.I))).to_be_visible()
        for span in ("Week", "Day"):
            page.get_by_role("button", name=span, exact=True).click()
            expect(page.locator(".event", has_text=re.compile(thing, re.I))).to_contain_text("15:30")
        page.locator(".event", has_text=re.compile(thing, re.I)).click()
        page.get_by_label("What").fill(f"{thing} festival")
        page.get_by_role("button", name="Save").click()
        event = page.locator(".event", has_text=re.compile(f"{thing} festival", re.I))
        event.click()
        page.get_by_role("button", name="Remove").click()
        page.locator(".question", has_text=re.compile(thing, re.I)).get_by_role("button", name="Yes").click()
        expect(event).to_have_count(0, timeout=ANSWER_MS)


def test_a_reload_keeps_the_log_and_what_was_said_is_found_and_forgotten(house: Running, thing: str):
    with opened(house) as page:
        connected(page)
        say(page, f"add {thing} to the shopping list")
        answer(page)
        page.reload()
        expect(page.locator(".entry.person", has_text=thing)).to_be_visible(timeout=ANSWER_MS)
        page.evaluate("location.hash = '#/past'")
        page.get_by_label("Search in what was said").fill(thing.split()[1])
        expect(page.locator(".row", has_text=thing).first).to_be_visible(timeout=ANSWER_MS)
        page.get_by_label("Search in what was said").fill("")
        page.get_by_role("button", name="Forget…").click()
        page.get_by_role("button", name="Forget the last exchange").click()
        expect(page.locator(".outcome")).to_contain_text("One exchange is forgotten")
        expect(page.locator(".row", has_text=thing)).to_have_count(0)


def test_the_app_speaks_german_to_a_german_browser(house):
    with opened(house, locale="de-DE") as page:
        connected(page)
        expect(page.get_by_role("link", name="Zuhause")).to_be_visible()
        expect(page.locator("html")).to_have_attribute("lang", "de")


def test_the_owner_sees_how_busy_the_machine_is_and_how_fast_a_model_speaks(house: Running):
    with opened(house, path="house") as page:
        machine = page.locator("section[aria-labelledby=load]")
        processor = machine.get_by_role("img", name=re.compile(r"^Processor, \d+ cores?: \d+% now, between \d+% and"))
        expect(processor).to_be_visible(timeout=ANSWER_MS)
        expect(machine.get_by_role("img", name=re.compile(r"^Memory, of [\d.,]+ GB: "))).to_be_visible()
        speed = machine.get_by_role("img", name=re.compile(r"^Model embedded, tokens."))
        expect(speed).to_be_visible()
        drawn = processor.locator("polyline").get_attribute("points")
        message = [{"role": "user", "content": "Tell me a story about a very old lighthouse."}]
        house.client().chat.completions.create(model="family", messages=message)  # type: ignore[arg-type]
        expect(speed).to_have_attribute("aria-label", re.compile(r"and [1-9][\d.,]* in the last"), timeout=ANSWER_MS)
        expect(processor.locator("polyline")).not_to_have_attribute("points", drawn or "")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_owner_sees_what_is_connected_and_where_somebody_talks(house: Running, scheme: Any):
    with opened(house, path="house", viewport={"width": 390, "height": 844}, color_scheme=scheme) as page:
        present = page.locator("section[aria-labelledby=present]")
        expect(present.get_by_role("listitem")).not_to_have_count(0)
        expect(present).not_to_contain_text("talking")
        browser = page.context.browser
        assert browser
        theirs = browser.new_page(locale="en-GB")
        theirs.goto(f"{house.url}/#token={house.new_token(f'sofa {scheme}', 'adult')}")
        connected(theirs)
        sofa = present.get_by_role("listitem").filter(has_text=f"sofa {scheme}")
        expect(sofa).to_be_visible()
        say(theirs, "Tell me a long story about a very old lighthouse.")
        expect(sofa).to_contain_text("somebody is talking")
        page.evaluate(AXE.read_text(encoding="utf-8"))
        assert not (wrong := violations(page)), wrong
        theirs.close()
        expect(sofa).to_have_count(0)


def test_a_phone_says_in_words_what_comes_under_a_month_of_dots(house: Running, thing: str):
    with opened(house, path="calendar", viewport={"width": 390, "height": 844}) as page:
        page.get_by_role("button", name="New event").click()
        page.get_by_label("What").fill(thing)
        page.get_by_role("button", name="Save").click()
        coming = page.get_by_role("region", name="Coming up")
        event = coming.locator(".event", has_text=re.compile(thing, re.I))
        expect(event).to_contain_text("All day")
        page.set_viewport_size({"width": 1280, "height": 800})
        expect(coming).to_have_count(0)
        page.set_viewport_size({"width": 390, "height": 844})
        event.click()
        page.get_by_role("button", name="Remove").click()
        page.locator(".question", has_text=re.compile(thing, re.I)).get_by_role("button", name="Yes").click()
        expect(event).to_have_count(0, timeout=ANSWER_MS)


def test_the_owner_sees_by_day_how_long_each_part_of_an_answer_took(house: Running):
    with opened(house) as page:
        connected(page)
        say(page, "set a timer for twenty minutes")
        answer(page)
        page.evaluate("location.hash = '#/house/turns'")
        expect(page.locator(".day-bar")).to_have_count(14)
        expect(page.locator(".day-bar [data-share=half]")).to_have_count(1)
        page.get_by_label("What is measured").select_option(label="The whole answer")
        page.get_by_text("Every day in numbers").click()
        expect(page.locator("section[aria-labelledby=days] .row").first).to_contain_text(
            re.compile(r"half within .*s, 95 % within .*s · \d+ answers?")
        )
