/** Turns events of the realtime protocol into what was said and done, as signals that the page shows. */

import { type Signal, signal } from "@preact/signals";
import type { RealtimeEvent } from "../house/link.ts";

const MOST_ENTRIES = 500; // older ones leave the page; the conversations page has them all

export type EntryState = "waiting" | "done" | "cut" | "failed";
type DeedState = "running" | "done" | "asks" | "refused" | "failed";

/** Something that a tool did, or was kept from doing. */
export interface Deed {
  call: string;
  tool: string;
  arguments: Record<string, unknown>;
  state: DeedState;
  sentence: string;
  receipt: string; // what proves the change and can take it back; "" where nothing changed
  undone: boolean;
}

export interface Entry {
  key: string;
  who: "person" | "house";
  at: number; // milliseconds since 1970
  text: Signal<string>;
  state: Signal<EntryState>;
  deeds: Signal<Deed[]>;
}

/** What was said before this page was loaded. */
export type EarlierEntry = Pick<Entry, "key" | "who" | "at"> & { text: string; deeds: Deed[]; state: EntryState };

const READS =
  /\.(list|left|state|time|date|show|read|find|next|where|last|until|now|search|holidays|difference|current|forecast)$/;

/** Whether a tool only looks: what it says, the answer says too. */
export const isLook = (tool: string) => READS.test(tool);

export class Story {
  readonly entries = signal<Entry[]>([]);
  readonly announcement = signal(""); // the last whole answer, for those who listen to a screen reader; "" since the next
  private spoken = new Map<string, Entry>(); // by item: what the person said
  private growing = ""; // the item that is still being said, whose first words are shown
  private answer: Entry | null = null;
  private ringing = ""; // what the next answer is a ring of
  private rings = new Map<string, Entry>(); // by what rings: it is told again and again, and stands here once
  private count = 0;

  clear(): void {
    this.entries.value = [];
    this.spoken.clear();
    this.growing = "";
    this.answer = null;
    this.ringing = "";
    this.rings.clear();
  }

  /** Add what the person typed. */
  typed(text: string): void {
    this.add("person", text, "done");
  }

  /** Add what the house answers to a button. */
  house(text: string): void {
    this.add("house", text, "done");
    this.announcement.value = text;
  }

  /** Put what was said earlier in front of what is there, once. */
  before(earlier: EarlierEntry[]): void {
    const known = new Set(this.entries.value.map(({ key }) => key));
    const missing = earlier
      .filter(({ key }) => !known.has(key))
      .map((one) => {
        const entry = this.entry(one.who, one.text, one.state, one.at, one.key);
        entry.deeds.value = one.deeds;
        return entry;
      });
    if (missing.length) {
      const entries = [...this.entries.value, ...missing].sort((one, other) => one.at - other.at);
      this.entries.value = entries.slice(-MOST_ENTRIES);
    }
  }

  /** The answer was cut off by the person. */
  silenced(): void {
    if (this.answer) this.answer.state.value = "cut";
  }

  /** The line broke: nothing that was open will be finished. */
  lost(): void {
    for (const entry of this.spoken.values()) this.remove(entry);
    this.spoken.clear();
    this.growing = "";
    if (this.answer?.state.value === "waiting") this.answer.state.value = "failed";
    this.answer = null;
  }

  undone(receipt: string): void {
    for (const entry of this.entries.value) {
      if (entry.deeds.value.some((deed) => deed.receipt === receipt)) {
        entry.deeds.value = entry.deeds.value.map((deed) =>
          deed.receipt === receipt ? { ...deed, undone: true } : deed,
        );
      }
    }
  }

