/** Time: timers, alarms and reminders, seen, begun and stopped wherever one is. */

import { useSignal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import type { AlarmItem, AlarmsReply, ReminderItem, RemindersReply, TimerItem, TimersReply } from "../api.ts";
import { act } from "../house/deeds.ts";
import { useLive } from "../house/live.ts";
import { refusalOf } from "../house/refused.ts";
import { Allowed } from "../parts/allowed.tsx";
import { capital } from "../parts/capital.ts";
import { TextField } from "../parts/fields.tsx";
import { Icon } from "../parts/icon.tsx";
import { Loaded } from "../parts/loaded.tsx";
import { clockOf, lengthOf, momentOf, secondOf } from "../parts/when.ts";
import { WordsForm } from "../parts/words-form.tsx";
import { ZoneNote } from "../parts/zone-note.tsx";
import { words } from "../strings/index.ts";

const MINUTES = [1, 3, 5, 10, 15, 30, 60];

export function Time() {
  return (
    <div class="page">
      <h1>{words.value.pages.time}</h1>
      <ZoneNote />
      <Timers />
      <Alarms />
      <Reminders />
    </div>
  );
}

function Timers() {
  const live = useLive<TimersReply>("/api/timers", "timers");
  const say = words.value.time;
  return (
    <section aria-labelledby="timers">
      <h2 id="timers">{say.timers}</h2>
      <Loaded live={live}>
        {({ timers }) => (
          <>
            {timers.length > 0 && (
              <ul class="card rows">
                {timers.map((timer) => (
                  <Timer key={timer.id} timer={timer} alike={timers.some((other) => isAlike(timer, other))} />
                ))}
              </ul>
            )}
          </>
        )}
      </Loaded>
      <Allowed tool="timers.start">
        <ul class="presets" aria-label={say.startTimer}>
          {MINUTES.map((minutes) => (
            <li key={minutes}>
              <button type="button" class="plain" onClick={() => act("POST", "/api/timers", { seconds: minutes * 60 })}>
                {say.minutes(minutes)}
              </button>
            </li>
          ))}
        </ul>
      </Allowed>
    </section>
  );
}

/** Whether two timers would be called the same: then it is told to the second when each was started. */
const isAlike = (one: TimerItem, other: TimerItem) =>
  one.id !== other.id && one.name === other.name && one.room === other.room && one.seconds === other.seconds;

/** The seconds of now, once a second. */
function useNow(): number {
  const [now, setNow] = useState(Date.now() / 1000);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now() / 1000), 500);
    return () => clearInterval(timer);
  }, []);
  return now;
}

function Timer({ timer, alike }: { timer: TimerItem; alike: boolean }) {
  const say = words.value.time;
  const now = useNow();
  const [since] = useState({ left: timer.left_seconds, at: now });
  if (since.left !== timer.left_seconds) Object.assign(since, { left: timer.left_seconds, at: now });
  const left = timer.state === "running" ? Math.max(0, since.left - (now - since.at)) : timer.left_seconds;
  const name = capital(timer.name) || say.timerOf(lengthOf(timer.seconds));
  const path = `/api/timers/${encodeURIComponent(timer.id)}`;
  const ended = timer.state === "ended" || left === 0;
  return (
    <li class="row timer" data-ended={ended}>
      <div>
        <p class="clock">{ended ? say.ended : clockOf(left)}</p>
        <p class="soft">
          {name}
          {timer.room && ` · ${timer.room}`}
          {timer.state === "paused" && ` · ${say.paused}`}
          {timer.state === "running" && ` · ${say.since((alike ? secondOf : momentOf)(timer.set_at))}`}
        </p>
      </div>
      {!ended && !refusalOf("timers.add") && (
        <button type="button" class="plain" onClick={() => act("PATCH", path, { by_seconds: 60 }, true)}>
          {say.oneMore}
          <span class="unseen">: {name}</span>
        </button>
      )}
      {!ended && !refusalOf(timer.state === "paused" ? "timers.resume" : "timers.pause") && (
        <button
          type="button"
          class="round"
          aria-label={`${timer.state === "paused" ? say.resume : say.pause}: ${name}`}
          onClick={() => act("PATCH", path, { paused: timer.state === "running" }, true)}
        >
          <Icon name={timer.state === "paused" ? "play" : "pause"} size={20} />
        </button>
      )}
      {!refusalOf("timers.cancel") && (
        <button
          type="button"
          class="round"
          aria-label={`${ended ? say.stop : say.cancel}: ${name}`}
          onClick={() => act("DELETE", path)}
        >
          <Icon name={ended ? "stop" : "close"} size={20} />
        </button>
      )}
    </li>
  );
}

