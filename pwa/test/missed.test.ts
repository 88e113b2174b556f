/** What waits for somebody who was out, told until they have seen it. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { AlarmItem, AnnouncementItem, MissedAsk, ReminderItem, TimerItem, VoiceMessage } from "../src/api.ts";
import { missedOf, stillSeen, unseenOf } from "../src/talk/missed.ts";

const message = (id: string, mine: boolean, heard_at: number | null) => ({ id, mine, heard_at }) as VoiceMessage;
const reminder = (id: string, state: string) => ({ id, text: "bins", state, missed_at: null }) as ReminderItem;
const alarm = (id: string, missed_at: number | null, person = "") =>
  ({ id, name: "gym", when: "7 AM", person, missed_at }) as AlarmItem;
const timer = (id: string, state: string) => ({ id, name: "eggs", state }) as TimerItem;

test("what others left and nobody heard, what nobody answered, and what has ended waits", () => {
  const missed = missedOf({
    messages: [message("new", false, null), message("own", true, null), message("old", false, 5)],
    reminders: [reminder("bins", "unanswered"), reminder("later", "waiting"), reminder("now", "told")],
    timers: [timer("eggs", "ended"), timer("tea", "running"), timer("rest", "paused")],
    announcements: [{ id: "dinner", text: "Dinner" } as AnnouncementItem],
  });
  assert.deepEqual(
    missed.map(({ id }) => id),
    ["new", "bins", "eggs", "dinner"],
  );
});

test("a question that nobody answered is told with when it was asked", () => {
  const asks = [{ id: "door", sentence: "Unlock the front door?", asked_at: 7 } as MissedAsk];
  assert.deepEqual(missedOf({ asks }), [{ id: "door", kind: "ask", text: "Unlock the front door?", at: 7 }]);
});

test("an alarm that nobody stopped is told to whose it is, each time that it was missed", () => {
  const alarms = [alarm("a", 5), alarm("b", null), alarm("c", 6, "Mia"), alarm("d", 7, "Tom")];
  const missed = missedOf({ alarms }, "mia");
  assert.deepEqual(
    missed.map(({ id }) => id),
    ["a 5", "c 6"],
  );
  assert.equal(unseenOf(missedOf({ alarms: [alarm("a", 9)] }), ["a 5"]).length, 1);
});

test("what came late or did not ring at all is told as that", () => {
  const missed = missedOf({
    reminders: [{ ...reminder("pills", "waiting"), missed_at: 5 }],
    lateTimers: [{ ...timer("eggs", "ended"), ends_at: 7 }],
    alarms: [{ ...alarm("a", 6), silent: true }],
  });
  assert.deepEqual(
    missed.map(({ id, kind }) => [id, kind]),
    [
      ["pills 5", "lateReminder"],
      ["eggs", "lateTimer"],
      ["a 6", "silentAlarm"],
    ],
  );
});

test("what was before a device came into the house was not missed on it", () => {
  const waiting = (at: number) => ({
    messages: [{ ...message(`message ${at}`, false, null), at }],
    asks: [{ id: `ask ${at}`, sentence: "Unlock?", asked_at: at } as MissedAsk],
    reminders: [
      { ...reminder(`reminder ${at}`, "unanswered"), at },
      { ...reminder(`late ${at}`, "waiting"), missed_at: at },
    ],
    timers: [{ ...timer(`timer ${at}`, "ended"), ends_at: at }],
    lateTimers: [{ ...timer(`late timer ${at}`, "ended"), ends_at: at }],
    alarms: [alarm(`alarm ${at}`, at)],
    announcements: [{ id: `dinner ${at}`, text: "Dinner", at } as AnnouncementItem],
  });
  assert.deepEqual(missedOf(waiting(99), "", 100), []);
  assert.equal(missedOf(waiting(100), "", 100).length, 8);
});

test("what was seen is told no more, until it has been away and waits anew", () => {
  const missed = missedOf({ reminders: [reminder("bins", "unanswered")] });
  assert.deepEqual(unseenOf(missed, ["bins"]), []);
  assert.deepEqual(stillSeen(missed, ["bins", "gone"]), ["bins"]);
  assert.deepEqual(stillSeen([], ["bins"]), []);
});
