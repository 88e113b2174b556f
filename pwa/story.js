// Events of the realtime protocol → entries of the conversation, with who answered, how, and how fast.

import { Entry, bar, facts, toolbox } from "./view.js";

/**
 * @typedef {object} Answer
 * @property {Entry} entry
 * @property {{agent?: string, path?: string, reason?: string}} facts
 * @property {{id: string, name: string, arguments: object, ok?: boolean, asks?: boolean, text?: string}[]} tools
 * @property {import("./view.js").Timings} timings
 */

export class Story {
  /**
   * @param {HTMLElement} log
   * @param {(text: string) => void} announce for those who listen to a screen reader
   */
  constructor(log, announce) {
    this.log = log;
    this.announce = announce;
    /** @type {Map<string, Entry>} by item: what the person said */
    this.said = new Map();
    /** @type {Answer | null} */
    this.answer = null;
  }

  /** @param {string} text */
  typed(text) {
    const entry = new Entry(this.log, "you");
    entry.set(text);
    entry.finish();
  }

  /** @param {string} text what the house says to a button */
  told(text) {
    const entry = new Entry(this.log, "house");
    entry.set(text);
    entry.finish();
    this.announce(`Atlas: ${text}`);
  }

  /** The answer was cut off by the person. */
  silenced() {
    this.answer?.entry.finish("cut");
  }

  /** The line broke: nothing that was open will be finished. */
  lost() {
    for (const entry of this.said.values()) entry.remove();
    this.said.clear();
    this.answer?.entry.finish("failed");
    this.answer = null;
  }

  /** @param {import("./link.js").RealtimeEvent} event */
  event(event) {
    switch (event.type) {
      case "input_audio_buffer.committed":
        this.said.set(event.item_id, new Entry(this.log, "you"));
        break;
      case "conversation.item.input_audio_transcription.delta":
        this.said.get(event.item_id)?.add(event.delta);
        break;
      case "conversation.item.input_audio_transcription.completed":
        this.understood(event.item_id, event.transcript.trim());
        break;
      case "conversation.item.input_audio_transcription.failed":
        this.understood(event.item_id, "");
        break;
      case "response.created":
        this.answer = { entry: new Entry(this.log, "house"), facts: {}, tools: [], timings: {} };
        break;
      case "atlas.tool_started":
        this.answer?.tools.push({ id: event.call_id, name: event.name, arguments: event.arguments });
        if (this.answer) this.show(this.answer);
        break;
      case "atlas.tool_finished":
        this.tool(event);
        break;
      case "atlas.turn":
        if (this.answer) this.answer.facts = { agent: event.agent, path: event.path, reason: event.reason };
        break;
      case "atlas.timings":
        if (this.answer) this.answer.timings = event.milliseconds;
        break;
      case "response.output_audio_transcript.delta":
      case "response.output_text.delta":
        this.answer?.entry.add(event.delta);
        break;
      case "response.done":
        this.done(event.response);
        break;
    }
  }

  /** @param {string} item @param {string} text */
  understood(item, text) {
    const entry = this.said.get(item);
    this.said.delete(item);
    entry?.set(text);
    entry?.finish();
    if (!text) entry?.remove();
    else this.announce(`You said: ${text}`);
  }

  /** @param {{call_id: string, ok: boolean, text: string, ask: object | null}} finished */
  tool({ call_id, ok, text, ask }) {
    const tool = this.answer?.tools.find(({ id }) => id === call_id);
    if (!tool || !this.answer) return;
    tool.ok = ok;
    tool.asks = Boolean(ask);
    tool.text = text;
    this.show(this.answer);
  }

  /** @param {{status: string, status_details?: any}} response */
  done(response) {
    if (!this.answer) return;
    const { entry } = this.answer;
    if (response.status === "cancelled") entry.finish("cut");
    else entry.finish(response.status === "failed" ? "failed" : "done");
    if (!entry.text) entry.remove();
    else this.announce(`Atlas: ${entry.text}`);
    this.show(this.answer);
  }

  /** @param {Answer} answer */
  show(answer) {
    const parts = [];
    if (answer.facts.agent || answer.facts.path) parts.push(facts(answer.facts));
    if (answer.tools.length) parts.push(toolbox(answer.tools));
    parts.push(...bar(answer.timings));
    answer.entry.detail(...parts);
  }
}
