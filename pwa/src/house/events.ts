/** What changes in the house, as it changes: one stream, taken up again where it broke. */

import { effect } from "@preact/signals";
import { type Account, account, headersOf } from "./account.ts";

const PAUSE_MS = 2_000;
const LONGEST_PAUSE_MS = 30_000;

let following = false;

/** Tell whether changes are told now, so that nobody has to ask for them. */
export function isFollowing(): boolean {
  return following;
}

type Listener = (kind: string) => void;
const listeners = new Set<Listener>();

/** Be told what kind of thing has changed; "everything" after the stream was away. Returns how to end it. */
export function onChange(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function announceChange(kind: string): void {
  for (const listener of listeners) listener(kind);
}

/** Listen for as long as somebody is signed in. */
export function listen(): void {
  effect(() => {
    const present = account.value;
    if (!present) return;
    const controller = new AbortController();
    void follow(present, controller.signal);
    return () => controller.abort();
  });
}

async function follow(present: Account, signal: AbortSignal): Promise<void> {
  let place = "";
  let pause = PAUSE_MS;
  while (!signal.aborted) {
    try {
      const headers = headersOf(present);
      if (place) headers["Last-Event-ID"] = place;
      const reply = await fetch("/api/events", { headers, signal });
      if (reply.status === 401 || reply.status === 404) return; // not ours any more, or a house without events
      if (reply.ok && reply.body) {
        pause = PAUSE_MS;
        following = true;
        for await (const event of read(reply.body)) {
          place = event.id || place;
          take(event.name, event.data);
        }
      }
    } catch {
      // The house does not answer; the line says so, and here it is tried again.
    }
    following = false;
    await new Promise((done) => setTimeout(done, pause));
    pause = Math.min(LONGEST_PAUSE_MS, pause * 2);
  }
}

function take(name: string, data: string): void {
  if (!data) return;
  const values = JSON.parse(data);
  if (name === "changed") announceChange(String(values.kind));
}

interface StreamEvent {
  name: string;
  data: string;
  id: string;
}

/** Read server-sent events: lines of "field: value", an empty line after each event. */
async function* read(body: ReadableStream<Uint8Array>): AsyncGenerator<StreamEvent> {
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const blocks = (rest + value).split("\n\n");
      rest = blocks.pop() ?? "";
      for (const block of blocks) yield eventOf(block);
    }
  } finally {
    reader.cancel().catch(() => undefined); // it may be over already
  }
}

function eventOf(block: string): StreamEvent {
  const event: StreamEvent = { name: "message", data: "", id: "" };
  for (const line of block.split("\n")) {
    const [, field, value] = /^(\w+): ?(.*)$/.exec(line) ?? [];
    if (field === "event") event.name = value;
    if (field === "data") event.data += value;
    if (field === "id") event.id = value;
  }
  return event;
}
