// One conversation: presses and words in, turns out. Knows the realtime protocol; knows nothing of the page's looks.

import { Player } from "./player.js";
import { Microphone } from "./microphone.js";

const HOLD_MS = 350; // a shorter press is a tap
const TAIL_MS = 120; // people let go with their last sound, and 40 ms of it are still on their way
const BACKLOG = 50; // batches of 40 ms kept while the line or the kind of press is not known yet
const PATIENCE_MS = 10_000; // after a tap, this long for the first word
// A press and the end of an answer may cross on the wire: then there is nothing left to cancel or to cut.
const HARMLESS = ["response_cancel_not_active", "item_not_truncatable", "item_in_progress"];
const AUDIO = { type: "audio/pcm", rate: 24000 };

/** @typedef {"connecting" | "ready" | "listening" | "thinking" | "speaking" | "gone"} State */

export class Talk {
  /**
   * @param {import("./link.js").Link | null} link set by whoever opens it
   * @param {{state: (state: State) => void, level: (level: number) => void, trouble: (text: string) => void,
   *          event: (event: import("./link.js").RealtimeEvent) => void,
   *          silenced: () => void, heard: (ms: number) => void}} told
   */
  constructor(link, told) {
    this.link = link;
    this.told = told;
    /** @type {State} */
    this.state = "connecting";
    this.aloud = true;
    /** @type {AudioContext | null} */
    this.context = null;
    /** @type {Promise<void> | null} */
    this.waking = null;
    /** @type {Player | null} */
    this.player = null;
    /** @type {Microphone | null} */
    this.microphone = null;
    this.press = { at: 0, kind: /** @type {"none" | "open" | "hold" | "tap"} */ ("none") };
    /** @type {string[]} */
    this.backlog = [];
    this.patience = 0;
    this.hold = 0;
    this.committing = false; // what was said is on its way; the answer will be asked for when it has arrived
    this.responding = ""; // the response that is being made
    this.speaking = ""; // the item whose sound is playing
    this.dropped = ""; // the response whose late sound nobody wants
  }

  /** @param {State} state */
  become(state) {
    if (state === this.state) return;
    this.state = state;
    if (state !== "listening" && state !== "speaking") this.told.level(0);
    this.told.state(state);
  }

  /** Sound may begin only after a person did something; call this in the handler of what they did. */
  wake() {
    this.context ??= new AudioContext({ latencyHint: "interactive" });
    void this.context.resume();
    this.waking ??= this.load(this.context);
    return this.waking;
  }

  /** @param {AudioContext} context */
  async load(context) {
    await context.audioWorklet.addModule("/player-worklet.js");
    await context.audioWorklet.addModule("/microphone-worklet.js");
    this.player = new Player(context, {
      started: () => {
        if (this.state !== "listening") this.become("speaking");
      },
      playing: (level) => {
        if (this.state === "speaking") this.told.level(level);
        this.told.heard(this.player?.totalMs ?? 0);
      },
      drained: () => this.rest(),
    });
    this.microphone = new Microphone(context, (pcm, level) => this.hear(pcm, level));
  }

  // ── what a person does ──

  /** The button goes down: listen at once, whatever it will turn out to be. */
  async down() {
    if (this.state === "listening") {
      this.stop();
      return;
    }
    this.press = { at: performance.now(), kind: "open" };
    const press = this.press;
    this.backlog = [];
    const waking = this.wake();
    await this.interrupt();
    this.become("listening");
    this.told.trouble("");
    this.hold = setTimeout(() => press === this.press && press.kind === "open" && this.settle("hold"), HOLD_MS);
    try {
      await waking;
      await this.microphone?.start();
    } catch (trouble) {
      if (press === this.press) this.press = { at: 0, kind: "none" };
      clearTimeout(this.hold);
      this.told.trouble(trouble instanceof Error ? trouble.message : String(trouble));
      this.rest();
    }
  }

  /** The button comes up: the end of a hold, or the beginning of a tap. */
  up() {
    if (this.press.kind === "open") this.settle("tap");
    else if (this.press.kind === "hold") {
      const press = this.press;
      setTimeout(() => press === this.press && this.stop(), TAIL_MS);
    }
  }

  /** @param {"hold" | "tap"} kind */
  settle(kind) {
    clearTimeout(this.hold);
    this.press.kind = kind;
    const detection = kind === "tap" ? { type: "server_vad", create_response: true, interrupt_response: true } : null;
    this.session({ input: { format: AUDIO, turn_detection: detection } });
    this.link?.send({ type: "input_audio_buffer.clear" });
    for (const audio of this.backlog.splice(0)) this.append(audio);
    if (kind === "tap") {
      this.patience = setTimeout(() => {
        this.quiet();
        this.nothing();
      }, PATIENCE_MS);
    }
  }

  /** No more will be said. */
  stop() {
    const { kind } = this.press;
    this.quiet();
    if (kind === "hold" || kind === "tap") {
      this.become("thinking");
      this.committing = true;
      this.link?.send({ type: "input_audio_buffer.commit" });
    } else {
      this.rest();
    }
  }

