/** One conversation by voice and keys: presses and words in, turns out. Knows the realtime protocol, and no looks. */

import { signal } from "@preact/signals";
import type { Link, RealtimeEvent } from "../house/link.ts";
import { couldAnswerItself, isEchoOf } from "./echo.ts";
import { Microphone, MicrophoneRefused, type MicrophoneTrouble } from "./microphone.ts";
import microphoneWorklet from "./microphone-worklet.ts?worker&url";
import { Player } from "./player.ts";
import playerWorklet from "./player-worklet.ts?worker&url";

const HOLD_MS = 350; // a shorter press is a tap
const TAIL_MS = 120; // people let go with their last sound, and 40 ms of it are still on their way
const BACKLOG = 50; // batches of 40 ms that wait while the line or the kind of press is not known yet
const PATIENCE_MS = 10_000; // after a tap, this long for the first word …
const FREE_PATIENCE_MS = 60_000; // … and hands-free, this long for the next sentence
// A press and the end of an answer may cross on the wire: then there is nothing left to cancel or to cut.
const HARMLESS = ["response_cancel_not_active", "item_not_truncatable", "item_in_progress"];
const BUSY = "conversation_already_has_active_response"; // an announcement is being made; the words wait for its end
// The canceller of a browser needs a moment to know the room: until then the answer would interrupt itself.
const ECHO_SETTLES_MS = 300;
const WHOLE_MS = 5_000; // so long an answer that is still made may take to its end, once the next sentence was typed
const ASKED_MS = 60_000; // so long a question waits for its yes
const AUDIO = { type: "audio/pcm", rate: 24000 };

type TalkState = "connecting" | "ready" | "listening" | "thinking" | "speaking" | "gone";
type TalkTrouble = MicrophoneTrouble | "nothing" | "echo" | { message: string };
type Press = { at: number; kind: "none" | "open" | "hold" | "tap" | "free" };

export class Talk {
  readonly state = signal<TalkState>("connecting");
  readonly level = signal(0);
  readonly trouble = signal<TalkTrouble | null>(null);
  readonly aloud = signal(true);
  readonly handsFree = signal(false);
  readonly hearsOver = signal(false); // hands-free, whether the answer that plays may be spoken over
  player: Player | null = null;
  link: Link | null = null;
  private context: AudioContext | null = null;
  private waking: Promise<void> | null = null;
  private microphone: Microphone | null = null;
  private press: Press = { at: 0, kind: "none" };
  private backlog: string[] = [];
  private patience = 0;
  private hold = 0;
  private committing = false; // what was said is on its way; the answer will be asked for when it has arrived
  private awaiting = false; // an answer was asked for and none has begun, ours or an announcement
  private requested = false; // an answer was asked for since somebody last wanted silence
  private postponed = false; // it could not begin, because another response was under way
  private responding = ""; // the response that is being made
  private speaking = ""; // the item whose sound is playing
  private dropped = ""; // the response whose late sound nobody wants
  private answer = ""; // the words of the answer that is spoken, or was last
  private interrupter = ""; // the utterance that silenced one …
  private answerSilenced = ""; // … and the words of that one
  private askedUntil = 0; // a person's yes may do something; nothing that the house plays may be taken for it
  private hearsItself = false; // this device hears its own voice: it listens between answers only
  private readonly onEvent: (event: RealtimeEvent) => void;
  private readonly silenced: () => void;

  constructor(onEvent: Talk["onEvent"], silenced: () => void) {
    this.onEvent = onEvent;
    this.silenced = silenced;
  }

  private become(state: TalkState): void {
    if (state !== "listening" && state !== "speaking") this.level.value = 0;
    if (state === "listening" && this.state.value !== state) navigator.vibrate?.(15);
    this.state.value = state;
  }

  /** Sound may begin only after a person did something; call this in the handler of what they did. */
  private wake(): Promise<void> {
    this.context ??= new AudioContext({ latencyHint: "interactive" });
    void this.context.resume();
    this.waking ??= this.load(this.context);
    return this.waking;
  }

