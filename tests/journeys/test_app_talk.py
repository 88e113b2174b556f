"""A person opens the app in a real browser, speaks into its microphone, and hears the house."""

from __future__ import annotations

import base64
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from playwright.async_api import async_playwright
from playwright.async_api import expect as expect_async
from playwright.sync_api import Page, expect

from atlas.audio import AudioChunk, silence
from atlas.config import GatewayConfig
from atlas.gateway import app
from tests.gateway.small_house import SmallHouse, small_house
from tests.journeys.browser import ANSWER_MS, CHROMIUM, answer, connected, demand_browser, heard_ms, leave, opened, say
from tests.journeys.conftest import Running, write_wav

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("timers_end")]

# Everything that the house sends as sound, gathered in the page.
GATHER = """
  window.sound = [];
  const Real = WebSocket;
  window.WebSocket = class extends Real {
    constructor(...given) {
      super(...given);
      this.addEventListener("message", ({ data }) => {
        const event = JSON.parse(data);
        if (event.type === "response.output_audio.delta") window.sound.push(event.delta);
      });
    }
  };
"""


@pytest.fixture
def request_wav(spoken: Callable[[str], AudioChunk], tmp_path: Path) -> Callable[[str], Path]:
    """Say a sentence into a WAV, as somebody would who needs a moment to begin and then is silent."""
    return lambda text: write_wav(tmp_path / "microphone.wav", silence(0.6) + spoken(text) + silence(2.0))


def test_a_tap_and_a_spoken_request_is_answered_in_words_and_in_sound_that_says_them(house, request_wav, tmp_path):
    with opened(house, request_wav("set a timer for ten minutes")) as page:
        page.add_init_script(GATHER)
        page.reload()
        connected(page)
        page.locator(".talk").click()
        expect(page.locator(".entry.person .words").last).to_have_text(
            re.compile("timer.*(ten|10) minutes", re.I), timeout=ANSWER_MS
        )
        assert "timer" in answer(page).lower()
        expect(page.locator(".deed .kind").last).to_have_text("Timer")
        connected(page)
        assert heard_ms(page) > 500
        pcm = b"".join(base64.b64decode(delta) for delta in page.evaluate("window.sound"))
    wav = write_wav(tmp_path / "answer.wav", AudioChunk(pcm, rate=24_000))
    with wav.open("rb") as file:
        words = house.client().audio.transcriptions.create(model="whisper-1", file=file).text
    assert re.search("(ten|10) minutes", words.lower()), words


def test_the_words_of_a_long_sentence_are_seen_while_it_is_said(house, request_wav):
    with opened(
        house, request_wav("Please add milk, bread, butter, apples and orange juice to the shopping list.")
    ) as page:
        connected(page)
        page.locator(".talk").click()
        growing = page.locator(".frame[data-state=listening] .entry.person[data-entry=waiting] .words:not(.pending)")
        expect(growing).to_have_text(re.compile("please", re.I), timeout=ANSWER_MS)
        expect(page.locator(".entry.person .words").last).to_have_text(
            re.compile("shopping list", re.I), timeout=ANSWER_MS
        )
        expect(page.locator(".entry.person").filter(has_text="Please add milk")).to_have_count(1)
        expect(page.locator(".entry.person[data-entry=waiting]")).to_have_count(0)
        assert answer(page)


def test_holding_the_button_ends_the_request_when_it_is_let_go(house, request_wav):
    with opened(house, request_wav("what time is it")) as page:
        connected(page)
        page.locator(".talk").hover()
        page.mouse.down()
        expect(page.locator(".frame")).to_have_attribute("data-state", "listening")
        page.wait_for_timeout(2500)  # the fake microphone speaks in real time
        page.mouse.up()
        expect(page.locator(".entry.person .words").last).to_have_text(
            re.compile("what time is it", re.I), timeout=ANSWER_MS
        )
        assert re.search(r"\w", answer(page))


def test_hands_free_the_house_listens_again_after_its_answer(house, request_wav):
    with opened(house, request_wav("what time is it")) as page:
        connected(page)
        page.get_by_role("button", name="Hands-free").click()
        expect(page.locator(".entry.person .words").last).to_have_text(
            re.compile("what time is it", re.I), timeout=ANSWER_MS
        )
        assert re.search(r"\w", answer(page))
        expect(page.locator(".frame")).to_have_attribute("data-state", "listening", timeout=ANSWER_MS)
        page.get_by_role("button", name="Hands-free").click()
        connected(page)


