/** The resampler keeps a tone's height and strength, in whatever pieces it comes. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Resampler } from "../src/voice/resampler.ts";

function tone(rate: number, hertz: number, seconds: number): Float32Array {
  return Float32Array.from({ length: rate * seconds }, (_, i) => 0.5 * Math.sin((2 * Math.PI * hertz * i) / rate));
}

function strength(samples: Float32Array): number {
  const middle = samples.slice(samples.length / 4, (samples.length * 3) / 4);
  return Math.sqrt(middle.reduce((sum, sample) => sum + sample * sample, 0) / middle.length);
}

for (const [from, to] of [
  [48000, 24000],
  [44100, 24000],
  [24000, 48000],
  [16000, 24000],
]) {
  test(`a voice's tone keeps its strength from ${from} to ${to}`, () => {
    const out = new Resampler(from, to).feed(tone(from, 1000, 0.5));
    assert.ok(Math.abs(out.length - to * 0.5) < 64);
    assert.ok(Math.abs(strength(out) - 0.5 / Math.SQRT2) < 0.01);
  });
}

test("what is above the new limit does not fold back into the voice", () => {
  assert.ok(strength(new Resampler(48000, 24000).feed(tone(48000, 18000, 0.5))) < 0.002);
});

test("blocks of any length make the same sound as one", () => {
  const whole = tone(48000, 440, 0.2);
  const whole_block = new Resampler(48000, 24000).feed(whole);
  const resampler = new Resampler(48000, 24000);
  const pieces: number[] = [];
  for (let at = 0; at < whole.length; at += 128) pieces.push(...resampler.feed(whole.slice(at, at + 128)));
  assert.ok(Math.abs(pieces.length - whole_block.length) <= 1);
  for (const [i, sample] of pieces.entries()) assert.ok(Math.abs(sample - (whole_block[i] ?? sample)) < 1e-6);
});