function Alarms() {
  const live = useLive<AlarmsReply>("/api/alarms", "alarms");
  const say = words.value.time;
  return (
    <section aria-labelledby="alarms">
      <h2 id="alarms">{say.alarms}</h2>
      <Loaded live={live}>
        {({ alarms }) =>
          alarms.length ? (
            <ul class="card rows">
              {alarms.map((alarm) => (
                <Alarm key={alarm.id} alarm={alarm} />
              ))}
            </ul>
          ) : (
            <p class="soft">{say.noAlarms}</p>
          )
        }
      </Loaded>
      <Allowed tool="alarms.set">
        <WordsForm
          label={say.newAlarm}
          placeholder={say.alarmExample}
          onAdd={(when) => act("POST", "/api/alarms", { when })}
        />
      </Allowed>
    </section>
  );
}

function Alarm({ alarm }: { alarm: AlarmItem }) {
  const say = words.value.time;
  const path = `/api/alarms/${encodeURIComponent(alarm.id)}`;
  const name = alarm.name || alarm.when;
  if (alarm.state === "ringing") {
    return (
      <li class="row ringing">
        <div>
          <p class="clock">{say.rings}</p>
          <p>{name}</p>
        </div>
        {!refusalOf("alarms.snooze") && (
          <button type="button" class="plain" onClick={() => act("POST", `${path}/snooze`, {})}>
            {say.snooze}
          </button>
        )}
        {!refusalOf("alarms.stop") && (
          <button type="button" class="solid" onClick={() => act("POST", `${path}/stop`, {})}>
            {say.stop}
          </button>
        )}
      </li>
    );
  }
  const on = alarm.state !== "off";
  return (
    <li class="row">
      <div class="grow">
        <p class="clock">{alarm.due_at ? momentOf(alarm.due_at, alarm.rule !== "") : alarm.when}</p>
        <p class="soft">
          {[alarm.name, alarm.rule ? alarm.when : "", alarm.person, alarm.room].filter(Boolean).join(" · ")}
        </p>
      </div>
      <button
        type="button"
        class="switch"
        role="switch"
        aria-checked={on}
        aria-label={name}
        disabled={Boolean(refusalOf("alarms.switch"))}
        onClick={() => act("PATCH", path, { on: !on })}
      />
      {!refusalOf("alarms.cancel") && (
        <button type="button" class="round" aria-label={`${say.cancel}: ${name}`} onClick={() => act("DELETE", path)}>
          <Icon name="close" size={20} />
        </button>
      )}
    </li>
  );
}

function Reminders() {
  const live = useLive<RemindersReply>("/api/reminders", "reminders");
  const say = words.value.time;
  return (
    <section aria-labelledby="reminders">
      <h2 id="reminders">{say.reminders}</h2>
      <Loaded live={live}>
        {({ reminders }) =>
          reminders.length ? (
            <ul class="card rows">
              {reminders.map((reminder) => (
                <Reminder key={reminder.id} reminder={reminder} />
              ))}
            </ul>
          ) : (
            <p class="soft">{say.noReminders}</p>
          )
        }
      </Loaded>
      <Allowed tool="reminders.add">
        <NewReminder />
      </Allowed>
    </section>
  );
}

function Reminder({ reminder }: { reminder: ReminderItem }) {
  const say = words.value.time;
  const path = `/api/reminders/${encodeURIComponent(reminder.id)}`;
  return (
    <li class="row">
      <div class="grow">
        <p class="name">{reminder.text}</p>
        <p class="soft">
          {[reminder.due_at ? momentOf(reminder.due_at) : reminder.when, reminder.person, reminder.room]
            .filter(Boolean)
            .join(" · ")}
        </p>
      </div>
      {!refusalOf("reminders.done") && (
        <button type="button" class="plain" onClick={() => act("POST", `${path}/done`, {})}>
          {say.done}
          <span class="unseen">: {reminder.text}</span>
        </button>
      )}
      {!refusalOf("reminders.cancel") && (
        <button
          type="button"
          class="round"
          aria-label={`${say.cancel}: ${reminder.text}`}
          onClick={() => act("DELETE", path)}
        >
          <Icon name="close" size={20} />
        </button>
      )}
    </li>
  );
}

function NewReminder() {
  const say = words.value.time;
  const text = useSignal("");
  const when = useSignal("");
  async function add(event: SubmitEvent): Promise<void> {
    event.preventDefault();
    const body = { text: text.value.trim(), when: when.value.trim() };
    if (!body.text || !(await act("POST", "/api/reminders", body))) return;
    text.value = when.value = "";
  }
  return (
    <form class="add two" onSubmit={add}>
      <TextField unseenLabel label={say.remindOf} value={text} placeholder={say.reminderExample} maxLength={300} />
      <TextField unseenLabel label={say.remindWhen} value={when} placeholder={say.whenExample} maxLength={100} />
      <button type="submit" class="solid">
        {words.value.shell.add}
      </button>
    </form>
  );
}
