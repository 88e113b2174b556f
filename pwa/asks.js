// What waits for a yes: a card with the question and two buttons, for as long as the house waits.

import { element } from "./view.js";

const LOOK_MS = 5_000; // how late a question of somebody else may appear here

/** @typedef {{id: string, sentence: string, seconds_left: number, own: boolean, agent: string,
 *             asked: {person: string, device: string, room: string}}} Ask */

export class Asks {
  /**
   * @param {HTMLElement} place
   * @param {{said: (text: string) => void, trouble: (text: string) => void, asked: (text: string) => void,
   *          left: () => void}} told `left`: the card that the keyboard was in is gone
   */
  constructor(place, told) {
    this.place = place;
    this.told = told;
    this.token = "";
    /** @type {Map<string, HTMLElement>} */
    this.cards = new Map();
    this.looking = false;
    this.stale = false; // something happened since the look that is under way began
    setInterval(() => document.hidden || this.look(), LOOK_MS);
    document.addEventListener("visibilitychange", () => document.hidden || this.look());
  }

  /** @param {string} token "" when nobody is signed in */
  watch(token) {
    this.token = token;
    void this.look();
  }

  /** Show what waits now, and nothing else: not what a look saw that began before the last answer, or for another. */
  async look() {
    this.stale = true;
    if (this.looking) return;
    this.looking = true;
    try {
      while (this.stale && this.token) {
        this.stale = false;
        const reply = await fetch("/v1/asks", { headers: { Authorization: `Bearer ${this.token}` } });
        const asks = reply.ok ? (await reply.json()).data : null;
        if (asks && !this.stale) this.show(asks);
      }
    } catch {
      // The house does not answer; the line above says so.
    } finally {
      this.looking = false;
    }
  }

  /** @param {Ask[]} asks */
  show(asks) {
    for (const id of this.cards.keys()) if (!asks.some((ask) => ask.id === id)) this.drop(id);
    for (const ask of asks) {
      if (this.cards.has(ask.id)) continue;
      const card = this.card(ask);
      this.cards.set(ask.id, card);
      this.place.append(card);
      this.told.asked(ask.sentence);
      setTimeout(() => this.drop(ask.id), ask.seconds_left * 1000);
    }
    this.place.hidden = !this.cards.size;
  }

  /** @param {string} id */
  drop(id) {
    const card = this.cards.get(id);
    const inside = card?.contains(document.activeElement);
    card?.remove();
    this.cards.delete(id);
    this.place.hidden = !this.cards.size;
    if (inside) this.told.left();
  }

  /** @param {Ask} ask */
  card({ id, sentence, own, agent, asked }) {
    const card = element("div", "ask");
    const from = [asked.person, asked.device, asked.room].filter(Boolean).join(", ") || agent;
    const buttons = element("p", "answers");
    for (const [answer, name, look] of [["no", "No", "plain"], ["yes", "Yes", "solid"]]) {
      const button = /** @type {HTMLButtonElement} */ (element("button", look, name));
      button.type = "button";
      button.setAttribute("aria-label", `${name}: ${sentence}`);
      button.addEventListener("click", () => this.answer(id, answer, card));
      buttons.append(button);
    }
    if (!own) card.append(element("p", "who", `Asked by ${from}`));
    card.append(element("p", "words", sentence), buttons);
    return card;
  }

  /** @param {string} id @param {string} answer @param {HTMLElement} card */
  async answer(id, answer, card) {
    for (const button of card.querySelectorAll("button")) button.setAttribute("aria-disabled", "true");
    if (card.dataset.answered) return;
    card.dataset.answered = answer;
    try {
      const reply = await fetch(`/v1/asks/${encodeURIComponent(id)}`, {
        method: "POST",
        headers: { Authorization: `Bearer ${this.token}`, "Content-Type": "application/json" },
        body: JSON.stringify({ answer }),
      });
      const told = await reply.json();
      if (reply.ok) this.told.said(told.text);
      else this.told.trouble(told.error.message);
    } catch {
      this.told.trouble("The house does not answer, so I can't tell whether that was done.");
    }
    this.drop(id);
    void this.look();
  }
}
