/** In the audio thread: the microphone's own rate → 24 kHz in 16 bits, 40 ms at a time, with its level. */

import { Resampler } from "./resampler.ts";

const RATE = 24000;
const BATCH = 960; // 40 ms: 25 messages a second, where every quantum would make 375

class MicrophoneWorklet extends AudioWorkletProcessor {
  private readonly resampler = new Resampler(sampleRate, RATE);
  private batch = new Int16Array(BATCH);
  private filled = 0;
  private power = 0;

  process(inputs: Float32Array[][]): boolean {
    const block = inputs[0]?.[0];
    if (!block) return true;
    for (const sample of this.resampler.feed(block)) {
      const bounded = Math.max(-1, Math.min(1, sample));
      this.power += bounded * bounded;
      this.batch[this.filled++] = Math.round(bounded * 32767);
      if (this.filled === BATCH) this.post();
    }
    return true;
  }

  private post(): void {
    const level = Math.sqrt(this.power / BATCH);
    this.port.postMessage({ pcm: this.batch.buffer, level }, [this.batch.buffer]);
    this.batch = new Int16Array(BATCH);
    this.filled = 0;
    this.power = 0;
  }
}

registerProcessor("atlas-microphone", MicrophoneWorklet);
