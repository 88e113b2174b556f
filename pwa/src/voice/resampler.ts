/** Changes the sample rate of a stream by a windowed sinc, so that nothing above the new limit folds back. */

const CROSSINGS = 12; // on each side: 70 dB down, at 24 products a sample
const STEPS = 256; // entries of the table between two crossings, joined by straight lines

const table = new Float32Array(CROSSINGS * STEPS + 2);
for (let i = 0; i <= CROSSINGS * STEPS; i++) {
  const x = i / STEPS;
  const sinc = x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x);
  const window = 0.5 + 0.5 * Math.cos((Math.PI * x) / CROSSINGS);
  table[i] = sinc * window;
}

/** One stream. Feed it blocks in order; it keeps the few samples that span two of them. */
export class Resampler {
  private readonly step: number;
  private readonly scale: number; // going down, the filter closes at the new limit
  private readonly reach: number;
  private rest = new Float32Array(0);
  private at = 0; // where the next output lies, in samples of `rest`

  /** Both rates in samples a second. */
  constructor(from: number, to: number) {
    this.step = from / to;
    this.scale = Math.min(1, to / from);
    this.reach = Math.ceil(CROSSINGS / this.scale);
    this.reset();
  }

  reset(): void {
    this.rest = new Float32Array(this.reach); // silence before the first sample
    this.at = this.reach;
  }

  /** Return what is ready. */
  feed(block: Float32Array): Float32Array {
    if (this.step === 1) return block.slice();
    const input = new Float32Array(this.rest.length + block.length);
    input.set(this.rest);
    input.set(block, this.rest.length);
    const out = new Float32Array(Math.max(0, Math.ceil((input.length - this.reach - this.at) / this.step)));
    let made = 0;
    while (this.at + this.reach < input.length && made < out.length) {
      out[made++] = this.sample(input, this.at);
      this.at += this.step;
    }
    const drop = Math.max(0, Math.floor(this.at) - this.reach);
    this.rest = input.slice(drop);
    this.at -= drop;
    return made === out.length ? out : out.slice(0, made);
  }

  private sample(input: Float32Array, at: number): number {
    const first = Math.ceil(at - this.reach + 1e-9);
    const last = Math.floor(at + this.reach - 1e-9);
    let sum = 0;
    for (let i = Math.max(0, first); i <= last && i < input.length; i++) {
      const x = Math.abs(i - at) * this.scale * STEPS;
      const k = Math.floor(x);
      if (k < CROSSINGS * STEPS) sum += input[i] * (table[k] + (table[k + 1] - table[k]) * (x - k));
    }
    return sum * this.scale;
  }
}
