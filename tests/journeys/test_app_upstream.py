"""An owner sees in the app what other tool servers offer, and that nothing of it counts before it is approved."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.journeys.browser import ANSWER_MS, opened
from tests.journeys.conftest import running_house
from tests.tools_server.test_upstream import by_hand, offer

pytestmark = pytest.mark.real


def test_what_another_server_offers_waits_in_sight_until_a_person_has_approved_it(tmp_path: Path) -> None:
    settings = by_hand(tmp_path, "hand", offer("echo"), offer("other")).replace("[upstream.", "\n[tools.upstream.")
    with running_house(settings) as house, opened(house, path="house") as page:
        servers = page.get_by_role("region", name="Other tool servers")
        expect(servers).to_contain_text("hand", timeout=ANSWER_MS)
        expect(servers).to_contain_text("is there")
        expect(servers).to_contain_text("0 tools approved")
        expect(servers).to_contain_text("2 tools wait for approval")
        expect(servers).to_contain_text("echo: nobody has approved it yet")
        expect(servers).to_contain_text("atlas-tools upstream approve hand")
