/** Home: every device by its room, live; a tap switches it, a slider sets it. */

import { useEffect, useState } from "preact/hooks";
import type { DeviceChange, DeviceItem, DevicesReply, HomeReply } from "../api.ts";
import { act } from "../house/deeds.ts";
import { useLive } from "../house/live.ts";
import { may } from "../house/me.ts";
import { refusalOf } from "../house/refused.ts";
import { Allowed, Refused } from "../parts/allowed.tsx";
import { percentOf } from "../parts/amounts.ts";
import { capital } from "../parts/capital.ts";
import { Icon, type IconName } from "../parts/icon.tsx";
import { Empty, Loaded } from "../parts/loaded.tsx";
import { hrefOf } from "../route.ts";
import { words } from "../strings/index.ts";

const ICONS: Record<string, IconName> = {
  light: "light",
  switch: "plug",
  climate: "heat",
  cover: "cover",
  lock: "lock",
  media: "play",
  sensor: "pulse",
  person: "people",
  window: "window", // a shape, which tells more than its kind
  door: "door",
};

export function Home() {
  const live = useLive<HomeReply>("/api/home", "home");
  const say = words.value.home;
  return (
    <div class="page wide">
      <h1>{words.value.pages.home}</h1>
      <Loaded live={live}>
        {(home) =>
          home.devices.length ? (
            <Rooms home={home} />
          ) : (
            <Empty icon="home" title={say.none}>
              <p>{say.noneHow}</p>
              {may("manage") && (
                <a class="button solid" href={hrefOf("house", "settings")}>
                  {say.connect}
                </a>
              )}
            </Empty>
          )
        }
      </Loaded>
    </div>
  );
}

function Rooms({ home }: { home: HomeReply }) {
  const say = words.value.home;
  const scenes = home.devices.filter(({ kind }) => kind === "scene");
  const people = home.devices.filter(({ kind }) => kind === "person");
  const isAnybodyKnown = people.some(({ status }) => status); // else nobody's phone tells, or it is not for who looks
  const rooms = new Map<string, DeviceItem[]>();
  for (const device of home.devices) {
    if (device.kind === "scene" || device.kind === "person") continue;
    rooms.set(device.room, [...(rooms.get(device.room) ?? []), device]);
  }
  const named = [...rooms].sort(([one], [other]) => Number(!one) - Number(!other) || one.localeCompare(other));
  return (
    <>
      {isAnybodyKnown && (
        <section aria-labelledby="people">
          <h2 id="people">{say.people}</h2>
          <Devices of="people" devices={people.toSorted((one, other) => one.name.localeCompare(other.name))} />
        </section>
      )}
      {scenes.length > 0 && (
        <section aria-labelledby="scenes">
          <h2 id="scenes">{say.scenes}</h2>
          <Allowed tool="home.scene">
            <ul class="chips">
              {scenes.map((scene) => (
                <li key={scene.id}>
                  <button
                    type="button"
                    class="plain"
                    onClick={() => act("POST", `/api/home/scenes/${encode(scene.id)}`, {})}
                  >
                    <Icon name="scene" size={20} />
                    {scene.name}
                  </button>
                </li>
              ))}
            </ul>
          </Allowed>
        </section>
      )}
      {named.map(([room, devices]) => (
        <section key={room} aria-label={room || say.elsewhere}>
          <h2>{room || say.elsewhere}</h2>
          <Devices devices={devices} />
        </section>
      ))}
    </>
  );
}

function Devices({ devices, of = "room" }: { devices: DeviceItem[]; of?: "room" | "people" }) {
  return (
    <ul class={`devices of-${of}`}>
      {devices.map((device) => (
        <li key={device.id}>
          <Device device={device} />
        </li>
      ))}
    </ul>
  );
}

const encode = (id: string) => id.split("/").map(encodeURIComponent).join("/");

function Device({ device }: { device: DeviceItem }) {
  const active = isActive(device);
  const tool = toolOf(device);
  const refusal = tool && refusedOf(device, tool);
  const set = (change: DeviceChange, quiet = true) =>
    act<DevicesReply>("PATCH", `/api/home/devices/${encode(device.id)}`, change, quiet);
  return (
    <div class="card device" data-active={active} data-reachable={device.reachable}>
      <div class="device-head">
        <Icon name={ICONS[device.kind === "sensor" ? device.shape : ""] ?? ICONS[device.kind] ?? "plug"} />
        <div>
          <p class="name">{device.name}</p>
          <p class="soft">{stateOf(device)}</p>
        </div>
        {device.reachable && tool && !refusal && <Main device={device} set={set} />}
      </div>
      {device.reachable && refusal && <Refused because={refusal} />}
      {device.reachable && !refusedOf(device, "home.set") && <Values device={device} set={set} />}
    </div>
  );
}

/** Why something may not be done to this device now; "" where it may. */
const refusedOf = ({ refused }: DeviceItem, tool: string) => refused[tool] ?? refusalOf(tool);

type SetDevice = (change: DeviceChange, quiet?: boolean) => Promise<DevicesReply | null>;