  /** @param {string} text */
  async type(text) {
    this.told.trouble("");
    const waking = this.wake();
    await this.interrupt();
    this.quiet();
    await waking;
    const item = { type: "message", role: "user", content: [{ type: "input_text", text }] };
    if (!this.link?.send({ type: "conversation.item.create", item })) return false;
    this.link.send({ type: "response.create" });
    this.become("thinking");
    return true;
  }

  /** Fall silent now, and tell the house how much was heard. */
  async interrupt() {
    const item = this.speaking;
    this.speaking = "";
    if (this.responding) {
      this.dropped = this.responding;
      this.link?.send({ type: "response.cancel" });
    }
    if (!this.player?.busy) return;
    const heardMs = await this.player.flush();
    this.told.silenced();
    if (item) {
      this.link?.send({ type: "conversation.item.truncate", item_id: item, content_index: 0, audio_end_ms: heardMs });
    }
  }

  /** The microphone is not needed any more. */
  quiet() {
    clearTimeout(this.patience);
    clearTimeout(this.hold);
    this.press = { at: 0, kind: "none" };
    this.backlog = [];
    this.microphone?.stop();
  }

  // ── what the house says ──

  /** The line is open: say what this page wants of it. */
  opened() {
    this.responding = this.speaking = this.dropped = "";
    this.committing = false;
    this.session({ input: { format: AUDIO, turn_detection: null }, output: { format: AUDIO } });
    this.become("ready");
  }

  lost() {
    this.quiet();
    this.responding = this.speaking = "";
    void this.player?.flush();
    this.become("gone");
  }

  /** @param {import("./link.js").RealtimeEvent} event */
  event(event) {
    switch (event.type) {
      case "input_audio_buffer.speech_started":
        clearTimeout(this.patience);
        break;
      case "input_audio_buffer.speech_stopped":
        if (this.press.kind === "tap") {
          this.quiet();
          this.become("thinking");
        }
        break;
      case "input_audio_buffer.committed":
        if (this.committing) this.link?.send({ type: "response.create" });
        this.committing = false;
        break;
      case "conversation.item.input_audio_transcription.completed":
        if (!event.transcript.trim()) this.nothing();
        break;
      case "error":
        this.wrong(event.error);
        break;
      case "response.created":
        this.responding = event.response.id;
        if (this.state !== "listening") this.become("thinking");
        break;
      case "response.output_audio.delta":
        this.play(event);
        break;
      case "response.done":
        this.done(event.response);
        break;
    }
    this.told.event(event);
  }

  /** @param {import("./link.js").RealtimeEvent} event */
  play({ response_id, item_id, delta }) {
    if (!this.aloud || response_id === this.dropped || !this.player) return;
    if (this.speaking !== item_id) {
      this.speaking = item_id;
      this.player.begin();
    }
    this.player.play(Uint8Array.from(atob(delta), (letter) => letter.charCodeAt(0)).buffer);
  }

  /** @param {{id: string, status: string}} response */
  done(response) {
    if (response.id === this.responding) this.responding = "";
    if (response.id === this.dropped || response.status === "cancelled") {
      if (response.id !== this.dropped) void this.interrupt(); // the house heard somebody speak over it
      this.rest();
      return;
    }
    this.player?.end();
    this.rest();
  }

  /** @param {{code: string, message: string}} error */
  wrong({ code, message }) {
    if (code === "input_audio_buffer_commit_empty") this.nothing();
    else if (!HARMLESS.includes(code)) {
      this.told.trouble(message);
      this.rest();
    }
  }

  nothing() {
    this.committing = false;
    if (this.responding) return;
    this.told.trouble("I heard nothing. Hold the button while you speak, or tap it and then speak.");
    this.become("ready");
    this.rest();
  }

  // ── inside ──

  /** @param {ArrayBuffer} pcm @param {number} level */
  hear(pcm, level) {
    if (this.state === "listening") this.told.level(level);
    let letters = "";
    for (const byte of new Uint8Array(pcm)) letters += String.fromCharCode(byte);
    const audio = btoa(letters);
    if (this.press.kind === "open") {
      this.backlog.push(audio);
      if (this.backlog.length > BACKLOG) this.backlog.shift();
    } else if (this.press.kind !== "none") {
      this.append(audio);
    }
  }

  /** @param {string} audio */
  append(audio) {
    this.link?.send({ type: "input_audio_buffer.append", audio });
  }

  /** @param {object} audio */
  session(audio) {
    this.link?.send({ type: "session.update", session: { type: "realtime", audio } });
  }

  /** Nothing is under way: be ready, unless something is. */
  rest() {
    if (!this.link?.ready) this.become("gone");
    else if (this.press.kind !== "none") this.become("listening");
    else if (this.player?.busy) this.become("speaking");
    else this.become(this.responding ? "thinking" : "ready");
  }
}
