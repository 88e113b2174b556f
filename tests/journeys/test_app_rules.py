"""An owner narrows what children may, sees what that would have done, saves it, and it holds at once."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.journeys.browser import ANSWER_MS, answer, connected, opened, say
from tests.journeys.conftest import ROOT, Running, house_without_weights, running_house
from tests.journeys.test_app_everywhere import AXE, violations

pytestmark = pytest.mark.real
SAVED_MS = 90_000
SENTENCE = "Children ask before they set a timer."


@pytest.fixture(scope="module")
def own_house() -> Iterator[Running]:
    with running_house() as running:
        yield running


HOUSE = {
    "devices": [
        {"name": "Front door", "kind": "lock", "room": "Hall", "can": ["locked"], "state": {"locked": True}},
        {"name": "Lamp", "kind": "light", "room": "Hall", "can": ["on"], "state": {"on": False}},
        {"name": "Hall window", "kind": "sensor", "shape": "window", "room": "Hall", "state": {"on": True}},
        {"name": "Anna", "kind": "person", "state": {"place": "home"}},
        {"name": "Ben", "kind": "person"},
    ]
}
LOCKED = {  # the button, and why it is not offered
    "en-GB": ("Unlock Front door", "Only who lives here and is old enough may unlock doors and gates."),
    "de-DE": ("Aufschließen Front door", "Türen und Tore darf nur entriegeln, wer hier wohnt und alt genug ist."),
}


@pytest.fixture(scope="module")
def locked_house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("locked")
    (folder / "house.json").write_text(json.dumps(HOUSE))
    settings = (ROOT / "atlas.toml").read_text() + '\n[tools.home.scripted]\nfile = "house.json"\n'
    with house_without_weights(folder, settings) as running:
        yield running


def token_of(house: Running, role: str) -> str:
    return house.new_token(f"the {role}s {uuid4().hex[:6]}", role)


@pytest.mark.parametrize("locale", LOCKED)
def test_what_a_role_may_not_is_not_offered_and_it_is_said_why(locked_house: Running, locale: str) -> None:
    button, because = LOCKED[locale]
    phone = {"width": 390, "height": 844}
    with opened(locked_house, path="home", token=token_of(locked_house, "adult"), locale=locale) as page:
        expect(page.get_by_role("button", name=button)).to_be_visible(timeout=ANSWER_MS)
        expect(page.get_by_text(because)).to_have_count(0)
    token = token_of(locked_house, "child")
    with opened(locked_house, path="home", token=token, locale=locale, viewport=phone) as page:
        expect(page.get_by_text(because)).to_be_visible(timeout=ANSWER_MS)
        expect(page.get_by_role("button", name=button)).to_have_count(0)
        page.get_by_role("switch", name="Lamp").click()
        expect(page.get_by_role("switch", name="Lamp")).to_be_checked(timeout=ANSWER_MS)
        page.evaluate(AXE.read_text(encoding="utf-8"))
        assert not (wrong := violations(page)), wrong
    token = token_of(locked_house, "guest")
    with opened(locked_house, path="lists", token=token, locale=locale, viewport=phone) as page:
        expect(page.locator(".refused").first).to_be_visible(timeout=ANSWER_MS)
        expect(page.locator("main input")).to_have_count(0)


@pytest.mark.parametrize(
    ("locale", "people", "states"),
    [("en-GB", "People", ("At home", "Unknown", "Open")), ("de-DE", "Menschen", ("Zu Hause", "Unbekannt", "Offen"))],
)
def test_people_have_a_place_of_their_own_and_a_window_says_how_it_is(
    locked_house: Running, locale: str, people: str, states: tuple[str, str, str]
) -> None:
    token = token_of(locked_house, "adult")
    with opened(locked_house, path="home", token=token, locale=locale) as page:
        here = page.get_by_role("region", name=people).locator(".device")
        expect(here).to_have_count(2, timeout=ANSWER_MS)
        expect(here.nth(0)).to_contain_text(f"Anna{states[0]}")
        expect(here.nth(1)).to_contain_text(f"Ben{states[1]}")
        expect(page.locator(".device", has_text="Hall window")).to_contain_text(states[2])
        page.evaluate(AXE.read_text(encoding="utf-8"))
        assert not (wrong := violations(page)), wrong
    with opened(locked_house, path="home", token=token_of(locked_house, "guest"), locale=locale) as page:
        expect(page.locator(".device", has_text="Hall window")).to_be_visible(timeout=ANSWER_MS)
        expect(page.get_by_text("Anna")).to_have_count(0)


def test_timers_and_alarms_that_a_rule_refuses_are_seen_and_not_offered(locked_house: Running) -> None:
    rule = {"then": "deny", "because": "Not now.", "roles": ["child"], "tools": ["timers.*", "alarms.*"]}
    with opened(locked_house, path="time") as page:
        api, headers = f"{locked_house.url}/api", {"Authorization": f"Bearer {locked_house.token}"}
        assert page.request.post(f"{api}/timers", headers=headers, data={"seconds": 600, "name": "eggs"}).ok
        assert page.request.post(f"{api}/alarms", headers=headers, data={"when": "every weekday at 6:30"}).ok
        timers, alarms = (page.get_by_role("region", name=name) for name in ("Timers", "Alarms"))
        expect(timers.get_by_role("button", name="Pause: Eggs")).to_be_visible(timeout=ANSWER_MS)
        expect(alarms.get_by_role("switch")).to_be_enabled(timeout=ANSWER_MS)
        saved = page.request.put(
            f"{api}/rules/no-rings", headers=headers, data={**rule, "risks": ["change"]}, timeout=SAVED_MS
        )
        assert saved.ok, saved.text()
    with opened(locked_house, path="time", token=token_of(locked_house, "child")) as page:
        timers, alarms = (page.get_by_role("region", name=name) for name in ("Timers", "Alarms"))
        expect(timers).to_contain_text("Eggs", timeout=ANSWER_MS)
        expect(alarms.get_by_role("switch")).to_be_disabled(timeout=ANSWER_MS)
        for region in (timers, alarms):
            expect(region.locator(".refused")).to_have_text("Not now.", timeout=ANSWER_MS)
            expect(region.get_by_role("button")).to_have_count(0)


def test_what_a_rule_refuses_now_or_of_one_device_is_said_before_anybody_presses(locked_house: Running) -> None:
    always = {"then": "deny", "because": "Not at this hour.", "roles": ["teen"], "hours": ["00:00-24:00"]}
    lamp = {"then": "deny", "because": "The lamp stays as it is.", "roles": ["teen"], "arguments": {"room": ["Hall"]}}
    rules = {"hour": {**always, "tools": ["alarms.*"], "risks": ["change"]}, "lamp": {**lamp, "tools": ["home.turn"]}}
    token = token_of(locked_house, "teen")
    with opened(locked_house, path="home", token=token) as page:
        expect(page.get_by_role("switch", name="Lamp")).to_be_visible(timeout=ANSWER_MS)
        headers = {"Authorization": f"Bearer {locked_house.token}"}
        for name, values in rules.items():
            address = f"{locked_house.url}/api/rules/{name}"
            saved = page.request.put(address, headers=headers, data=values, timeout=SAVED_MS)
            assert saved.ok, saved.text()
        page.reload()
        expect(page.get_by_text("The lamp stays as it is.")).to_be_visible(timeout=ANSWER_MS)
        expect(page.get_by_role("switch", name="Lamp")).to_have_count(0)
        expect(page.get_by_role("button", name="Unlock Front door")).to_be_visible()
        page.evaluate("location.hash = '#/time'")
        alarms = page.get_by_role("region", name="Alarms")
        expect(alarms.locator(".refused")).to_have_text("Not at this hour.", timeout=ANSWER_MS)


def sheet(page: Page) -> Locator:
    return page.get_by_role("dialog")


def test_a_rule_is_seen_on_last_weeks_calls_before_it_is_saved_and_holds_at_once(own_house: Running) -> None:
    token = own_house.new_token("cleos tablet", "child", "--person", "Cleo")
    with opened(own_house, token=token) as child:
        connected(child)
        say(child, "set a timer for ten minutes")
        assert "timer" in answer(child).lower()
    policy = own_house.data / "policy.toml"
    before = policy.read_text()
    with opened(own_house, path="house/rules", viewport={"width": 390, "height": 844}) as page:
        page.evaluate(AXE.read_text(encoding="utf-8"))
        page.get_by_role("button", name="New rule").click()
        form = sheet(page)
        form.get_by_label("What it is about").select_option("starting timers")
        form.get_by_role("checkbox", name="Child").check()
        form.get_by_role("radio", name="It asks first", exact=True).check()
        expect(form.get_by_role("status").first).to_have_text("Starting timers needs a yes first, for children.")
        form.get_by_label("What people are told").fill(SENTENCE)
        form.get_by_text("As it stands in policy.toml").click()
        expect(form.locator("pre")).to_contain_text('tools = ["timers.start"]')
        expect(form.get_by_role("button", name="Save the rule")).to_have_count(0)
        form.get_by_role("button", name="What would it have done?").click()
        expect(form).to_contain_text("1 × done → asked first", timeout=ANSWER_MS)
        expect(form).to_contain_text("Starting timers · Cleo")
        assert not (wrong := violations(page)), wrong
        form.get_by_role("checkbox", name="Owner").check()  # what was seen is not this any more
        expect(form.get_by_role("button", name="Save the rule")).to_have_count(0)
        form.get_by_role("checkbox", name="Owner").uncheck()
        assert policy.read_text() == before
        form.get_by_role("button", name="Save the rule").click()
        expect(form).to_have_count(0, timeout=SAVED_MS)
        expect(page.get_by_role("button", name=f"Change: {SENTENCE}")).to_be_visible()
        own = page.get_by_role("region", name="The house's own rules").get_by_role("listitem").last
        expect(own).to_contain_text("Starting timers needs a yes first, for children.")
    assert 'id = "children-ask-before-they-set-a-timer"' in policy.read_text()
    with opened(own_house, token=token) as child:
        connected(child)
        say(child, "set a timer for five minutes")
        expect(child.locator(".question")).to_be_visible(timeout=ANSWER_MS)
    with opened(own_house, path="house/rules") as page:
        page.get_by_role("button", name=f"Remove: {SENTENCE}").click()
        sheet(page).get_by_role("button", name="What would it have done?").click()
        sheet(page).get_by_role("button", name="Remove the rule").click(timeout=ANSWER_MS)
        expect(page.get_by_role("button", name=f"Change: {SENTENCE}")).to_have_count(0, timeout=SAVED_MS)
    assert policy.read_text() == before


@pytest.mark.parametrize(
    ("locale", "sentence"),
    [
        (
            "en-GB",
            "Unlocking doors and opening gates is refused for children, in the room Hall, said in the room Kitchen,"
            " on Sat, between 21:00 and 07:00.",
        ),
        (
            "de-DE",
            "Türen aufschließen und Tore öffnen ist für Kinder verboten, im Zimmer Hall, gesagt im Zimmer Kitchen,"
            " am Sa, von 21:00 bis 07:00 Uhr.",
        ),
    ],
    ids=["en", "de"],
)
def test_a_rule_is_chosen_by_who_what_when_and_where_and_read_as_a_sentence(
    locked_house: Running, locale: str, sentence: str
) -> None:
    values = {
        **{"then": "deny", "because": "Not at night.", "roles": ["child"], "tools": ["home.unlock"], "days": ["sat"]},
        **{"rooms": ["Kitchen"], "hours": ["21:00-07:00"], "arguments": {"room": ["Hall"]}},
    }
    words = ("When", "Sat", "From", "To") if locale == "en-GB" else ("Wann", "Sa", "Von", "Bis")
    new, unlock, child = ("New rule", "unlocking doors and opening gates", "Child")
    if locale == "de-DE":
        new, unlock, child = ("Neue Regel", "Türen aufschließen und Tore öffnen", "Kind")
    with opened(locked_house, path="house/rules", locale=locale, viewport={"width": 390, "height": 844}) as page:
        api, headers = f"{locked_house.url}/api", {"Authorization": f"Bearer {locked_house.token}"}
        saved = page.request.put(f"{api}/rules/at-night", headers=headers, data=values, timeout=SAVED_MS)
        assert saved.ok, saved.text()
        page.reload()
        expect(page.locator("section[aria-labelledby=own]")).to_contain_text(sentence, timeout=ANSWER_MS)
        page.get_by_role("button", name=new).click()
        form = sheet(page)
        form.locator("select").first.select_option(unlock)
        form.get_by_role("checkbox", name=child, exact=True).check()
        form.get_by_role("checkbox", name=words[1], exact=True).check()
        form.get_by_label(words[2], exact=True).fill("21:00")
        form.get_by_label(words[3], exact=True).fill("07:00")
        form.locator("fieldset").nth(4).get_by_role("checkbox", name="Hall").check()
        told = form.get_by_role("status").first
        expect(told).to_contain_text("21:00")
        expect(told).to_contain_text("Hall")
        page.evaluate(AXE.read_text(encoding="utf-8"))
        assert not (wrong := violations(page)), wrong
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize("locale", ["en-GB", "de-DE"])
@pytest.mark.parametrize("width", [390, 1280], ids=["phone", "desk"])
def test_an_owner_sees_what_a_budget_would_have_done_before_it_is_saved(
    locked_house: Running, width: int, locale: str
) -> None:
    say = {
        "en-GB": ("What a day allows", "Change: Family", "Units a day", "Save the budget", "more than", "cut short"),
        "de-DE": ("Was ein Tag", "Ändern: Familie", "Einheiten am Tag", "Budget speichern", "mehr als", "abgekürzt"),
    }[locale]
    policy = locked_house.data.parent / "policy.toml"
    viewport: Any = {"width": width, "height": 844}
    with opened(locked_house, path="house/rules", locale=locale, viewport=viewport) as page:
        budgets = page.get_by_role("region", name=say[0])
        expect(budgets.get_by_role("listitem")).to_have_count(2, timeout=ANSWER_MS)
        budgets.get_by_role("button", name=say[1]).click()
        form = sheet(page)
        field = form.get_by_label(say[2])
        expect(field).to_have_value(re.compile(r"20000|30000"))
        told = form.get_by_role("status")
        field.fill("1")
        expect(told).to_contain_text(say[4], timeout=ANSWER_MS)
        expect(told).to_contain_text(re.compile(rf"(One day|Ein Tag) .*{say[5]}"))
        field.fill("30000")
        expect(told).to_contain_text(re.compile(rf"(No day|Kein Tag) .*{say[5]}"))
        page.evaluate(AXE.read_text(encoding="utf-8"))
        assert not (wrong := violations(page)), wrong
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        form.get_by_role("button", name=say[3]).click()
        expect(form).to_have_count(0, timeout=SAVED_MS)
        expect(budgets).to_contain_text(re.compile(r"30[,.]000"), timeout=ANSWER_MS)
    budget = {one["id"]: one["units_per_day"] for one in tomllib.loads(policy.read_text())["budget"]}
    assert budget["a-day-of-family"] == 30_000


def test_a_budget_is_added_for_an_agent_and_taken_away_again(locked_house: Running) -> None:
    policy = locked_house.data.parent / "policy.toml"
    before = policy.read_text()
    with opened(locked_house, path="house/rules") as page:
        page.get_by_role("button", name="New budget").click()
        form = sheet(page)
        form.get_by_label("Units a day").fill("5000")
        form.get_by_role("button", name="Save the budget").click()
        expect(form.get_by_role("alert")).to_have_text("Choose for which agent it is.")
        form.get_by_role("checkbox", name="Work").check()
        form.get_by_role("button", name="Save the budget").click()
        expect(form).to_have_count(0, timeout=SAVED_MS)
        row = page.get_by_role("region", name="What a day allows").get_by_role("listitem").filter(has_text="5,000")
        expect(row).to_be_visible(timeout=ANSWER_MS)
        assert "a-day-of-work-2" in policy.read_text()
        row.get_by_role("button", name="Remove: Work").click()
        expect(form).to_contain_text("unless another one does", timeout=ANSWER_MS)
        form.get_by_role("button", name="Remove the budget").click()
        expect(row).to_have_count(0, timeout=SAVED_MS)
    assert policy.read_text() == before


@pytest.mark.parametrize("locale", ["en-GB", "de-DE"])
@pytest.mark.parametrize("width", [390, 1280], ids=["phone", "desk"])
def test_an_owner_says_how_often_and_it_holds_at_once_and_is_taken_back(
    own_house: Running, width: int, locale: str
) -> None:
    title, new, kind, times, length, unit, child, save, row_says, remove, remove_now, refused = {
        "en-GB": (
            *("How often", "New rate", "starting timers", "How often at most", "In how many", "Unit", "Child"),
            *("Save the rate", "is done at most once in 2 hours, for children.", "Remove", "Remove the rate"),
            "may be done once in 2 hours",
        ),
        "de-DE": (
            *("Wie oft", "Neue Häufigkeit", "Timer stellen", "Wie oft höchstens", "In wie vielen", "Einheit", "Kind"),
            *("Häufigkeit speichern", "wird für Kinder höchstens einmal in 2 Stunden getan.", "Entfernen"),
            *("Häufigkeit entfernen", "einmal in 2"),
        ),
    }[locale]
    policy = own_house.data / "policy.toml"
    before = policy.read_text()
    token = token_of(own_house, "child")
    headers = {"Authorization": f"Bearer {token}", "Accept-Language": locale}
    timers = f"{own_house.url}/api/timers"
    with opened(own_house, path="house/rules", locale=locale, viewport={"width": width, "height": 844}) as page:
        rates = page.get_by_role("region", name=title, exact=True)
        rows = rates.get_by_role("listitem")
        expect(rows).to_have_count(3, timeout=ANSWER_MS)
        rates.get_by_role("button", name=new).click()
        form = sheet(page)
        form.locator("select").first.select_option(label=kind)
        form.get_by_label(times).fill("1")
        form.get_by_label(length).fill("2")
        form.get_by_label(unit).select_option("hour")
        form.get_by_role("checkbox", name=child, exact=True).check()
        expect(form.locator(".rule-sentence")).to_contain_text(row_says)
        page.evaluate(AXE.read_text(encoding="utf-8"))
        assert not (wrong := violations(page)), wrong
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        form.get_by_label(length).fill("30")  # more than a day: refused as the file would be
        form.get_by_role("button", name=save).click()
        expect(form.get_by_role("alert").filter(has_text="24")).to_be_in_viewport()
        assert policy.read_text() == before
        form.get_by_label(length).fill("2")
        form.get_by_role("button", name=save).click()
        expect(form).to_have_count(0, timeout=SAVED_MS)
        row = rows.filter(has_text=row_says)
        expect(row).to_be_visible(timeout=ANSWER_MS)
        page.evaluate(AXE.read_text(encoding="utf-8"))
        assert not (wrong := violations(page)), wrong
        [limit] = [one for one in tomllib.loads(policy.read_text())["limit"] if one.get("roles") == ["child"]]
        assert (limit["at_most"], limit["per_seconds"], limit["tools"]) == (1, 7200, ["timers.start"])
        first = page.request.post(timers, headers=headers, data={"seconds": 600})
        assert first.ok, first.text()
        second = page.request.post(timers, headers=headers, data={"seconds": 600})
        assert (second.status, refused in second.json()["error"]["sentence"]) == (403, True), second.text()
        row.get_by_role("button", name=remove).click()
        form.get_by_role("button", name=remove_now).click()
        expect(row).to_have_count(0, timeout=SAVED_MS)
    assert policy.read_text() == before


def test_a_rule_that_is_not_sound_leaves_all_as_it_was_and_says_why(own_house: Running) -> None:
    policy = own_house.data / "policy.toml"
    before = policy.read_text()
    with opened(own_house, path="house/rules", stopped="status of 400") as page:
        page.get_by_role("button", name="New rule").click()
        form = sheet(page)
        form.get_by_label("What people are told").fill("This never speaks.")
        form.get_by_text("As it stands in policy.toml").click()
        form.get_by_label("More tools by their names").fill("no.such.tool")
        form.get_by_role("button", name="What would it have done?").click()
        expect(form.get_by_role("alert")).to_contain_text("nothing fits all that it names", timeout=SAVED_MS)
        expect(form.get_by_role("button", name="Save the rule")).to_have_count(0)
    with opened(own_house, path="house/rules", stopped="status of 400") as page:
        page.get_by_role("button", name="New rule").click()
        form = sheet(page)
        form.locator("select").first.select_option(label="unlocking doors and opening gates")
        form.get_by_role("checkbox", name="Guest", exact=True).check()
        form.get_by_role("button", name="What would it have done?").click()
        refusal = form.get_by_role("alert")
        expect(refusal).to_contain_text(
            "another always decides before it: “Unlocking doors and opening gates is refused for", timeout=SAVED_MS
        )
        assert "role:" not in refusal.inner_text()
    assert policy.read_text() == before
