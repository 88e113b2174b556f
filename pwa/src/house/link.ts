/** The line to the house: one WebSocket, opened again with growing pauses when it breaks. */

import { type Account, whoHolds } from "./account.ts";

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 15_000;
const STEADY_MS = 5_000; // a line that held this long was a good one

// biome-ignore lint/suspicious/noExplicitAny: events are OpenAI's, each with fields of its own
export type RealtimeEvent = { type: string; [key: string]: any };

interface LinkOwner {
  event: (event: RealtimeEvent) => void;
  open: () => void;
  gone: () => void;
  refused: () => void;
}

export class Link {
  private pause = FIRST_PAUSE_MS;
  private closed = false;
  private openedAt = 0;
  private timer = 0;
  private socket: WebSocket | null = null;
  private readonly account: Account;
  private readonly model: string; // an agent's name, or "atlas" for whom the house chooses
  private readonly owner: LinkOwner;
  private readonly hurry = () => this.again();
  private readonly seen = () => document.hidden || this.again();

  constructor(account: Account, model: string, owner: LinkOwner) {
    this.account = account;
    this.model = model;
    this.owner = owner;
    // A phone that wakes up, or finds its Wi-Fi again, need not wait for the pause to end.
    addEventListener("online", this.hurry);
    document.addEventListener("visibilitychange", this.seen);
    this.connect();
  }

  get ready(): boolean {
    return this.socket?.readyState === WebSocket.OPEN;
  }

  /** Return whether it was sent. */
  send(event: RealtimeEvent): boolean {
    if (!this.ready) return false;
    this.socket?.send(JSON.stringify(event));
    return true;
  }

  close(): void {
    this.closed = true;
    clearTimeout(this.timer);
    removeEventListener("online", this.hurry);
    document.removeEventListener("visibilitychange", this.seen);
    this.socket?.close();
  }

  /** Try now, where a pause is waited for. */
  again(): void {
    if (this.closed || !this.timer) return;
    clearTimeout(this.timer);
    this.pause = FIRST_PAUSE_MS;
    this.connect();
  }

  private connect(): void {
    this.timer = 0;
    const url = new URL(`/v1/realtime?model=${encodeURIComponent(this.model)}`, location.href);
    url.protocol = url.protocol.replace("http", "ws");
    const { token } = this.account;
    const socket = new WebSocket(url, ["realtime", ...(token ? [`openai-insecure-api-key.${token}`] : [])]);
    this.socket = socket;
    socket.onmessage = ({ data }) => {
      const event: RealtimeEvent = JSON.parse(data);
      if (event.type === "session.created") {
        this.openedAt = performance.now();
        this.owner.open();
      }
      this.owner.event(event);
    };
    socket.onclose = () => void this.lost(socket);
  }

  private async lost(socket: WebSocket): Promise<void> {
    if (this.closed || socket !== this.socket) return;
    if (this.openedAt && performance.now() - this.openedAt > STEADY_MS) this.pause = FIRST_PAUSE_MS;
    this.openedAt = 0;
    const pause = this.pause * (0.75 + Math.random() / 2); // phones must not all come back at once
    this.pause = Math.min(LONGEST_PAUSE_MS, this.pause * 2);
    this.timer = setTimeout(() => this.connect(), pause);
    this.owner.gone();
    // A browser does not say why a WebSocket was refused; an ordinary request does.
    if ((await whoHolds(this.account.token)).why === "unknown" && !this.closed) {
      this.close();
      this.owner.refused();
    }
  }
}
