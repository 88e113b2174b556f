/** In the audio thread: a queue of 24 kHz sound, played without gaps, emptied within a few milliseconds. */

import type { PlayerCommand, PlayerReport } from "./player.ts";
import { Resampler } from "./resampler.ts";

const RATE = 24000;
const CUSHION_SECONDS = 0.1; // what a Wi-Fi hiccup may eat before it is heard
const FADE_SECONDS = 0.006; // shorter clicks
const REPORT_SECONDS = 0.05;

class PlayerWorklet extends AudioWorkletProcessor {
  private queue: Float32Array[] = [];
  private offset = 0; // into the first of the queue
  private queued = 0; // samples, at this device's rate
  private played = 0; // since `begin`
  private reported = 0;
  private ended = true; // no more will come
  private running = false; // the cushion is full
  private gain = 1;
  private fading = false;
  private level = 0;
  private readonly resampler = new Resampler(RATE, sampleRate);

  constructor() {
    super();
    this.port.onmessage = ({ data }: MessageEvent<PlayerCommand>) => this.obey(data);
  }

  private obey(command: PlayerCommand): void {
    switch (command.do) {
      case "begin":
        this.drop();
        this.played = this.reported = 0;
        this.ended = false;
        this.resampler.reset();
        break;
      case "play":
        if (this.ended) return; // late sound of a reply that was flushed
        this.push(this.resampler.feed(Float32Array.from(new Int16Array(command.pcm), (sample) => sample / 32768)));
        break;
      case "end":
        if (this.ended) return;
        this.push(this.resampler.feed(new Float32Array(64))); // push out what the filter still holds
        this.ended = true;
        if (!this.queued) this.finish("drained");
        break;
      case "flush":
        this.ended = true;
        if (this.queued && this.running) this.fading = true;
        else this.finish("flushed");
    }
  }

  private push(block: Float32Array): void {
    if (!block.length) return;
    this.queue.push(block);
    this.queued += block.length;
  }

  private drop(): void {
    this.queue = [];
    this.offset = this.queued = 0;
    this.running = this.fading = false;
    this.gain = 1;
  }

  private finish(what: "flushed" | "drained"): void {
    this.drop();
    this.report(what);
  }

  private report(what: PlayerReport["what"]): void {
    this.reported = this.played;
    const report: PlayerReport = { what, playedMs: Math.round((this.played / sampleRate) * 1000), level: this.level };
    this.port.postMessage(report);
  }

  process(_inputs: Float32Array[][], outputs: Float32Array[][]): boolean {
    const out = outputs[0][0];
    if (!this.running && this.queued && (this.ended || this.queued >= CUSHION_SECONDS * sampleRate)) {
      this.running = true;
      if (!this.played) this.report("started");
    }
    if (!this.running) return true;
    if (this.fill(out)) return true;
    if (this.played - this.reported >= REPORT_SECONDS * sampleRate) this.report("playing");
    if (!this.queued) {
      this.running = false; // ran dry: fill the cushion again rather than stutter
      if (this.fading) this.finish("flushed");
      else if (this.ended) this.finish("drained");
    }
    return true;
  }

  /** Write what is next into `out`; return whether the end of a fade was reached. */
  private fill(out: Float32Array): boolean {
    let power = 0;
    for (let i = 0; i < out.length && this.queued; i++) {
      if (this.fading) {
        this.gain -= 1 / (FADE_SECONDS * sampleRate);
        if (this.gain <= 0) {
          this.finish("flushed");
          return true;
        }
      }
      const block = this.queue[0];
      out[i] = block[this.offset++] * this.gain;
      power += out[i] * out[i];
      this.played++;
      this.queued--;
      if (this.offset === block.length) {
        this.queue.shift();
        this.offset = 0;
      }
    }
    this.level = Math.sqrt(power / out.length);
    return false;
  }
}

registerProcessor("atlas-player", PlayerWorklet);
