/** Calendar: a month, a week or a day, with what happens in it. */

import { useSignal } from "@preact/signals";
import { useState } from "preact/hooks";
import type { EventItem, EventReply, EventsReply } from "../api.ts";
import { inHouse, now } from "../house/clock.ts";
import { act, attempt } from "../house/deeds.ts";
import { useLive } from "../house/live.ts";
import { refusalOf } from "../house/refused.ts";
import { addDays, endOf, isoDay, midnight, monthDays, weekOf } from "../parts/days.ts";
import { TextField } from "../parts/fields.tsx";
import { useFormResult } from "../parts/form-result.ts";
import { FormTrouble } from "../parts/form-trouble.tsx";
import { Icon } from "../parts/icon.tsx";
import { Loaded } from "../parts/loaded.tsx";
import { Sheet } from "../parts/sheet.tsx";
import { dayOf, monthOf, timeOf, weekdayOf } from "../parts/when.ts";
import { ZoneNote } from "../parts/zone-note.tsx";
import { words } from "../strings/index.ts";

type Span = "day" | "week" | "month";

export function Calendar() {
  const say = words.value.calendar;
  const [span, setSpan] = useState<Span>("month");
  const [at, setAt] = useState(now());
  const [adding, setAdding] = useState(false);
  const [shown, setShown] = useState<EventItem | null>(null);
  const days = span === "day" ? [at] : span === "week" ? weekOf(at) : monthDays(at);
  const live = useLive<EventsReply>(
    `/api/calendar?from=${isoDay(days[0])}&to=${isoDay(days[days.length - 1])}`,
    "calendar",
  );
  const step = (forward: number) =>
    setAt(
      span === "month" ? new Date(at.getFullYear(), at.getMonth() + forward, 1) : addDays(at, forward * days.length),
    );
  const title = span === "day" ? dayOf(at) : monthOf(span === "week" ? days[3] : at);
  return (
    <div class="page wide">
      <div class="head">
        <h1>{words.value.pages.calendar}</h1>
        {!refusalOf("calendar.add") && (
          <button type="button" class="solid" onClick={() => setAdding(true)}>
            <Icon name="plus" size={20} />
            {say.add}
          </button>
        )}
      </div>
      <ZoneNote />
      <div class="head">
        <div class="stepper">
          <button type="button" class="round" aria-label={say.earlier} onClick={() => step(-1)}>
            <Icon name="previous" />
          </button>
          <h2 aria-live="polite">{title}</h2>
          <button type="button" class="round" aria-label={say.later} onClick={() => step(1)}>
            <Icon name="next" />
          </button>
        </div>
        <div class="chips">
          <button type="button" class="plain" onClick={() => setAt(now())}>
            {say.today}
          </button>
          {(["day", "week", "month"] as const).map((name) => (
            <button
              key={name}
              type="button"
              class="plain chip"
              aria-pressed={span === name}
              onClick={() => setSpan(name)}
            >
              {say.spans[name]}
            </button>
          ))}
        </div>
      </div>
      <Loaded live={live}>
        {({ events }) => {
          const openDay = (day: Date) => {
            setAt(day);
            setSpan("day");
          };
          return span === "month" ? (
            <>
              <Month days={days} month={at.getMonth()} events={events} onDay={openDay} />
              <Coming days={days} events={events} onShow={setShown} />
            </>
          ) : (
            <Agenda days={days} events={events} onShow={setShown} />
          );
        }}
      </Loaded>
      {adding && <NewEvent day={at} onClose={() => setAdding(false)} />}
      {shown && <EventSheet event={shown} onClose={() => setShown(null)} />}
    </div>
  );
}

/** A date alone is a day here, wherever one is; a moment is what the clocks of the house show then. */
const shownAt = (moment: string, isDay: boolean) =>
  isDay ? new Date(`${moment.slice(0, 10)}T00:00`) : inHouse(Date.parse(moment));
const startOf = ({ start, all_day }: EventItem) => shownAt(start, all_day);

