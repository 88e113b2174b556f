/** What is announced is the answer that has just been given, and nothing where none was. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { RealtimeEvent } from "../src/house/link.ts";
import { Story } from "../src/talk/story.ts";

function answered(story: Story, text: string, status: string): string {
  const events = [
    { type: "response.created" },
    { type: "response.output_text.delta", delta: text },
    { type: "response.done", response: { status } },
  ];
  for (const event of events) story.event(event as RealtimeEvent);
  return story.announcement.value;
}

test("an answer is announced, and the next one that is empty or broken off does not announce it again", () => {
  const story = new Story();
  assert.equal(answered(story, "It is five.", "completed"), "It is five.");
  assert.equal(answered(story, "", "completed"), "");
  assert.equal(answered(story, "It is six.", "completed"), "It is six.");
  assert.equal(answered(story, "It is se", "cancelled"), "");
});
