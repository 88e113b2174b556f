// What is seen of the conversation. Text goes in as text, never as markup.

const KEPT = 60; // entries; older ones leave the page
// From the end of the words to the first sound, as the house's clock has it: each stage ends at its mark.
const STAGES = [
  ["wait", "pause", "vad_ms", "how long the house waited to be sure that you had finished"],
  ["hear", "understanding", "words_at_ms", "until it had your words as text"],
  ["think", "thinking", "first_text_at_ms", "until it had the first words of the answer"],
  ["speak", "voice", "first_sound_at_ms", "until it had their sound"],
];

/** @typedef {{vad_ms?: number, words_at_ms?: number, first_text_at_ms?: number, first_sound_at_ms?: number}} Timings */

/**
 * @param {string} tag
 * @param {string} [name] its class
 * @param {string} [text]
 */
export function element(tag, name = "", text = "") {
  const made = document.createElement(tag);
  if (name) made.className = name;
  if (text) made.textContent = text;
  return made;
}

/** One entry of the conversation, growing while it is said. */
export class Entry {
  /** @param {HTMLElement} log @param {"you" | "house"} who */
  constructor(log, who) {
    this.log = log;
    this.text = "";
    this.item = element("li", `${who} waiting`);
    this.item.setAttribute("aria-busy", "true");
    this.words = element("p", "words");
    this.item.append(element("p", "who", who === "you" ? "You" : "Atlas"), this.words);
    this.drawing = false;
    log.append(this.item);
    while (log.children.length > KEPT) log.firstElementChild?.remove();
    this.follow(true);
  }

  /** @param {string} more */
  add(more) {
    this.set(this.text + more);
  }

  /** @param {string} text */
  set(text) {
    this.text = text;
    if (this.drawing) return;
    this.drawing = true; // once a frame is enough
    requestAnimationFrame(() => {
      this.drawing = false;
      const below = this.atEnd();
      this.words.textContent = this.text;
      this.follow(below);
    });
  }

  /** @param {"done" | "cut" | "failed"} [how] */
  finish(how = "done") {
    this.item.classList.remove("waiting");
    this.item.classList.toggle("cut", how === "cut");
    this.item.classList.toggle("failed", how === "failed");
    this.item.removeAttribute("aria-busy");
  }

  remove() {
    this.item.remove();
  }

  /** @param {...HTMLElement} parts what is known about this entry, below its words */
  detail(...parts) {
    const below = this.atEnd();
    for (const old of this.item.querySelectorAll(".facts, .tools, .timings")) old.remove();
    this.item.append(...parts);
    this.follow(below);
  }

  atEnd() {
    return this.log.scrollHeight - this.log.scrollTop - this.log.clientHeight < 80;
  }

  /** @param {boolean} below whether the reader was at the end; who reads further up is left there */
  follow(below) {
    if (below) this.log.scrollTop = this.log.scrollHeight;
  }
}

/** @param {{agent?: string, path?: string, reason?: string}} turn */
export function facts({ agent, path, reason }) {
  const list = element("p", "facts");
  if (agent) list.append(element("span", "chip", agent));
  if (path) list.append(element("span", "chip", path === "command" ? "by command, no model" : "by the model"));
  if (reason) list.title = reason;
  return list;
}

/** @param {{name: string, arguments: object, ok?: boolean, asks?: boolean, text?: string}[]} tools */
export function toolbox(tools) {
  const box = element("details", "tools");
  const asks = tools.some((tool) => tool.asks);
  const failed = tools.some((tool) => tool.ok === false && !tool.asks);
  const names = tools.map((tool) => tool.name).join(", ");
  box.append(element("summary", failed ? "bad" : "", `${failed ? "Tool failed" : asks ? "Asks first" : "Used"}: ${names}`));
  for (const tool of tools) {
    box.append(element("code", "", `${tool.name} ${JSON.stringify(tool.arguments)}\n→ ${tool.text ?? "…"}`));
  }
  return box;
}

/**
 * The way from the end of the words to the first sound, as a bar.
 * @param {Timings} timings
 * @returns {HTMLElement[]} nothing when nothing was timed
 */
export function bar(timings) {
  const picture = element("div", "bar");
  const legend = element("div", "legend");
  picture.setAttribute("aria-hidden", "true"); // the legend says the same in words
  let until = 0;
  for (const [key, name, mark, meaning] of STAGES) {
    const at = timings[/** @type {keyof Timings} */ (mark)];
    if (at === undefined || at < until || (key === "wait" && !at)) continue;
    const part = element("span", key);
    part.style.setProperty("--part", String(Math.max(1, at - until)));
    part.title = meaning;
    picture.append(part);
    legend.append(element("span", key, `${name} ${spell(at - until)}`));
    until = at;
  }
  if (!picture.children.length) return [];
  legend.append(element("b", "", `${spell(until)} in all`));
  const both = element("div", "timings");
  both.append(picture, legend);
  return [both];
}

/** @param {number} ms */
function spell(ms) {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}