  private async load(context: AudioContext): Promise<void> {
    if (!context.audioWorklet) return; // over plain http there is none: the house is read, and typed to
    await context.audioWorklet.addModule(playerWorklet);
    await context.audioWorklet.addModule(microphoneWorklet);
    this.player = new Player(context, {
      started: () => this.state.value !== "listening" && this.become("speaking"),
      playing: (level) => {
        if (this.state.value === "speaking") this.level.value = level;
        document.documentElement.dataset.heardMs = String(this.player?.totalMs ?? 0);
      },
      drained: () => this.drained(),
    });
    this.microphone = new Microphone(context, (pcm, level) => this.hear(pcm, level));
  }

  // ── what a person does ──

  /** The button goes down: listen at once, whatever it will turn out to be. */
  async down(): Promise<void> {
    if (this.state.value === "gone" || this.state.value === "connecting") return;
    if (this.press.kind === "free") return this.endHandsFree();
    if (this.state.value === "listening") return this.stopListening();
    await this.listen("open");
  }

  /** The button comes up: the end of a hold, or the beginning of a tap. */
  up(): void {
    if (this.press.kind === "open") this.settle("tap");
    else if (this.press.kind === "hold") {
      const press = this.press;
      setTimeout(() => press === this.press && this.stopListening(), TAIL_MS);
    }
  }

  /** Go on listening after every answer, until the button is pressed. */
  async beginHandsFree(): Promise<void> {
    this.handsFree.value = true;
    await this.listen("free");
  }

  endHandsFree(): void {
    this.handsFree.value = false;
    this.quiet();
    this.forget();
    this.rest();
  }

  private async listen(kind: "open" | "free"): Promise<void> {
    this.press = { at: performance.now(), kind: "open" };
    const press = this.press;
    this.backlog = [];
    const waking = this.wake();
    await this.interrupt();
    if (this.microphone?.live) this.become("listening");
    this.trouble.value = null;
    if (kind === "open") {
      this.hold = setTimeout(() => press === this.press && press.kind === "open" && this.settle("hold"), HOLD_MS);
    }
    try {
      await waking;
      if (!this.microphone) throw new MicrophoneRefused("insecure");
      await this.microphone.start();
      if (press !== this.press) return;
      this.become("listening"); // not before: what is said while a microphone opens is lost
      if (kind === "free") this.settle("free");
      else if (press.kind === "tap") this.waitForWords();
    } catch (trouble) {
      if (press === this.press) this.press = { at: 0, kind: "none" };
      clearTimeout(this.hold);
      this.handsFree.value = false;
      this.trouble.value = trouble instanceof MicrophoneRefused ? trouble.reason : "busy";
      this.rest();
    }
  }

  private settle(kind: "hold" | "tap" | "free"): void {
    clearTimeout(this.hold);
    this.press.kind = kind;
    const detection = { type: "server_vad", create_response: true, interrupt_response: true };
    this.session({ input: { format: AUDIO, turn_detection: kind === "hold" ? null : detection } });
    this.forget();
    for (const audio of this.backlog.splice(0)) this.append(audio);
    if (kind !== "hold") this.waitForWords();
  }

  private waitForWords(): void {
    clearTimeout(this.patience);
    const free = this.press.kind === "free";
    const giveUp = () => {
      if (free) return this.endHandsFree();
      this.quiet();
      this.nothing();
    };
    this.patience = setTimeout(giveUp, free ? FREE_PATIENCE_MS : PATIENCE_MS);
  }

