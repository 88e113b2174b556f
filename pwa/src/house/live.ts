/** Data of the house that stays as it is there: asked for, and asked for again when it changed. */

import { type Signal, signal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { account } from "./account.ts";
import { HouseTrouble, request } from "./api.ts";
import { copyOf, keepCopy } from "./copies.ts";
import { isFollowing, onChange } from "./events.ts";

const AGAIN_MS = 15_000; // where no event comes: a house without events, what has none
const UNTOLD = "home"; // devices are turned by other hands than the house's, and no event tells of it
const SELDOM_MS = 120_000; // where events come, for papers that people edit by hand: each look is on the house's budget

export class Live<Data> {
  readonly data: Signal<Data | null> = signal(null);
  readonly trouble: Signal<HouseTrouble | null> = signal(null);
  readonly seenAt = signal(0); // when what is shown was seen, where it is of an earlier time; milliseconds since 1970
  private readonly path: string;
  private asking = false;
  private stale = false;
  askedAt = 0;

  constructor(path: string) {
    this.path = path;
  }

  /** Ask again; what is shown stays until the answer is there. */
  async refresh(): Promise<void> {
    this.stale = true;
    if (this.asking) return;
    this.asking = true;
    try {
      while (this.stale) {
        this.stale = false;
        this.askedAt = Date.now();
        const asker = account.value;
        const data = await request<Data>(this.path);
        if (JSON.stringify(data) !== JSON.stringify(this.data.value)) this.data.value = data;
        this.trouble.value = null;
        this.seenAt.value = 0;
        if (account.value === asker) keepCopy(this.path, data); // who left meanwhile leaves nothing behind
      }
    } catch (trouble) {
      if (!(trouble instanceof HouseTrouble)) throw trouble;
      this.trouble.value = trouble;
      const copy = trouble.status === 0 ? copyOf<Data>(this.path) : null;
      if (copy) {
        this.data.value ??= copy.data;
        this.seenAt.value = copy.at;
      }
    } finally {
      this.asking = false;
    }
  }
}

/** Keep `path` live while the component is shown, "" asks for nothing; `kinds` are the changes that concern it. */
export function useLive<Data>(path: string, ...kinds: string[]): Live<Data> {
  const live = useMemo(() => new Live<Data>(path), [path]);
  useEffect(() => {
    if (!path) return;
    const look = () => document.hidden || void live.refresh();
    look();
    const hasEvents = kinds.length > 0 && !kinds.includes(UNTOLD);
    const isTold = () => hasEvents && isFollowing() && !live.trouble.value && Date.now() - live.askedAt < SELDOM_MS;
    const timer = setInterval(() => isTold() || look(), AGAIN_MS);
    document.addEventListener("visibilitychange", look);
    addEventListener("online", look);
    const end = onChange((kind) => (kind === "everything" || kinds.includes(kind)) && look());
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", look);
      removeEventListener("online", look);
      end();
    };
  }, [live]);
  return live;
}