/** What a tap switches; undefined where it does nothing. */
function tapped({ kind, can }: DeviceItem) {
  const part = (["on", "playing", "open"] as const).find((one) => can.includes(one));
  return kind === "climate" && part === "on" ? undefined : part;
}

/** The tool that a tap uses; "" where it does nothing. */
function toolOf(device: DeviceItem): string {
  const { kind, can, state } = device;
  if (kind === "lock" && can.includes("locked")) return state.locked ? "home.unlock" : "home.lock";
  const part = tapped(device);
  if (part === "playing") return state.playing ? "home.pause" : "home.play";
  if (part === "open") return isOpen(device) ? "home.close" : "home.open";
  return part ? "home.turn" : "";
}

/** The one thing that a tap does. */
function Main({ device, set }: { device: DeviceItem; set: SetDevice }) {
  const { name, kind, can, state } = device;
  const say = words.value.home;
  if (kind === "lock" && can.includes("locked")) {
    const locked = Boolean(state.locked);
    return (
      <button type="button" class="plain" onClick={() => set({ locked: !locked }, false)}>
        {locked ? say.unlock : say.lock}
        <span class="unseen"> {name}</span>
      </button>
    );
  }
  const part = tapped(device);
  if (!part) return null;
  const on = part === "open" ? isOpen(device) : Boolean(state[part]);
  return (
    <button
      type="button"
      class="switch"
      role="switch"
      aria-checked={on}
      aria-label={name}
      onClick={() => set({ [part]: !on })}
    />
  );
}

/** What can be set by sliding or by steps. */
function Values({ device, set }: { device: DeviceItem; set: SetDevice }) {
  const say = words.value.home;
  const { can, state, name } = device;
  const sliders = (["brightness", "position", "volume", "speed"] as const).filter(
    (part) => can.includes(part) && (part !== "brightness" || state.on !== false),
  );
  const target = Number(state.temperature);
  return (
    <>
      {sliders.map((part) => (
        <Slider
          key={part}
          label={`${name}: ${say.parts[part]}`}
          value={Number(state[part] ?? 0)}
          onSet={(value) => set({ [part]: value })}
        />
      ))}
      {can.includes("temperature") && Number.isFinite(target) && (
        <div class="steps">
          <button
            type="button"
            class="round"
            aria-label={`${name}: ${say.cooler}`}
            onClick={() => set({ temperature: target - 0.5 })}
          >
            <Icon name="minus" />
          </button>
          <output>{degrees(target)}</output>
          <button
            type="button"
            class="round"
            aria-label={`${name}: ${say.warmer}`}
            onClick={() => set({ temperature: target + 0.5 })}
          >
            <Icon name="plus" />
          </button>
        </div>
      )}
    </>
  );
}

function Slider({ label, value, onSet }: { label: string; value: number; onSet: (value: number) => void }) {
  const [shown, setShown] = useState(value);
  useEffect(() => setShown(value), [value]);
  return (
    <label class="slider">
      <span class="unseen">{label}</span>
      <input
        type="range"
        min={0}
        max={100}
        step={5}
        value={shown}
        style={{ "--part": `${shown}%` }}
        onInput={(event) => setShown(event.currentTarget.valueAsNumber)}
        onChange={(event) => onSet(event.currentTarget.valueAsNumber)}
      />
      <output>{percentOf(shown)}</output>
    </label>
  );
}

function isActive({ kind, state }: DeviceItem): boolean {
  if (kind === "lock") return state.locked === false; // an open door is what one wants to see
  if (kind === "person") return state.place === "home";
  return Boolean(state.on || state.playing) || isOpen({ state });
}

/** A blind that hangs half way is open, whether it says so or only how far. */
const isOpen = ({ state }: Pick<DeviceItem, "state">) => Boolean(state.open) || Number(state.position) > 0;

const degrees = (value: number) => `${value.toLocaleString(words.value.language, { maximumFractionDigits: 1 })} °`;

function stateOf({ reachable, kind, state, status, lacks }: DeviceItem): string {
  const say = words.value.home;
  if (!reachable) return say.unreachable;
  if (status) return capital(status);
  if (kind === "person") return say.whereUnknown;
  if (kind === "lock") return state.locked ? say.locked : say.unlocked;
  if (kind === "media")
    return state.playing ? String(state.title ?? say.playing) : state.on === false ? say.off : say.paused;
  if (kind === "cover" || kind === "valve") {
    const position = Number(state.position);
    if (position > 0 && position < 100) return say.openBy(percentOf(position));
    return state.open || position === 100 ? say.open : say.closed;
  }
  if (kind === "climate") {
    return state.measured === undefined
      ? state.on === false
        ? say.off
        : say.heats
      : say.measured(degrees(Number(state.measured)));
  }
  if (kind === "sensor") return sensed(state) || lacks;
  if ("on" in state) return state.on ? say.on : say.off;
  return lacks;
}

function sensed(state: Record<string, unknown>): string {
  const { value, unit } = state;
  if (typeof value === "boolean") return value ? words.value.home.yes : words.value.home.no;
  return value === undefined ? "" : `${value}${unit ? ` ${unit}` : ""}`;
}