  event(event: RealtimeEvent): void {
    switch (event.type) {
      case "input_audio_buffer.committed":
        if (this.growing === event.item_id) this.growing = "";
        else this.spoken.set(event.item_id, this.add("person", "", "waiting"));
        break;
      case "input_audio_buffer.cleared":
        this.dropWords();
        break;
      case "conversation.item.input_audio_transcription.delta":
        if (!this.spoken.has(event.item_id)) this.beginWords(event.item_id);
        this.grow(this.spoken.get(event.item_id), event.delta);
        break;
      case "conversation.item.input_audio_transcription.completed":
        this.completeWords(event.item_id, event.transcript.trim());
        break;
      case "conversation.item.input_audio_transcription.failed":
        this.completeWords(event.item_id, "");
        break;
      case "response.created":
        this.announcement.value = "";
        this.answer = this.beginAnswer();
        break;
      case "atlas.ring":
        this.ringing = event.id;
        break;
      case "atlas.tool_started":
        this.beginDeed(event);
        break;
      case "atlas.tool_finished":
        this.finishDeed(event);
        break;
      case "response.output_audio_transcript.delta":
      case "response.output_text.delta":
        this.grow(this.answer, event.delta);
        break;
      case "response.done":
        this.finishAnswer(event.response.status);
        break;
    }
  }

  /** The first words of an item that is still being said. */
  private beginWords(item: string): void {
    this.dropWords();
    this.growing = item;
    this.spoken.set(item, this.add("person", "", "waiting"));
  }

  /** What was being said was dropped before its end. */
  private dropWords(): void {
    const entry = this.spoken.get(this.growing);
    this.spoken.delete(this.growing);
    this.growing = "";
    if (entry) this.remove(entry);
  }

  private completeWords(item: string, text: string): void {
    const entry = this.spoken.get(item);
    this.spoken.delete(item);
    if (!entry) return;
    if (!text) this.remove(entry);
    entry.text.value = text;
    entry.state.value = "done";
  }

  /** The answer that begins: an entry of its own, or that of the ring before, whose words it puts right. */
  private beginAnswer(): Entry {
    const before = this.rings.get(this.ringing);
    const entry = before && this.entries.value.includes(before) ? before : this.add("house", "", "waiting");
    entry.text.value = "";
    entry.state.value = "waiting";
    if (this.ringing) this.rings.set(this.ringing, entry);
    this.ringing = "";
    return entry;
  }

  private beginDeed({ call_id, name, arguments: given }: RealtimeEvent): void {
    const deed: Deed = {
      call: call_id,
      tool: name,
      arguments: given ?? {},
      state: "running",
      sentence: "",
      receipt: "",
      undone: false,
    };
    if (this.answer) this.answer.deeds.value = [...this.answer.deeds.value, deed];
  }

  private finishDeed({ call_id, ok, text, receipt, error, ask }: RealtimeEvent): void {
    const answer = this.answer;
    if (!answer) return;
    const state: DeedState = ask ? "asks" : ok ? "done" : error === "denied" ? "refused" : "failed";
    const sentence = receipt?.changed ?? text ?? "";
    answer.deeds.value = answer.deeds.value.map((deed) =>
      deed.call === call_id ? { ...deed, state, sentence, receipt: receipt?.id ?? "" } : deed,
    );
  }

  private finishAnswer(status: string): void {
    const answer = this.answer;
    if (!answer) return;
    answer.state.value =
      status === "cancelled" || answer.state.value === "cut" ? "cut" : status === "failed" ? "failed" : "done";
    // A look says nothing that the answer does not say; a change is shown with what proves it.
    answer.deeds.value = answer.deeds.value.filter((deed) => deed.state !== "done" || !isLook(deed.tool));
    if (!answer.text.value && !answer.deeds.value.length) this.remove(answer);
    else if (status !== "cancelled") this.announcement.value = answer.text.value;
  }

  private grow(entry: Entry | null | undefined, more: string): void {
    if (entry) entry.text.value += more;
  }

  private entry(who: Entry["who"], text: string, state: EntryState, at = Date.now(), key = `e${this.count++}`): Entry {
    return { key, who, at, text: signal(text), state: signal(state), deeds: signal<Deed[]>([]) };
  }

  private add(who: Entry["who"], text: string, state: EntryState): Entry {
    const entry = this.entry(who, text, state);
    this.entries.value = [...this.entries.value, entry].slice(-MOST_ENTRIES);
    return entry;
  }

  private remove(entry: Entry): void {
    this.entries.value = this.entries.value.filter((other) => other !== entry);
  }
}