/** Behind when an event starts, when it ends: nothing where it is a day long, or has no end. */
function endsOn(event: EventItem): string {
  if (!event.end) return "";
  const start = startOf(event);
  const behind = shownAt(event.end, event.all_day);
  const end = event.all_day ? addDays(behind, -1) : behind;
  const day = midnight(end) === midnight(start) ? "" : dayOf(end);
  const ends = [day, event.all_day ? "" : timeOf(end)].filter(Boolean).join(", ");
  return ends && ` – ${ends}`;
}

function eventsOf(day: Date, events: EventItem[]): EventItem[] {
  const [from, to] = [midnight(day), midnight(addDays(day, 1))];
  return events.filter((event) => {
    const start = startOf(event).getTime();
    const end = event.end ? shownAt(event.end, event.all_day).getTime() : start;
    return start < to && (end > from || start >= from);
  });
}

function Month({
  days,
  month,
  events,
  onDay,
}: {
  days: Date[];
  month: number;
  events: EventItem[];
  onDay: (day: Date) => void;
}) {
  const today = midnight(now());
  return (
    <div class="month card">
      {days.slice(0, 7).map((day) => (
        <p key={day.getDay()} class="weekday" aria-hidden="true">
          {weekdayOf(day)}
        </p>
      ))}
      {days.map((day) => {
        const here = eventsOf(day, events);
        return (
          <button
            key={isoDay(day)}
            type="button"
            class="month-day"
            data-other={day.getMonth() !== month}
            data-today={midnight(day) === today}
            aria-label={`${dayOf(day)}: ${words.value.calendar.count(here.length)}`}
            onClick={() => onDay(day)}
          >
            <span class="number">{day.getDate()}</span>
            {here.slice(0, 3).map((event) => (
              <span key={event.id + event.start} class="month-event">
                {event.title}
              </span>
            ))}
            {here.length > 0 && <span class="dot" />}
          </button>
        );
      })}
    </div>
  );
}

const COMING_DAYS = 5;

/** What comes next in a month whose days are too small for words. */
function Coming({ days, events, onShow }: { days: Date[]; events: EventItem[]; onShow: (event: EventItem) => void }) {
  const today = midnight(now());
  const coming = days.filter((day) => midnight(day) >= today && eventsOf(day, events).length).slice(0, COMING_DAYS);
  if (!coming.length) return null;
  return (
    <section class="coming" aria-label={words.value.calendar.coming}>
      <h2>{words.value.calendar.coming}</h2>
      <Agenda days={coming} events={events} onShow={onShow} named />
    </section>
  );
}

interface AgendaProperties {
  days: Date[];
  events: EventItem[];
  onShow: (event: EventItem) => void;
  named?: boolean; // a single day too
}

function Agenda({ days, events, onShow, named = days.length > 1 }: AgendaProperties) {
  const say = words.value.calendar;
  return (
    <ol class="agenda">
      {days.map((day) => {
        const here = eventsOf(day, events);
        return (
          <li key={isoDay(day)}>
            {named && <h3 data-today={midnight(day) === midnight(now())}>{dayOf(day)}</h3>}
            {here.length ? (
              <ul class="card rows">
                {here.map((event) => (
                  <li key={event.id + event.start}>
                    <button type="button" class="row event" onClick={() => onShow(event)}>
                      <span class="event-time">{event.all_day ? say.allDay : timeOf(startOf(event))}</span>
                      <span class="name">{event.title}</span>
                      {event.place && <span class="soft">{event.place}</span>}
                    </button>
                  </li>
                ))}
              </ul>
            ) : (
              <p class="soft">{say.nothing}</p>
            )}
          </li>
        );
      })}
    </ol>
  );
}

/** How often an event comes again, from its day on: rules that a calendar reads in every language. */
const REPEATS = {
  never: "",
  day: "FREQ=DAILY",
  weekday: "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR",
  week: "FREQ=WEEKLY",
  month: "FREQ=MONTHLY",
  year: "FREQ=YEARLY",
} as const;

