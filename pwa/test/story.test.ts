/** What is announced is the answer that has just been given; words that are still said grow, and leave nothing behind. */

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

const shown = (story: Story) => story.entries.value.map(({ who, text }) => `${who}: ${text.value}`);
const more = (item_id: string, delta: string) =>
  ({ type: "conversation.item.input_audio_transcription.delta", item_id, delta }) as RealtimeEvent;

test("the words of a person grow while they speak, in one entry that the whole puts right, and nothing announces them", () => {
  const story = new Story();
  for (const event of [more("one", "Turn off"), more("one", " the")]) story.event(event);
  assert.deepEqual(shown(story), ["person: Turn off the"]);
  story.event({ type: "input_audio_buffer.committed", item_id: "one" } as RealtimeEvent);
  const completed = { type: "conversation.item.input_audio_transcription.completed", item_id: "one" };
  story.event({ ...completed, transcript: "Turn on the light." } as RealtimeEvent);
  assert.deepEqual(shown(story), ["person: Turn on the light."]);
  assert.equal(story.announcement.value, "");
});

test("what was begun to be said and dropped leaves no entry, and what is committed stays where another begins", () => {
  const story = new Story();
  story.event(more("one", "Turn off"));
  story.event({ type: "input_audio_buffer.cleared" } as RealtimeEvent);
  assert.deepEqual(shown(story), []);
  story.event(more("two", "Turn on"));
  story.event({ type: "input_audio_buffer.committed", item_id: "two" } as RealtimeEvent);
  story.event(more("three", "What"));
  story.event(more("four", "Who"));
  assert.deepEqual(shown(story), ["person: Turn on", "person: Who"]);
});

test("what rings again and again stands once in the conversation, as it was told last", () => {
  const story = new Story();
  const rings = (id: string, text: string) => {
    story.event({ type: "atlas.ring", id } as RealtimeEvent);
    answered(story, text, "completed");
  };
  rings("pizza", "Your pizza timer is done.");
  rings("tea", "Your tea timer is done.");
  rings("pizza", "Your pizza timer ended 1 minute ago.");
  answered(story, "It is five.", "completed");
  rings("tea", "Your tea timer ended 1 minute ago.");
  assert.deepEqual(shown(story), [
    "house: Your pizza timer ended 1 minute ago.",
    "house: Your tea timer ended 1 minute ago.",
    "house: It is five.",
  ]);
});
