// The line to the house: one WebSocket, opened again with growing pauses when it breaks.

import { check } from "./token.js";

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 15_000;
const STEADY_MS = 5_000; // a line that held this long was a good one

/** @typedef {{type: string, [key: string]: any}} RealtimeEvent */

export class Link {
  /**
   * @param {string} token
   * @param {{event: (event: RealtimeEvent) => void, open: () => void,
   *          gone: (seconds: number) => void, refused: () => void}} told
   */
  constructor(token, told) {
    this.token = token;
    this.told = told;
    this.pause = FIRST_PAUSE_MS;
    this.closed = false;
    this.openedAt = 0;
    this.timer = 0;
    /** @type {WebSocket | null} */
    this.socket = null;
    // A phone that wakes up, or finds its Wi-Fi again, need not wait for the pause to end.
    addEventListener("online", () => this.hurry());
    document.addEventListener("visibilitychange", () => document.hidden || this.hurry());
    this.connect();
  }

  get ready() {
    return this.socket?.readyState === WebSocket.OPEN;
  }

  /** @param {RealtimeEvent} event @returns {boolean} whether it was sent */
  send(event) {
    if (!this.ready) return false;
    this.socket?.send(JSON.stringify(event));
    return true;
  }

  close() {
    this.closed = true;
    clearTimeout(this.timer);
    this.socket?.close();
  }

  hurry() {
    if (this.closed || !this.timer) return;
    clearTimeout(this.timer);
    this.pause = FIRST_PAUSE_MS;
    this.connect();
  }

  connect() {
    this.timer = 0;
    const url = new URL("/v1/realtime?model=atlas", location.href);
    url.protocol = url.protocol.replace("http", "ws");
    const socket = new WebSocket(url, ["realtime", `openai-insecure-api-key.${this.token}`]);
    this.socket = socket;
    socket.onmessage = ({ data }) => {
      const event = JSON.parse(data);
      if (event.type === "session.created") {
        this.openedAt = performance.now();
        this.told.open();
      }
      this.told.event(event);
    };
    socket.onclose = () => this.again(socket);
  }

  /** @param {WebSocket} socket */
  async again(socket) {
    if (this.closed || socket !== this.socket) return;
    if (this.openedAt && performance.now() - this.openedAt > STEADY_MS) this.pause = FIRST_PAUSE_MS;
    this.openedAt = 0;
    const pause = this.pause * (0.75 + Math.random() / 2); // phones must not all come back at once
    this.pause = Math.min(LONGEST_PAUSE_MS, this.pause * 2);
    this.timer = setTimeout(() => this.connect(), pause);
    this.told.gone(pause / 1000);
    // A browser does not say why a WebSocket was refused; an ordinary request does.
    if ((await check(this.token)) === "unknown" && !this.closed) {
      this.close();
      this.told.refused();
    }
  }
}
