"""What a person said is theirs on every device of their own, and on nobody else's."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.journeys.browser import ANSWER_MS, answer, connected, opened, say
from tests.journeys.conftest import Running
from tests.journeys.test_app_everywhere import AXE, violations

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("timers_end")]


def exchanges(page: Page, word: str):
    return page.locator(".exchange", has_text=word)


def test_a_persons_conversations_are_on_all_their_devices_and_on_nobody_elses(house: Running) -> None:
    phone, laptop = (
        house.new_token(f"nora {kind}", "adult", "--person", "Nora", "--same-person") for kind in ("phone", "laptop")
    )
    other, shared = house.new_token("oles phone", "adult", "--person", "Ole"), house.new_token("hall screen")
    with opened(house, token=phone) as page:
        connected(page)
        say(page, "set a viridian timer for ten minutes")
        assert "viridian" in answer(page).lower()
    with opened(house, token=laptop, path="past") as page:
        expect(exchanges(page, "viridian")).to_have_count(1, timeout=ANSWER_MS)
        expect(exchanges(page, "viridian")).to_contain_text("nora phone")
        expect(page.get_by_text("What Nora said, on every device of their own.")).to_be_visible()
    for token, whose in ((other, "What Ole said"), (shared, "An owner of the house can say whose it is.")):
        with opened(house, token=token, path="past") as page:
            expect(page.get_by_text(whose)).to_be_visible(timeout=ANSWER_MS)
            expect(page.locator(".loading")).to_have_count(0)
            expect(exchanges(page, "viridian")).to_have_count(0)


def test_an_owner_says_whose_a_device_is_and_its_person_finds_their_words_there(house: Running) -> None:
    mine, new = house.new_token("pias phone", "adult", "--person", "Pia"), house.new_token("new tablet")
    with opened(house, token=mine) as page:
        connected(page)
        say(page, "set a cobalt timer for ten minutes")
        answer(page)
    with opened(house, path="past", stopped="status of 400") as page:
        page.evaluate(AXE.read_text(encoding="utf-8"))
        page.get_by_role("link", name="Say whose it is").click()
        page.get_by_role("button", name="new tablet").click()
        page.get_by_label("Whose is it?").fill("pia")
        same = page.get_by_label("It is the same person: this device may read what they said")
        expect(same).not_to_be_checked()
        assert not (wrong := violations(page)), wrong
        page.get_by_role("dialog").get_by_role("button", name="Save").click()
        expect(page.get_by_text("The house knows somebody of that name")).to_be_visible()
        same.check()
        page.get_by_role("dialog").get_by_role("button", name="Save").click()
        expect(page.get_by_role("button", name="new tablet")).to_contain_text("Pia")
    with opened(house, token=new, path="past") as page:
        expect(exchanges(page, "cobalt")).to_have_count(1, timeout=ANSWER_MS)


def test_an_announcement_says_when_nothing_is_there_that_could_say_it(house: Running) -> None:
    said = house.atlas("announce", "dinner is ready").stdout
    assert said.startswith("Nothing that could say it is connected now.")
    receipt = said.rpartition("[")[2].strip().rstrip("]")
    assert "I won't say it." in house.atlas("announce", "--take-back", receipt).stdout


def test_an_owner_reads_in_the_app_what_was_said_in_the_terminal_and_whose_it_is(house: Running) -> None:
    asked = house.atlas("ask", "set a saffron timer for ten minutes")
    assert asked.returncode == 0, asked.stderr
    other = house.new_token("lous laptop", "owner", "--person", "Lou")
    for token in ("", other):
        with opened(house, token=token, path="past") as page:
            expect(exchanges(page, "saffron")).to_have_count(1, timeout=ANSWER_MS)
            expect(exchanges(page, "saffron")).to_contain_text("terminal")
            expect(page.get_by_text("what was said in the terminal")).to_be_visible()
    with opened(house, token=house.new_token("not an owner"), path="past") as page:
        expect(page.get_by_text("Only what was said through this browser")).to_be_visible(timeout=ANSWER_MS)
        expect(exchanges(page, "saffron")).to_have_count(0)
