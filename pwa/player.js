// The voice of the house: sound in as it comes, and how much of it has really been heard.

export class Player {
  /**
   * @param {AudioContext} context whose worklets are loaded
   * @param {{started: () => void, playing: (level: number) => void, drained: () => void}} told
   */
  constructor(context, told) {
    this.told = told;
    this.playedMs = 0;
    this.totalMs = 0; // of all replies since the page was opened
    this.receivedMs = 0; // of this reply
    this.busy = false;
    /** @type {((ms: number) => void) | null} */
    this.flushed = null;
    this.node = new AudioWorkletNode(context, "atlas-player", { numberOfInputs: 0, outputChannelCount: [1] });
    this.node.connect(context.destination);
    this.node.port.onmessage = ({ data }) => this.hear(data);
  }

  /** A new reply; what is left of another is dropped. */
  begin() {
    this.busy = true;
    this.playedMs = this.receivedMs = 0;
    this.node.port.postMessage({ do: "begin" });
  }

  /** @param {ArrayBuffer} pcm 24 kHz, 16 bits, mono */
  play(pcm) {
    this.receivedMs += pcm.byteLength / 48;
    this.node.port.postMessage({ do: "play", pcm }, [pcm]);
  }

  /** No more of this reply will come. */
  end() {
    this.node.port.postMessage({ do: "end" });
  }

  /**
   * Fall silent.
   * @returns {Promise<number>} how many milliseconds of this reply were heard
   */
  flush() {
    this.flushed?.(this.playedMs);
    return new Promise((done) => {
      this.flushed = done;
      this.node.port.postMessage({ do: "flush" });
    });
  }

  /** @param {{what: string, playedMs: number, level: number}} report */
  hear({ what, playedMs, level }) {
    playedMs = Math.min(playedMs, Math.floor(this.receivedMs)); // the filter's tail is nobody's words
    this.totalMs += playedMs - this.playedMs;
    this.playedMs = playedMs;
    if (what === "started") this.told.started();
    if (what === "flushed" || what === "drained") this.busy = false;
    if (what === "flushed") {
      this.flushed?.(playedMs);
      this.flushed = null;
    }
    this.told.playing(this.busy ? level : 0);
    if (what === "drained") this.told.drained();
  }
}
