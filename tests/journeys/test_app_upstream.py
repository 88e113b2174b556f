"""An owner sees in the app what other tool servers offer, and that nothing of it counts before it is approved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.journeys.browser import ANSWER_MS, opened
from tests.journeys.conftest import ROOT, house_without_weights
from tests.journeys.test_app_everywhere import AXE, violations
from tests.tools_server.test_upstream import by_hand, offer

pytestmark = pytest.mark.real


@pytest.mark.parametrize("size", [(390, 844), (1280, 800)], ids=["phone", "desk"])
def test_what_another_server_offers_counts_once_an_owner_has_seen_and_approved_it(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    tools = (offer("echo", "Says it again\u200b."), offer("other"), offer("odd", what={"$ref": "elsewhere"}))
    offering = by_hand(tmp_path, "hand", *tools).replace("[upstream.", "\n[tools.upstream.")
    settings = (ROOT / "atlas.toml").read_text() + offering
    viewport: Any = {"width": size[0], "height": size[1]}
    with house_without_weights(tmp_path, settings) as house, opened(house, path="house", viewport=viewport) as page:
        servers = page.get_by_role("region", name="Other tool servers")
        expect(servers).to_contain_text("hand", timeout=ANSWER_MS)
        expect(servers).to_contain_text("is there")
        expect(servers).to_contain_text("0 tools approved")
        expect(servers).to_contain_text("3 tools wait for approval")
        expect(servers).to_contain_text("echo: nobody has approved it yet")
        expect(servers).to_contain_text("odd: its schema refers to another place")
        expect(servers.get_by_role("button", name="Look at it: odd")).to_have_count(0)
        servers.get_by_role("button", name="Look at it: echo").click()
        sheet = page.get_by_role("dialog")
        expect(sheet.locator("pre")).to_contain_text("Says it again\\u200b.")  # what hides is seen
        page.evaluate(AXE.read_text(encoding="utf-8"))
        assert not (wrong := violations(page)), wrong
        assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
        sheet.get_by_role("button", name="Cancel").click()
        expect(sheet).to_have_count(0)
        servers.get_by_role("button", name="Look at it: other").click()
        sheet.get_by_role("button", name="Approve just this").click()
        expect(sheet).to_have_count(0)
        expect(page.locator(".outcome")).to_contain_text("other of hand is approved.")
        expect(servers).to_contain_text("1 tool approved", timeout=ANSWER_MS)
        expect(servers).to_contain_text("2 tools wait for approval")
        edges = [
            button.bounding_box()
            for button in (
                servers.get_by_role("button", name="Take back: hand.other"),
                servers.get_by_role("button", name="Look at it: echo"),
            )
        ]
        assert len({round(box["x"] + box["width"]) for box in edges if box}) == 1, (
            edges
        )  # one column, as in other cards
        servers.get_by_role("button", name="Take back: hand.other").click()
        expect(sheet).to_contain_text("From then on nobody can use it")
        page.evaluate(AXE.read_text(encoding="utf-8"))
        assert not (wrong := violations(page)), wrong
        assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
        sheet.get_by_role("button", name="Take the approval back").click()
        expect(sheet).to_have_count(0)
        expect(page.locator(".outcome")).to_contain_text("other of hand is no longer approved.")
        expect(servers).to_contain_text("0 tools approved", timeout=ANSWER_MS)
        expect(servers).to_contain_text("other: nobody has approved it yet", timeout=ANSWER_MS)
