/** Requests to the house's own doors: JSON in, JSON out, and failures that can be told to a person. */

import { words } from "../strings/index.ts";
import { account, headersOf, shutOut } from "./account.ts";

/** A request failed. `sentence` is the house's own words, or "" when the house did not answer at all. */
export class HouseTrouble extends Error {
  override readonly name = "HouseTrouble"; // in the log, where no other word of it stands
  readonly status: number;
  readonly code: string;
  readonly sentence: string;
  readonly field: string; // which of those that were sent, where it is about one
  readonly details: Record<string, unknown>;

  constructor(status: number, code: string, sentence: string, field = "", details: Record<string, unknown> = {}) {
    super(sentence || "no answer");
    this.status = status;
    this.code = code;
    this.sentence = sentence;
    this.field = field;
    this.details = details;
  }
}

export async function request<Answer>(
  path: string,
  body?: unknown,
  method = body === undefined ? "GET" : "POST",
): Promise<Answer> {
  const reply = await send(path, body, method);
  return (reply.status === 204 ? undefined : await reply.json()) as Answer;
}

export async function requestText(path: string): Promise<string> {
  return (await send(path, undefined, "GET")).text();
}

/** Fetch a sound, to be played by the browser. */
export async function requestSound(path: string): Promise<Blob> {
  return (await send(path, undefined, "GET")).blob();
}

async function send(path: string, body: unknown, method: string): Promise<Response> {
  const sender = account.value;
  const headers = sender ? headersOf(sender) : {};
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let reply: Response;
  try {
    reply = await fetch(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
  } catch {
    throw new HouseTrouble(0, "gone", "");
  }
  if (reply.ok) return reply;
  const trouble = await troubleOf(reply);
  if (reply.status === 401 && account.value === sender) shutOut(); // not who came in meanwhile
  throw trouble;
}

async function troubleOf(reply: Response): Promise<HouseTrouble> {
  try {
    const { error } = await reply.json();
    const sentence = String(error.sentence ?? error.message ?? "");
    const hint = String(error.hint ?? ""); // what to do: "free some disk space"
    const advice = hint && reply.status >= 500 ? ` ${hint.charAt(0).toLocaleUpperCase()}${hint.slice(1)}.` : "";
    const code = String(error.code ?? "");
    return new HouseTrouble(reply.status, code, sentence + advice, String(error.field ?? ""), error.details ?? {});
  } catch {
    return new HouseTrouble(reply.status, "", "");
  }
}

/** What a person is told about a failure: the house's own sentence where it has one. */
export function sentenceOf(trouble: HouseTrouble): string {
  const say = words.value.trouble;
  if (trouble.status === 0) return say.gone;
  const codes: Partial<Record<string, string>> = say.codes; // in the words of this app, not of the house's log
  const known = codes[trouble.code];
  if (known) return known;
  if (trouble.sentence) return trouble.sentence;
  if (trouble.status === 403) return say.denied;
  return trouble.status === 429 || trouble.status === 503 ? say.busy : say.other;
}
