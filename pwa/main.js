// The page: which part is shown, what the controls do, and what is said about how things stand.

import { Asks } from "./asks.js";
import { Link } from "./link.js";
import { Story } from "./story.js";
import { Talk } from "./talk.js";
import { check, forget, keep, token } from "./token.js";

/** @param {string} id @returns {any} */
const by = (id) => document.getElementById(id);

const [door, room, controls, talkButton, log] = ["door", "room", "controls", "talk", "log"].map(by);
const HINTS = {
  connecting: ["Connecting…", "Talk"],
  ready: ["Hold to talk, or tap", "Talk"],
  listening: ["Listening…", "Stop listening"],
  thinking: ["Thinking…", "Talk"],
  speaking: ["Speaking. Press to interrupt", "Interrupt and talk"],
  gone: ["The house does not answer. Trying again…", "Talk"],
};

const story = new Story(log, (text) => (by("status").textContent = text));
const asks = new Asks(by("asks"), {
  said: (text) => story.told(text),
  trouble: (text) => (by("trouble").textContent = text),
  asked(text) {
    log.scrollTop = log.scrollHeight; // the card takes room from what was said last
    by("status").textContent = `Waiting for your yes: ${text}`;
  },
  left: () => log.focus(),
});
const talk = new Talk(null, {
  state(state) {
    document.body.dataset.state = state;
    by("hint").textContent = HINTS[state][0];
    by("talk-name").textContent = HINTS[state][1];
    if (state === "listening") by("status").textContent = "Listening";
    if (state === "thinking") by("status").textContent = "Thinking";
    if (state === "listening") navigator.vibrate?.(15);
  },
  level: (level) => talkButton.style.setProperty("--level", Math.min(1, level * 6).toFixed(3)),
  trouble: (text) => (by("trouble").textContent = text),
  event(event) {
    if (event.type === "error") by("trouble").textContent = event.error.message;
    story.event(event);
    if (event.type === "response.done" || (event.type === "atlas.tool_finished" && event.ask)) void asks.look();
  },
  silenced: () => story.silenced(),
  heard: (ms) => (room.dataset.heardMs = String(ms)),
});

/** @param {string} text @param {"connecting" | "open" | "gone"} link */
function line(text, link) {
  by("link").textContent = text;
  by("link").dataset.link = link;
}

/** @param {string} [trouble] */
function askForToken(trouble = "") {
  door.hidden = false;
  room.hidden = controls.hidden = by("leave").hidden = by("sound").hidden = true;
  asks.watch("");
  asks.show([]);
  by("door-trouble").textContent = trouble;
  line("Not signed in", "gone");
  by("token").focus();
}

/** @param {string} value */
function enter(value) {
  door.hidden = true;
  room.hidden = controls.hidden = by("leave").hidden = by("sound").hidden = false;
  line("Connecting…", "connecting");
  asks.watch(value);
  talk.link = new Link(value, {
    event: (event) => talk.event(event),
    open() {
      line("Connected", "open");
      by("trouble").textContent = "";
      talk.opened();
    },
    gone(seconds) {
      line(`No answer; again in ${Math.ceil(seconds)} s`, "gone");
      story.lost();
      talk.lost();
    },
    refused() {
      forget();
      talk.lost();
      askForToken("The house does not know this token any more.");
    },
  });
}

door.addEventListener("submit", async (/** @type {SubmitEvent} */ event) => {
  event.preventDefault();
  const value = by("token").value.trim();
  const answer = await check(value);
  if (answer === "known") {
    keep(value);
    by("token").value = "";
    enter(value);
    by("words").focus();
  } else {
    by("door-trouble").textContent =
      answer === "unknown" ? "The house does not know this token." : "The house does not answer. Is Atlas running?";
  }
});

// Hold, tap, or the same with Space and Enter.
talkButton.addEventListener("pointerdown", (/** @type {PointerEvent} */ event) => {
  if (event.button !== 0) return;
  talkButton.setPointerCapture(event.pointerId);
  void talk.down();
});
for (const name of ["pointerup", "pointercancel"]) talkButton.addEventListener(name, () => talk.up());
talkButton.addEventListener("contextmenu", (/** @type {Event} */ event) => event.preventDefault());
talkButton.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
  if (event.key !== " " && event.key !== "Enter") return;
  event.preventDefault();
  if (!event.repeat) void talk.down();
});
talkButton.addEventListener("keyup", (/** @type {KeyboardEvent} */ event) => {
  if (event.key === " " || event.key === "Enter") talk.up();
});
// A screen reader clicks without a pointer or a key.
talkButton.addEventListener("click", (/** @type {MouseEvent} */ event) => {
  if (event.detail === 0) {
    void talk.down();
    talk.up();
  }
});

/** @param {string} text */
async function say(text) {
  if (!text || !talk.link?.ready) return;
  story.typed(text);
  await talk.type(text);
}
by("type").addEventListener("submit", (/** @type {SubmitEvent} */ event) => {
  event.preventDefault();
  if (!talk.link?.ready) return;
  const text = by("words").value.trim();
  by("words").value = "";
  void say(text);
});
by("ideas").addEventListener("click", (/** @type {Event} */ event) => {
  if (event.target instanceof HTMLButtonElement) void say(event.target.textContent ?? "");
});

by("sound").addEventListener("click", () => {
  talk.aloud = !talk.aloud;
  by("sound").setAttribute("aria-pressed", String(talk.aloud));
  by("sound").textContent = talk.aloud ? "Sound on" : "Sound off";
  if (!talk.aloud) void talk.player?.flush();
});
by("leave").addEventListener("click", () => {
  forget();
  location.reload();
});

const known = token();
if (known) enter(known);
else askForToken();
