"""A phone whose app is closed is told that something waits: through the way out, sealed, shown by its own worker."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect, sync_playwright

from tests.journeys.browser import CHROMIUM, answer, connected, demand_browser, leave, opened, say
from tests.journeys.conftest import Running, api, until
from tests.push.receiver import Browser, PushService, push_service

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("timers_end")]
SAVED_MS = 90_000
# Headless Chromium reaches no push service of its maker's; what it would be given by one is given by the test.
SUBSCRIBED = """({ endpoint, keys }) => {
    let subscription = null;
    const given = {
        endpoint,
        toJSON: () => ({ endpoint, keys }),
        unsubscribe: async () => { subscription = null; return true; },
    };
    PushManager.prototype.subscribe = async (options) => {
        if (options.applicationServerKey.length !== 87) throw new TypeError("no key of a house");
        subscription = given;
        return given;
    };
    PushManager.prototype.getSubscription = async () => subscription;
}"""


@contextmanager
def phone(house: Running, token: str) -> Iterator[tuple[BrowserContext, Page]]:
    """A browser that remembers, allows notifications, and is let in."""
    demand_browser()
    with tempfile.TemporaryDirectory() as profile, sync_playwright() as play:
        context = play.chromium.launch_persistent_context(
            profile,
            executable_path=CHROMIUM,
            args=["--no-sandbox"],
            locale="en-GB",
            viewport={"width": 390, "height": 844},
            permissions=["notifications"],
        )
        page = context.pages[0]
        page.goto(f"{house.url}/#token={token}")
        connected(page)
        page.evaluate("async () => { await navigator.serviceWorker.ready; }")
        yield context, page
        context.close()


def came(service: PushService, count: int) -> Any:
    """Wait for as many messages at the push service; return the last."""
    return service.wait(count)[count - 1]


def notifications(context: BrowserContext) -> list[Any]:
    [worker] = context.service_workers
    shown: list[Any] = worker.evaluate(
        "async () => (await registration.getNotifications()).map(({ title, body, data }) => ({ title, body, data }))"
    )
    return shown


def allow(house: Running, service: PushService) -> None:
    """Have the owner allow a push service, in the app."""
    with opened(house, path="house/settings") as page:
        form = page.locator("section[aria-labelledby=form-push]")
        form.get_by_role("textbox").fill(service.place)
        form.get_by_role("button", name="Save").click()
        expect(form.get_by_role("status")).to_contain_text("Saved", timeout=SAVED_MS)


def subscribe(page: Page, browser: Browser, service: PushService) -> None:
    """Ask for it in the app, as its person does."""
    values = browser.subscription(service.endpoint("phone"))
    keys = {"p256dh": values["p256dh"], "auth": values["auth"]}
    page.evaluate(SUBSCRIBED, {"endpoint": values["endpoint"], "keys": keys})
    page.evaluate("location.hash = '#/more'")
    ways = page.locator("section[aria-labelledby=reach]")
    expect(ways).to_contain_text("never what, from whom or for whom")
    expect(ways).to_contain_text("When this app is closed, nothing reaches you")
    ways.get_by_role("button", name="Tell this device").click()
    expect(ways).to_contain_text(f"This device is told through {service.place}")


@pytest.mark.usefixtures("timers_end")
def test_a_closed_app_is_told_of_a_timer_and_a_message_and_opens_where_they_are(house: Running) -> None:
    token = house.new_token("mias phone", "adult", "--person", "Mia", "--same-person")
    browser = Browser()
    with push_service() as service:
        allow(house, service)
        with phone(house, token) as (context, page):
            devtools = context.new_cdp_session(page)
            registrations: list[str] = []
            devtools.on(
                "ServiceWorker.workerRegistrationUpdated",
                lambda event: registrations.extend(one["registrationId"] for one in event["registrations"]),
            )
            devtools.send("ServiceWorker.enable")
            subscribe(page, browser, service)
            page.get_by_role("button", name="Try it").click()
            expect(page.locator("section[aria-labelledby=reach]")).to_contain_text("On its way")
            assert browser.read(came(service, 1).body) == {"page": "talk", "language": "en"}

            api(house, "POST", "/api/timers", {"seconds": 8, "name": "secret soup"}, token)
            page.goto("about:blank")  # the app is closed
            delivery = came(service, 2)
            text = browser.read(delivery.body)
            assert text == {"page": "time", "language": "en"}
            assert not [part for part in (*delivery.headers.values(), str(delivery.body)) if "soup" in part]
            api(house, "POST", "/api/voice-messages", {"text": "The soup is ready", "person": "Mia"})
            assert browser.read(came(service, 3).body) == {"page": "messages", "language": "en"}

            push = {"origin": house.url, "registrationId": registrations[-1], "data": json.dumps(text)}
            page.goto(f"{house.url}/icon.svg")  # of the house, and not the app

            def shown_by_push() -> list[Any]:
                """Deliver it, to a worker that may only just start, and return what is shown."""
                devtools.send("ServiceWorker.deliverPushMessage", push)
                return notifications(context)

            [shown] = until(shown_by_push, 30, "a notification")
            assert shown == {"title": "Atlas", "body": "Something waits for you.", "data": {"page": "time"}}

            page.goto(f"{house.url}/")
            connected(page)
            [worker] = context.service_workers
            worker.evaluate("""async () => {
                const [notification] = await registration.getNotifications();
                dispatchEvent(new NotificationEvent("notificationclick", { notification }));
            }""")
            expect(page.locator(".frame")).to_have_attribute("data-page", "time")
            assert notifications(context) == []

    record = [json.loads(line) for line in (house.data / "egress.jsonl").read_text().splitlines()]
    assert {"opened", "closed"} <= {row["event"] for row in record if row["port"] == service.port}
    house.atlas("token", "revoke", "mias phone")


def test_an_answer_that_nobody_looks_at_is_told_of_without_a_word_of_it(house: Running) -> None:
    with phone(house, house.token) as (context, page):
        page.evaluate("Object.defineProperty(document, 'hidden', { get: () => true })")
        say(page, "what time is it")
        assert answer(page)
        until(lambda: notifications(context), 30, "a notification")
        [shown] = notifications(context)
        assert (shown["title"], shown["body"]) == ("Atlas", "Atlas has answered.")


def test_whoever_leaves_is_told_nothing_more(house: Running) -> None:
    token = house.new_token("toms phone", "adult", "--person", "Tom", "--same-person")
    with push_service() as service:
        allow(house, service)
        with phone(house, token) as (_, page):
            subscribe(page, Browser(), service)
            assert api(house, "GET", "/api/push", token=token)["endpoint"]
            leave(page)
            expect(page.get_by_label("Token")).to_be_visible()
            until(lambda: not api(house, "GET", "/api/push", token=token)["endpoint"], 30, "its end")
    house.atlas("token", "revoke", "toms phone")