# A microphone that says what the test wants, when the test wants it; and how much was heard of an answer when the house
# said that somebody speaks over it. (A file that Chromium plays cannot wait for an answer.)
SPEAKS_ON_CUE = """
  const context = new AudioContext();
  const microphone = context.createMediaStreamDestination();
  const [track] = microphone.stream.getAudioTracks();
  const settings = track.getSettings();
  track.getSettings = () => ({ ...settings, ...(window.echo ?? { echoCancellation: true }) });
  navigator.mediaDevices.getUserMedia = async () => microphone.stream;
  window.speak = async (wav) => {
    await context.resume();
    const source = context.createBufferSource();
    const bytes = Uint8Array.from(atob(wav), (letter) => letter.charCodeAt(0));
    source.buffer = await context.decodeAudioData(bytes.buffer);
    source.connect(microphone);
    source.start();
  };
  window.heardAtSpeech = [];
  const Line = WebSocket;
  window.WebSocket = class extends Line {
    constructor(...given) {
      super(...given);
      this.addEventListener("message", ({ data }) => {
        if (JSON.parse(data).type !== "input_audio_buffer.speech_started") return;
        window.heardAtSpeech.push(Number(document.documentElement.dataset.heardMs ?? 0));
      });
    }
  };
"""


def test_hands_free_speaking_over_an_answer_silences_it_at_once_and_is_answered(house, request_wav):
    question, interruption = (
        base64.b64encode(request_wav(text).read_bytes()).decode() for text in ("what can i say", "what time is it")
    )
    with opened(house) as page:
        page.add_init_script(SPEAKS_ON_CUE)
        page.reload()
        connected(page)
        page.get_by_role("button", name="Hands-free").click()
        frame = page.locator(".frame")
        expect(frame).to_have_attribute("data-state", "listening")
        page.evaluate("wav => speak(wav)", question)
        expect(frame).to_have_attribute("data-state", "speaking", timeout=ANSWER_MS)
        expect(page.locator(".hint")).to_contain_text("Speak or press to interrupt")
        page.wait_for_function("() => Number(document.documentElement.dataset.heardMs) > 500")
        silenced = page.locator(".entry.house").nth(page.locator(".entry.house").count() - 1)
        page.evaluate("wav => speak(wav)", interruption)
        page.wait_for_function("() => window.heardAtSpeech.length === 2", timeout=ANSWER_MS)
        page.wait_for_timeout(400)
        at_speech = page.evaluate("window.heardAtSpeech[1]")
        assert heard_ms(page) - at_speech < 100  # the answer is much longer
        expect(silenced).to_have_attribute("data-entry", "cut")
        expect(page.locator(".entry.person .words").last).to_have_text(
            re.compile("what time is it", re.I), timeout=ANSWER_MS
        )
        assert re.search(r"\d|o'clock", answer(page))
        expect(frame).to_have_attribute("data-state", "listening", timeout=ANSWER_MS)


@pytest.mark.parametrize(
    ("request_text", "echo"),
    [("what can i say", "{}"), ("clear the shopping list", "{ echoCancellation: true }")],
)
def test_hands_free_nothing_is_heard_over_a_question_or_where_nobody_says_that_echo_is_cancelled(
    house, request_wav, request_text, echo
):
    request, yes = (base64.b64encode(request_wav(text).read_bytes()).decode() for text in (request_text, "yes"))
    with opened(house) as page:
        page.add_init_script(f"window.echo = {echo};" + SPEAKS_ON_CUE)
        page.reload()
        connected(page)
        say(page, "add milk to the shopping list")
        assert "milk" in answer(page).lower()
        connected(page)
        page.get_by_role("button", name="Hands-free").click()
        frame = page.locator(".frame")
        expect(frame).to_have_attribute("data-state", "listening")
        page.evaluate("wav => speak(wav)", request)
        expect(frame).to_have_attribute("data-state", "speaking", timeout=ANSWER_MS)
        page.evaluate("wav => speak(wav)", yes)
        expect(page.locator(".hint")).to_contain_text("Speaking. Press to interrupt")
        expect(frame).to_have_attribute("data-state", "listening", timeout=ANSWER_MS)
        assert page.evaluate("window.heardAtSpeech.length") == 1
        expect(page.locator(".entry.person .words").last).to_have_text(re.compile(request_text, re.I))
        page.get_by_role("button", name="Hands-free").click()
        connected(page)
        say(page, "no")
        answer(page)


HOLDS_SCREEN = """
  window.held = 0;
  WakeLock.prototype.request = async function (...given) {
    if (window.refuses) throw new DOMException("", "NotAllowedError");
    window.held++;
    return { release: async () => void window.held-- };
  };
"""


