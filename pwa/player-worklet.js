// In the audio thread: a queue of 24 kHz sound, played without gaps, emptied within a few milliseconds.

import { Resampler } from "./resampler.js";

const RATE = 24000;
const CUSHION_SECONDS = 0.1; // what a Wi-Fi hiccup may eat before it is heard
const FADE_SECONDS = 0.006; // shorter clicks
const REPORT_SECONDS = 0.05;

class Player extends AudioWorkletProcessor {
  constructor() {
    super();
    /** @type {Float32Array[]} */
    this.queue = [];
    this.offset = 0; // into the first of the queue
    this.queued = 0; // samples, at this device's rate
    this.played = 0; // since `begin`
    this.reported = 0;
    this.ended = true; // no more will come
    this.running = false; // the cushion is full
    this.gain = 1;
    this.fading = false;
    this.resampler = new Resampler(RATE, sampleRate);
    this.port.onmessage = ({ data }) => this[data.do]?.(data);
  }

  begin() {
    this.drop();
    this.played = this.reported = 0;
    this.ended = false;
    this.resampler.reset();
  }

  /** @param {{pcm: ArrayBuffer}} message */
  play({ pcm }) {
    if (this.ended) return; // late sound of a reply that was flushed
    const block = Float32Array.from(new Int16Array(pcm), (sample) => sample / 32768);
    this.push(this.resampler.feed(block));
  }

  end() {
    if (this.ended) return;
    this.push(this.resampler.feed(new Float32Array(64))); // push out what the filter still holds
    this.ended = true;
    if (!this.queued) this.drained();
  }

  flush() {
    this.ended = true;
    if (this.queued && this.running) this.fading = true;
    else this.flushed();
  }

  /** @param {Float32Array} block */
  push(block) {
    if (!block.length) return;
    this.queue.push(block);
    this.queued += block.length;
  }

  drop() {
    this.queue = [];
    this.offset = this.queued = 0;
    this.running = this.fading = false;
    this.gain = 1;
  }

  flushed() {
    this.drop();
    this.report("flushed");
  }

  drained() {
    this.drop();
    this.report("drained");
  }

  /** @param {string} what */
  report(what) {
    this.reported = this.played;
    this.port.postMessage({ what, playedMs: Math.round((this.played / sampleRate) * 1000), level: this.level ?? 0 });
  }

  /** @param {Float32Array[][]} _inputs @param {Float32Array[][]} outputs */
  process(_inputs, outputs) {
    const out = outputs[0][0];
    if (!this.running && this.queued && (this.ended || this.queued >= CUSHION_SECONDS * sampleRate)) {
      this.running = true;
      if (!this.played) this.report("started");
    }
    if (!this.running) return true;
    let power = 0;
    for (let i = 0; i < out.length; i++) {
      if (!this.queued) break;
      if (this.fading) {
        this.gain -= 1 / (FADE_SECONDS * sampleRate);
        if (this.gain <= 0) return this.flushed(), true;
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
    if (this.played - this.reported >= REPORT_SECONDS * sampleRate) this.report("playing");
    if (!this.queued) {
      this.running = false; // ran dry: fill the cushion again rather than stutter
      if (this.fading) this.flushed();
      else if (this.ended) this.drained();
    }
    return true;
  }
}

registerProcessor("atlas-player", Player);
