/** What was said and done before this page was loaded, as the story shows it. */

import type { ChangeItem, HistoryReply, SaidTurn } from "../api.ts";
import { type Deed, type EarlierEntry, type EntryState, isLook } from "../talk/story.ts";
import { agentQuery } from "./agent.ts";
import { request } from "./api.ts";

const ENDS: Record<string, EntryState> = { cancelled: "cut", interrupted: "cut", failed: "failed" };

/** The changes that can be taken back, or were: receipts that are none of these are too old for that. */
export async function changes(): Promise<ChangeItem[]> {
  return (await request<HistoryReply>(`/api/history?limit=20${agentQuery("&")}`)).changes;
}

export function deedsOf(turn: SaidTurn, known: ChangeItem[] = []): Deed[] {
  return turn.deeds
    .filter(({ state, tool }) => state !== "done" || !isLook(tool))
    .map((deed) => {
      const change = known.find(({ receipt }) => receipt === deed.receipt);
      const receipt = change?.undo || change?.undone ? deed.receipt : "";
      return { ...deed, state: deed.state === "asks" ? "done" : deed.state, receipt, undone: change?.undone ?? false };
    });
}

export function entriesOf(turn: SaidTurn, known: ChangeItem[]): EarlierEntry[] {
  const deeds = deedsOf(turn, known);
  const last = turn.messages.findLastIndex(({ author }) => author !== "user");
  return turn.messages.flatMap(({ author, text }, place) => {
    const deedsHere = place === last ? deeds : [];
    const who = author === "user" ? "person" : "house";
    const state = place === last ? (ENDS[turn.end] ?? "done") : "done";
    return text || deedsHere.length
      ? [{ key: `${turn.turn}-${place}`, who, text, at: turn.at * 1000, deeds: deedsHere, state }]
      : [];
  });
}