def test_the_screen_stays_on_hands_free_and_while_an_alarm_rings_and_no_longer(house, tmp_path):
    with opened(house, write_wav(tmp_path / "nobody.wav", silence(2.0))) as page:
        page.add_init_script(HOLDS_SCREEN)
        page.reload()
        connected(page)
        page.get_by_role("button", name="Hands-free").click()
        page.wait_for_function("() => window.held === 1")
        page.get_by_role("button", name="Hands-free").click()
        page.wait_for_function("() => window.held === 0")
        say(page, "set an alarm in one second")
        answer(page)
        stop = page.locator("[data-line=ringing]").get_by_role("button", name="Stop")
        expect(stop).to_be_visible(timeout=ANSWER_MS)
        page.wait_for_function("() => window.held === 1")
        stop.click()
        page.wait_for_function("() => window.held === 0")
        page.evaluate("window.refuses = true")  # a battery that is low
        page.get_by_role("button", name="Hands-free").click()
        expect(page.locator(".frame")).to_have_attribute("data-state", "listening")
        assert page.locator(".controls .trouble").inner_text() == ""


def speaking(page: Page) -> None:
    connected(page)
    say(page, "what can I say")
    expect(page.locator(".frame")).to_have_attribute("data-state", "speaking", timeout=ANSWER_MS)


def test_a_press_while_the_house_speaks_silences_it_and_listens(house):
    with opened(house) as page:
        speaking(page)
        page.locator(".talk").focus()
        page.keyboard.down(" ")
        expect(page.locator(".frame")).to_have_attribute("data-state", "listening")
        at_the_press = heard_ms(page)
        page.wait_for_timeout(400)
        assert heard_ms(page) - at_the_press < 100
        expect(page.locator(".entry.house").last).to_have_attribute("data-entry", "cut")
        page.keyboard.up(" ")


def test_the_next_sentence_that_is_typed_silences_the_answer_and_leaves_its_words_whole(house):
    with opened(house) as page:
        connected(page)
        say(page, "what can I say")
        whole = answer(page)
        speaking(page)
        answers = page.locator(".entry.house")
        count = answers.count()  # with what was said to this house before
        before = answers.nth(count - 1)
        say(page, "what time is it")
        expect(answers).to_have_count(count + 1, timeout=ANSWER_MS)
        now = answer(page)
        assert re.search(r"\d|o'clock", now)
        expect(before).to_have_attribute("data-entry", "done")
        expect(before.locator(".words")).to_have_text(whole)
        page.reload()
        connected(page)
        expect(answers.last.locator(".words")).to_have_text(now, timeout=ANSWER_MS)
        assert answers.locator(".words").all_inner_texts()[-2:] == [whole, now]


# How much of the answer had been heard when somebody pressed, before anything is done about it.
HEARD_AT_PRESS = """
  const press = () => { window.heardAtPress = Number(document.documentElement.dataset.heardMs ?? 0); };
  for (const kind of ["pointerdown", "keydown"]) addEventListener(kind, press, { capture: true });
"""
STOP_MS = 100


@pytest.mark.parametrize("by", ["button", "escape"])
def test_stop_empties_what_is_still_to_be_heard_within_a_tenth_of_a_second(house, by, capsys):
    with opened(house) as page:
        page.add_init_script(HEARD_AT_PRESS)
        page.reload()
        speaking(page)
        if by == "escape":
            page.keyboard.press("Escape")
        else:
            page.get_by_role("button", name="Stop", exact=True).click()
        connected(page)
        after = heard_ms(page)
        page.wait_for_timeout(400)
        assert heard_ms(page) == after
        still_heard = after - page.evaluate("window.heardAtPress")
        with capsys.disabled():
            print(f"\nstop by {by}: {still_heard} ms of the answer were heard after it (budget {STOP_MS})")
        assert still_heard <= STOP_MS
        expect(page.locator(".entry.house").last).to_have_attribute("data-entry", "cut")


def test_the_token_leaves_the_address_and_is_kept_until_it_is_forgotten(house):
    with opened(house) as page:
        connected(page)
        assert "token" not in page.url
        page.reload()
        connected(page)
        page.get_by_role("link", name="More").click()
        leave(page)
        page.get_by_label("Token").fill("atlas_" + "x" * 32)
        with page.expect_response("**/api/me") as refused:
            page.get_by_role("button", name="Come in").click()
        assert refused.value.status == 401
        expect(page.get_by_role("alert").last).to_contain_text("does not know this token")
        page.get_by_label("Token").fill(house.token)
        page.get_by_role("button", name="Come in").click()
        page.get_by_role("link", name="Talk", exact=True).click()
        connected(page)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("NotAllowedError", "not allowed"),
        ("NotFoundError", "no microphone here"),
        ("NotReadableError", "another program"),
    ],
)
def test_without_a_microphone_one_is_told_why_and_can_type(house, name, sentence):
    with opened(house) as page:
        connected(page)
        page.evaluate(
            f"void (navigator.mediaDevices.getUserMedia = async () => {{ throw new DOMException('', '{name}') }})"
        )
        page.locator(".talk").click()
        expect(page.locator(".controls .trouble")).to_contain_text(sentence)
        expect(page.locator(".frame")).to_have_attribute("data-state", "ready")
        say(page, "what time is it")
        assert re.search(r"\w", answer(page))