function NewEvent({ day, onClose }: { day: Date; onClose: () => void }) {
  const say = words.value.calendar;
  const title = useSignal("");
  const date = useSignal(isoDay(day));
  const time = useSignal("");
  const lastDay = useSignal("");
  const until = useSignal("");
  const place = useSignal("");
  const [repeat, setRepeat] = useState<keyof typeof REPEATS>("never");
  const [result, run] = useFormResult();
  function save(event: SubmitEvent): void {
    event.preventDefault();
    const start = time.value ? `${date.value}T${time.value}` : date.value;
    const end = endOf(date.value, time.value, lastDay.value, until.value);
    const body = { title: title.value.trim(), start, end, place: place.value.trim(), repeat: REPEATS[repeat] };
    void run(async () => {
      await attempt<EventReply>("POST", "/api/calendar", body);
      onClose();
      return { state: "none" };
    });
  }
  return (
    <Sheet title={say.add} onClose={onClose}>
      <form class="fields" onSubmit={save}>
        <TextField label={say.title} value={title} maxLength={200} required />
        <div class="side-by-side">
          <TextField label={say.date} value={date} type="date" required />
          <TextField label={say.time} value={time} type="time" />
        </div>
        <div class="side-by-side">
          <TextField label={say.lastDay} value={lastDay} type="date" />
          {time.value && <TextField label={say.until} value={until} type="time" />}
        </div>
        <TextField label={say.place} value={place} maxLength={200} />
        <label>
          {say.repeat}
          <select value={repeat} onChange={(event) => setRepeat(event.currentTarget.value as keyof typeof REPEATS)}>
            {Object.keys(REPEATS).map((name) => (
              <option key={name} value={name}>
                {say.repeats[name as keyof typeof REPEATS]}
              </option>
            ))}
          </select>
        </label>
        <FormTrouble result={result} />
        <p class="answers">
          <button type="submit" class="solid">
            {words.value.shell.save}
          </button>
        </p>
      </form>
    </Sheet>
  );
}

function EventSheet({ event, onClose }: { event: EventItem; onClose: () => void }) {
  const say = words.value.calendar;
  const title = useSignal(event.title);
  const start = startOf(event);
  const [day, clock] = [event.start.slice(0, 10), event.all_day ? "" : event.start.slice(11, 16)]; // as the house has it
  const date = useSignal(day);
  const time = useSignal(clock);
  const place = useSignal(event.place);
  const path = `/api/calendar/${encodeURIComponent(event.id || event.title)}?day=${isoDay(start)}`;
  const [result, run] = useFormResult();
  function save(submitted: SubmitEvent): void {
    submitted.preventDefault();
    const isMoved = date.value !== day || time.value !== clock;
    const changes = {
      ...(title.value.trim() !== event.title && { title: title.value.trim() }),
      ...(isMoved && { start: time.value ? `${date.value}T${time.value}` : date.value }),
      ...(place.value.trim() !== event.place && { place: place.value.trim() }),
    };
    void run(async () => {
      if (Object.keys(changes).length) await attempt("PATCH", path, changes);
      onClose();
      return { state: "none" };
    });
  }
  function remove(whole: boolean): void {
    onClose();
    void act("DELETE", whole ? `${path}&whole_series=true` : path);
  }
  return (
    <Sheet title={event.title} onClose={onClose}>
      <form class="fields" onSubmit={save}>
        <p>
          {dayOf(start)}
          {!event.all_day && `, ${timeOf(start)}`}
          {endsOn(event)}
        </p>
        {event.series && <p class="soft">{say.series}</p>}
        <TextField label={say.title} value={title} maxLength={200} required />
        <div class="side-by-side">
          <TextField label={say.date} value={date} type="date" required />
          {/* What has a time or a place can be given another, and not be left without. */}
          <TextField label={event.all_day ? say.time : say.clock} value={time} type="time" required={!event.all_day} />
        </div>
        <TextField label={say.place} value={place} maxLength={200} required={event.place !== ""} />
        <FormTrouble result={result} />
        <p class="answers">
          <button type="button" class="quiet" onClick={() => remove(false)}>
            <Icon name="bin" size={20} />
            {event.series ? say.removeOne : say.remove}
          </button>
          {event.series && (
            <button type="button" class="quiet" onClick={() => remove(true)}>
              {say.removeAll}
            </button>
          )}
          <button type="submit" class="solid">
            {words.value.shell.save}
          </button>
        </p>
      </form>
    </Sheet>
  );
}
