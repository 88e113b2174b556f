"""A browser calls the house over WebRTC, as pages for OpenAI's Realtime API do, and hears what it says."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from atlas.audio import AudioChunk, silence
from tests.journeys.browser import CHROMIUM, MICROPHONE, demand_browser
from tests.journeys.conftest import Running, write_wav

pytestmark = pytest.mark.real

CALL = """
async ({ token, seconds }) => {
  const peer = new RTCPeerConnection();
  const events = [];
  const stream = await navigator.mediaDevices.getUserMedia({ audio: true });
  peer.addTrack(stream.getTracks()[0]);
  const channel = peer.createDataChannel("oai-events");
  const silent = new Promise((done) => {
    channel.onmessage = ({ data }) => {
      const event = JSON.parse(data);
      events.push(event);
      if (event.type === "output_audio_buffer.stopped") setTimeout(done, 1000);
    };
  });
  const recorded = new Promise((done) => {
    peer.ontrack = ({ streams: [remote] }) => {
      const audio = new Audio();
      audio.srcObject = remote;
      audio.play();
      const recorder = new MediaRecorder(remote);
      const parts = [];
      recorder.ondataavailable = ({ data }) => parts.push(data);
      recorder.onstop = async () => {
        const bytes = new Uint8Array(await new Blob(parts).arrayBuffer());
        done(btoa(bytes.reduce((text, byte) => text + String.fromCharCode(byte), "")));
      };
      recorder.start(250);
      Promise.race([silent, new Promise((late) => setTimeout(late, seconds * 1000))]).then(() => recorder.stop());
    };
  });
  await peer.setLocalDescription(await peer.createOffer());
  const answer = await fetch("/v1/realtime/calls?model=family", {
    method: "POST",
    body: peer.localDescription.sdp,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/sdp" },
  });
  if (!answer.ok) throw new Error(await answer.text());
  await peer.setRemoteDescription({ type: "answer", sdp: await answer.text() });
  const sound = await recorded;
  const state = peer.connectionState;
  peer.close();
  return { events, sound, state };
}
"""


def test_a_page_calls_the_house_and_is_answered_in_sound(
    house: Running, spoken: Callable[[str], AudioChunk], tmp_path: Path
) -> None:
    demand_browser()
    wav = write_wav(tmp_path / "microphone.wav", silence(2.0) + spoken("what is seven times eight") + silence(3.0))
    secret = house.client().realtime.client_secrets.create(session={"type": "realtime"}).value
    with sync_playwright() as play:
        arguments = ["--no-sandbox", *MICROPHONE, f"--use-file-for-fake-audio-capture={wav}%noloop"]
        browser = play.chromium.launch(executable_path=CHROMIUM, args=arguments)
        page = browser.new_page()
        page.goto(f"http://127.0.0.1:{house.port}/")
        result = page.evaluate(CALL, {"token": secret, "seconds": 60})
        browser.close()
    assert result["state"] == "connected"
    kinds = [event["type"] for event in result["events"]]
    assert {"output_audio_buffer.started", "response.done"} <= set(kinds), kinds
    assert "response.output_audio.delta" not in kinds
    heard = base64.b64decode(result["sound"])
    words = house.client().audio.transcriptions.create(model="whisper-1", file=("heard.webm", heard)).text
    assert re.search("56|fifty.six", words.lower()), words