def test_over_plain_http_speaking_says_what_to_do_and_typing_works(house):
    with opened(house) as page:
        # What a page at http://192.168.… has: neither microphone nor audio worklets.
        page.add_init_script(
            "delete Navigator.prototype.mediaDevices;"
            "Object.defineProperty(BaseAudioContext.prototype, 'audioWorklet', { value: undefined });"
        )
        page.reload()
        connected(page)
        page.locator(".talk").click()
        expect(page.locator(".controls .trouble")).to_contain_text("only to secure pages")
        say(page, "set a timer for ten minutes")
        assert "timer" in answer(page).lower()


def test_a_token_that_is_taken_back_closes_the_app_that_used_it(house):
    with opened(house, token=house.new_token("lost phone")) as page:
        connected(page)
        assert house.atlas("token", "revoke", "lost phone").returncode == 0
        expect(page.get_by_role("alert").first).to_contain_text("does not know this device any more", timeout=ANSWER_MS)
        expect(page.get_by_label("Token")).to_be_visible()


def test_a_change_is_taken_back_by_its_undo(house):
    with opened(house) as page:
        connected(page)
        say(page, "set a timer for twenty minutes")
        answer(page)
        page.get_by_role("button", name="Undo").last.click()
        expect(page.locator(".deed").last).to_contain_text("Taken back", timeout=ANSWER_MS)


def test_a_card_unfolds_to_what_was_called_with_what_and_what_came_of_it(house):
    with opened(house) as page:
        connected(page)
        say(page, "set a timer for twenty minutes")
        answer(page)
        card = page.locator(".deed").last
        expect(card.get_by_text("timers.start")).to_be_hidden()
        card.locator("summary").focus()
        page.keyboard.press("Enter")
        facts = card.locator(".facts")
        expect(facts).to_contain_text("timers.start")
        expect(facts.locator("div", has_text="seconds")).to_contain_text("1200")
        expect(facts.locator("div", has_text="Result")).to_contain_text("20 minutes")


async def test_a_house_that_went_away_is_found_again_and_nothing_typed_is_lost(config, data):
    demand_browser()
    with app.listen(GatewayConfig(port=0)) as probe:
        port = probe.getsockname()[1]
    config = replace(config, gateway=GatewayConfig(https_host="", port=port))
    async with small_house(config, data) as world, async_playwright() as play:
        browser = await play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = await browser.new_page(locale="en-GB")
        frame = page.locator(".frame")
        async with serving(world):
            await page.goto(f"http://127.0.0.1:{port}/#token={world.tokens['owner']}")
            await expect_async(frame).to_have_attribute("data-state", "ready")
        await expect_async(page.locator(".line")).to_contain_text("does not answer")
        await expect_async(frame).to_have_attribute("data-state", "gone")
        await page.locator("#words").fill("set a timer")
        await page.keyboard.press("Enter")
        await expect_async(page.locator(".type .trouble")).to_contain_text("Your words are still here")
        await expect_async(page.locator("#words")).to_have_value("set a timer")
        async with serving(world):
            await expect_async(frame).to_have_attribute("data-state", "ready", timeout=ANSWER_MS)
            await page.keyboard.press("Enter")
            await expect_async(page.locator(".entry.house .words")).to_have_text("Timer set for 10 minutes.")
            await browser.close()


@asynccontextmanager
async def serving(world: SmallHouse) -> AsyncIterator[None]:
    async with anyio.create_task_group() as tasks:
        ready = anyio.Event()
        tasks.start_soon(app.serve, world.house, ready.set)
        await ready.wait()
        yield
        tasks.cancel_scope.cancel()


def everything_can_be_used(page: Page, width: int) -> None:
    """Nothing sticks out, and every button is big enough for a thumb and can be brought into view."""
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for button in page.locator("button:visible").all():
        if not button.is_visible():  # "Undo" and what waits for a yes go by themselves
            continue
        box = button.bounding_box()
        assert box
        assert box["height"] >= 44
        button.scroll_into_view_if_needed()
        button.click(trial=True)  # nothing lies over it


@pytest.mark.parametrize("size", [(360, 640), (320, 256), (1280, 800)], ids=str)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_sticks_out_or_is_covered_on_any_screen(house: Running, size, scheme):
    width, height = size
    with opened(house, viewport={"width": width, "height": height}, color_scheme=scheme) as page:
        connected(page)
        everything_can_be_used(page, width)
        say(page, "set a timer for ten minutes")
        answer(page)
        everything_can_be_used(page, width)