  /** No more will be said. */
  stopListening(): void {
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

  /** Send typed words; return whether they left. */
  async type(text: string): Promise<boolean> {
    this.trouble.value = null;
    const waking = this.wake();
    await this.leaveWhole();
    if (this.press.kind !== "free") {
      this.quiet();
      this.forget();
    }
    await waking.catch(() => undefined); // without sound the answer is read
    this.sayHow();
    const item = { type: "message", role: "user", content: [{ type: "input_text", text }] };
    if (!this.link?.send({ type: "conversation.item.create", item })) return false;
    if (this.responding) this.respondAfter(this.responding);
    else this.respond();
    return true;
  }

  /** Be silent at once, and listen to nothing. */
  async stopAll(): Promise<void> {
    this.handsFree.value = false;
    this.quiet();
    this.forget();
    await this.interrupt();
    this.rest();
  }

  setAloud(aloud: boolean): void {
    this.aloud.value = aloud;
    if (!aloud) void this.player?.flush();
    this.sayHow();
  }

  /** Fall silent, and leave the answer whole: who types reads, and may want what was not spoken yet. */
  private async leaveWhole(): Promise<void> {
    this.requested = this.awaiting = this.postponed = false;
    this.speaking = "";
    if (this.responding) {
      this.dropped = this.responding;
      this.link?.send({ type: "atlas.mute" });
    }
    if (this.player?.busy) await this.player.flush();
  }

  /** Ask for an answer when the one that is made is whole, or has had its time. */
  private respondAfter(response: string): void {
    this.requested = this.postponed = true;
    this.become("thinking");
    const end = () => {
      if (this.postponed && this.responding === response) this.link?.send({ type: "response.cancel" });
    };
    setTimeout(end, WHOLE_MS);
  }

  /** End the answer that is made and fall silent. */
  private async interrupt(): Promise<void> {
    this.requested = this.awaiting = this.postponed = false;
    if (this.responding) this.link?.send({ type: "response.cancel" });
    await this.fallSilent();
  }

  /** Fall silent now, and tell the house how much was heard. */
  private async fallSilent(): Promise<void> {
    const item = this.speaking;
    this.speaking = "";
    if (this.responding) this.dropped = this.responding;
    if (!this.player?.busy) return;
    const heardMs = await this.player.flush();
    this.silenced();
    if (item) {
      this.link?.send({ type: "conversation.item.truncate", item_id: item, content_index: 0, audio_end_ms: heardMs });
    }
  }

  /** What was begun to be said is not meant. */
  private forget(): void {
    this.link?.send({ type: "input_audio_buffer.clear" });
  }

  /** The microphone is not needed any more. */
  private quiet(): void {
    clearTimeout(this.patience);
    clearTimeout(this.hold);
    this.press = { at: 0, kind: "none" };
    this.backlog = [];
    this.microphone?.stop();
  }

  // ── what the house says ──

  /** The line is open: say what this page wants of it. */
  opened(): void {
    this.responding = this.speaking = this.dropped = "";
    this.committing = this.requested = this.awaiting = this.postponed = false;
    const input = { format: AUDIO, turn_detection: null, transcription: { delay: "low" } }; // words while they are said
    this.session({ input, output: { format: AUDIO } });
    this.sayHow();
    this.become("ready");
  }

  lost(): void {
    this.handsFree.value = false;
    this.quiet();
    this.responding = this.speaking = "";
    void this.player?.flush();
    this.become("gone");
  }

  event(event: RealtimeEvent): void {
    switch (event.type) {
      case "input_audio_buffer.speech_started":
        clearTimeout(this.patience);
        if (this.press.kind === "free") this.spokenOver(event.item_id);
        break;
      case "input_audio_buffer.speech_stopped":
        if (this.press.kind === "tap") this.quiet();
        if (this.press.kind === "none" || this.press.kind === "free") this.become("thinking");
        break;
      case "input_audio_buffer.cleared":
        this.rest();
        break;
      case "input_audio_buffer.committed":
        if (this.committing) this.respond();
        this.committing = false;
        break;
      case "conversation.item.input_audio_transcription.completed":
        if (!event.transcript.trim()) this.nothing();
        this.beware(event.item_id, event.transcript);
        break;
      case "error":
        this.wrong(event.error);
        break;
      case "response.created":
        this.responding = event.response.id;
        this.awaiting = false;
        if (!this.player?.busy) this.answer = ""; // else it is still heard
        if (this.state.value !== "listening" || this.press.kind === "free") this.become("thinking");
        break;
      case "response.output_audio.delta":
        this.play(event.response_id, event.item_id, event.delta);
        break;
      case "response.output_audio_transcript.delta":
        this.answer += event.delta;
        break;
      case "atlas.tool_finished":
        if (event.ask) this.askedUntil = performance.now() + ASKED_MS;
        break;
      case "response.done":
        this.done(event.response);
        break;
    }
    this.onEvent(event);
  }

  /** Somebody speaks, and the house listens to them: the answer is over, here at once. */
  private spokenOver(item: string): void {
    if (this.player?.busy || this.responding) {
      this.interrupter = item;
      this.answerSilenced = this.answer;
    }
    void this.fallSilent();
    this.become("listening");
  }

  /** Where it was the answer itself that was heard over the answer, listen between answers only from now on. */
  private beware(item: string, heard: string): void {
    if (!item || item !== this.interrupter) return;
    this.interrupter = "";
    if (!isEchoOf(heard, this.answerSilenced)) return;
    this.hearsItself = true;
    this.trouble.value = "echo";
  }

  private play(response: string, item: string, delta: string): void {
    if (!this.aloud.value || response === this.dropped || !this.player) return;
    if (this.speaking !== item) {
      this.speaking = item;
      this.player.begin();
    }
    this.player.play(Uint8Array.from(atob(delta), (letter) => letter.charCodeAt(0)).buffer);
  }

  private done(response: { id: string; status: string }): void {
    if (response.id === this.responding) this.responding = "";
    if (this.postponed) this.respond();
    if (response.id === this.dropped || response.status === "cancelled") {
      if (response.id !== this.dropped) void this.interrupt(); // the house heard somebody speak over it
    } else {
      this.player?.end();
    }
    this.rest();
  }

  private drained(): void {
    this.rest();
    if (this.press.kind === "free") this.waitForWords();
  }

  private wrong({ code, message }: { code: string; message: string }): void {
    if (code === "input_audio_buffer_commit_empty") this.nothing();
    else if (code === BUSY && this.requested) {
      this.postponed = true;
      if (!this.responding) this.respond();
    } else if (!HARMLESS.includes(code)) {
      this.awaiting = false;
      this.trouble.value = { message };
      this.rest();
    }
  }

  private nothing(): void {
    this.committing = false;
    if (this.responding) return;
    if (this.press.kind !== "free") this.trouble.value = "nothing";
    this.rest();
  }

  // ── inside ──

  private respond(): void {
    this.postponed = false;
    this.requested = this.awaiting = true;
    this.link?.send({ type: "response.create" });
    this.become("thinking");
  }

  private hear(pcm: ArrayBuffer, level: number): void {
    if (this.state.value === "listening") this.level.value = level;
    this.hearsOver.value = this.press.kind === "free" && this.hearsOthers;
    if (this.press.kind === "free" && this.player?.busy && !this.hearsOver.value) return;
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

  /** Whether what is heard while the answer plays is somebody else. */
  private get hearsOthers(): boolean {
    const settled = (this.player?.playedMs ?? 0) >= ECHO_SETTLES_MS;
    const mayBeAnswered = performance.now() < this.askedUntil || couldAnswerItself(this.answer);
    return settled && !mayBeAnswered && !this.hearsItself && (this.microphone?.cancelsEcho ?? false);
  }

  private append(audio: string): void {
    this.link?.send({ type: "input_audio_buffer.append", audio });
  }

  private session(audio: object): void {
    this.link?.send({ type: "session.update", session: { type: "realtime", audio } });
  }

  /** Answers are spoken where they can be heard, else written. */
  private sayHow(): void {
    const spoken = this.aloud.value && (this.player !== null || this.context === null);
    const session = { type: "realtime", output_modalities: [spoken ? "audio" : "text"] };
    this.link?.send({ type: "session.update", session });
  }

  /** Nothing is under way: be ready, unless something is. */
  private rest(): void {
    if (!this.link?.ready) this.become("gone");
    else if (this.player?.busy) this.become("speaking");
    else if (this.responding || this.awaiting || this.committing) this.become("thinking");
    else this.become(this.press.kind === "none" ? "ready" : "listening");
  }
}
