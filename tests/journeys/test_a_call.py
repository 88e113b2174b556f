"""A browser calls the house over WebRTC, as pages for OpenAI's Realtime API do, and hears what it says."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from atlas.audio import AudioChunk, silence
from tests.gateway.test_agents_js import HERE as AGENTS_JS
from tests.journeys.browser import CHROMIUM, MICROPHONE, demand_browser
from tests.journeys.conftest import Running, write_wav
from tests.node_packages import install

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

# What a page does with OpenAI's voice agents: by default they call, and use the microphone by themselves.
TALK = """
async ({ token, transport, seconds }) => {
  const { RealtimeAgent, RealtimeSession } = OpenAIAgentsRealtime;
  const agent = new RealtimeAgent({ name: "helper" });
  const session = new RealtimeSession(agent, transport ? { transport } : {});
  const events = [], errors = [];
  let wanted, arrive, sound = 0;
  const until = (kind) =>
    new Promise((done, late) => {
      [wanted, arrive] = [kind, done];
      setTimeout(() => late(new Error(`no ${kind} after ${events}`)), seconds * 1000);
    });
  session.on("error", ({ error }) => errors.push(JSON.stringify(error)));
  session.on("audio", ({ data }) => (sound += data.byteLength));
  session.on("transport_event", (event) => {
    events.push(event.type);
    if (event.type === wanted) arrive(event);
  });
  const door = transport === "websocket" ? "/v1/realtime" : "/v1/realtime/calls";
  const url = new URL(`${door}?model=family`, location);
  if (transport === "websocket") url.protocol = "ws:";
  await session.connect({ apiKey: token, url: url.href });
  if (transport === "websocket") session.sendMessage("what is seven times eight");
  await until("response.done");
  const words = session.history.at(-1).content[0].transcript;
  if (!transport) {
    await until("output_audio_buffer.stopped");
    const stats = await session.transport.connectionState.peerConnection.getStats();
    sound = [...stats.values()].find(({ type }) => type === "inbound-rtp").totalAudioEnergy;
  }
  session.sendMessage("What can you do?");  // a long answer, whatever the model
  await until(transport ? "response.output_audio.delta" : "output_audio_buffer.started");
  session.interrupt();
  const { response } = await until("response.done");
  session.close();
  return { words, sound, status: response.status, errors };
}
"""


@pytest.mark.parametrize("transport", ["", "websocket"])
def test_a_page_with_the_voice_agents_of_openai_talks_to_the_house(
    house: Running, spoken: Callable[[str], AudioChunk], tmp_path: Path, transport: str
) -> None:
    demand_browser()
    bundle = install(AGENTS_JS) / "@openai/agents-realtime/dist/bundle/openai-realtime-agents.umd.js"
    wav = write_wav(tmp_path / "microphone.wav", silence(2.0) + spoken("what is seven times eight") + silence(3.0))
    secret = house.client().realtime.client_secrets.create(session={"type": "realtime"}).value
    with sync_playwright() as play:
        arguments = ["--no-sandbox", *MICROPHONE, f"--use-file-for-fake-audio-capture={wav}%noloop"]
        browser = play.chromium.launch(executable_path=CHROMIUM, args=arguments)
        page = browser.new_page(bypass_csp=True)  # the house's own page takes no scripts of others
        page.goto(f"http://127.0.0.1:{house.port}/health")
        page.add_script_tag(path=bundle)
        result = page.evaluate(TALK, {"token": secret, "transport": transport, "seconds": 60})
        browser.close()
    assert result["errors"] == []
    assert re.search("56|fifty.six", result["words"].lower()), result["words"]
    assert result["sound"] > 0
    assert result["status"] == "cancelled"


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
