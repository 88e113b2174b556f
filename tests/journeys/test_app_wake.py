"""The owner says what a room was rightly woken by, and the room goes by the threshold that this proposes."""

from __future__ import annotations

import base64
import json
import re

import pytest
from playwright.sync_api import Page, expect
from websockets.sync.client import connect

from atlas.audio import HEARING_RATE, silence
from atlas.speech.resample import Resampler
from tests.journeys.browser import ANSWER_MS, opened
from tests.journeys.conftest import Running
from tests.journeys.test_app_everywhere import AXE, violations
from tests.scripted_wake import ScriptedWake

pytestmark = [pytest.mark.real, pytest.mark.timeout(300)]
WIRE_RATE = 24_000
WAKE = ScriptedWake("okay nabu")
CALL, TELEVISION = 0.9, 0.5  # how sure the house is of them


@pytest.fixture(scope="module")
def kitchen(own_house: Running) -> str:
    """The token of a room that the house hears."""
    return own_house.new_token("tablet", "satellite", "--room", "Kitchen")


def wakes(house: Running, token: str, loudness: float) -> bool:
    """Tell whether a sound wakes the room."""
    sound = Resampler(HEARING_RATE, WIRE_RATE).feed(silence(0.5) + WAKE.call(loudness=loudness) + silence(2.0))
    url = f"ws://127.0.0.1:{house.port}/v1/realtime?wake=true"
    with connect(url, additional_headers={"Authorization": f"Bearer {token}"}) as line:
        line.send(json.dumps({"type": "input_audio_buffer.append", "audio": base64.b64encode(sound.pcm).decode()}))
        line.send(json.dumps({"type": "input_audio_buffer.clear"}))  # is answered once all of it was heard
        kinds: set[str] = set()
        while "input_audio_buffer.cleared" not in kinds:
            kinds.add(json.loads(line.recv(timeout=30))["type"])
        return "atlas.woken" in kinds


def entries(page: Page):
    return page.get_by_role("group", name=re.compile("^Was that for you"))


def test_what_was_not_for_the_house_wakes_the_room_no_more_once_the_proposal_is_applied(
    own_house: Running, kitchen: str
) -> None:
    with opened(own_house, path="house/wake", viewport={"width": 320, "height": 640}) as page:
        expect(page.get_by_text("Nothing is stored of it now.")).to_be_visible(timeout=ANSWER_MS)
        assert wakes(own_house, kitchen, CALL)
        page.get_by_role("link", name="Settings").last.click()
        page.get_by_label(re.compile("^Store for a day")).check()
        form = page.get_by_role("region", name="Wake words")
        form.get_by_role("button", name="Save").click()
        expect(form.get_by_role("status")).to_contain_text("Saved", timeout=ANSWER_MS)

        for loudness in (CALL, CALL, CALL, TELEVISION, TELEVISION):
            assert wakes(own_house, kitchen, loudness)
        own_house.atlas("wake", "list")
        page.goto(f"{own_house.url}/#/house/wake")
        page.reload()
        room = page.get_by_role("region", name="Kitchen")
        expect(entries(page)).to_have_count(5, timeout=ANSWER_MS)
        assert page.request.put(
            f"{own_house.url}/api/wake/Kitchen/thresholds/okay%20nabu",
            headers={"Authorization": f"Bearer {own_house.token}"},
            data={"threshold": 0.45},
        ).ok
        for place in range(5):
            answer = "Not for me" if place < 2 else "For me"
            entries(page).nth(place).get_by_role("button", name=answer, exact=True).click()
        entries(page).first.get_by_role("button", name=re.compile("^Listen")).click()
        expect(page.locator("audio")).to_be_visible(timeout=ANSWER_MS)
        expect(room).to_contain_text("2 sounds that were not for you would not have woken it and no call would have")
        page.evaluate(AXE.read_text(encoding="utf-8"))
        assert not (wrong := violations(page)), wrong
        assert page.evaluate("document.documentElement.scrollWidth") <= 320

        room.get_by_role("button", name=re.compile("^Set it to 5")).click()
        expect(room).to_contain_text("It is right for all 5 answers.", timeout=ANSWER_MS)
        assert not wakes(own_house, kitchen, TELEVISION)
        assert wakes(own_house, kitchen, CALL)
        assert "all of them are on the right side" in own_house.atlas("wake", "threshold").stdout
        page.reload()
        expect(room).to_contain_text("“okay nabu”, nearly", timeout=ANSWER_MS)
        room.get_by_role("button", name="Reset").click()
        expect(page.locator(".outcome")).to_contain_text("has the threshold of the settings again", timeout=ANSWER_MS)
    assert wakes(own_house, kitchen, TELEVISION)


def test_nobody_but_the_owner_sees_what_woke_a_room(own_house: Running) -> None:
    with opened(own_house, token=own_house.new_token("phone"), path="house/wake") as page:
        expect(page.get_by_role("heading", name="That is not for you in this house.")).to_be_visible(timeout=ANSWER_MS)
        expect(entries(page)).to_have_count(0)
