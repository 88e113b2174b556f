/** Now: the parts of the house, where somebody talks, who can be talked to, and what was used today. */

import { useEffect } from "preact/hooks";
import type { AgentsReply, HealthReply, PresentReply, RoomsReply, UsageReply } from "../../api.ts";
import { useLive } from "../../house/live.ts";
import { agentName } from "../../parts/agent-switch.tsx";
import { Icon } from "../../parts/icon.tsx";
import { Loaded } from "../../parts/loaded.tsx";
import { LogLine } from "../../parts/log-line.tsx";
import { words } from "../../strings/index.ts";
import { Load } from "./load.tsx";
import { Upstream } from "./upstream.tsx";

export function Now() {
  return (
    <>
      <Parts />
      <Present />
      <Load />
      <Agents />
      <Usage />
      <Rooms />
      <Upstream />
    </>
  );
}

function Parts() {
  const live = useLive<HealthReply>("/api/health");
  const say = words.value.house;
  return (
    <section aria-labelledby="parts">
      <h2 id="parts">{say.parts}</h2>
      <Loaded live={live}>
        {({ ok, warming_up, parts, version, uptime_seconds }) => (
          <>
            <p class={ok ? "good" : warming_up ? "soft" : "trouble"}>
              {ok ? say.allWell : warming_up ? say.warmingUp : say.notWell}{" "}
              {say.since(version, lengthOf(uptime_seconds))}
            </p>
            <ul class="card rows">
              {parts.map((part) => (
                <li key={part.name} class="row">
                  <span class={part.ok ? "good" : part.warming_up ? "soft" : "trouble"}>
                    <Icon name={part.ok ? "check" : part.warming_up ? "pulse" : "close"} size={20} />
                  </span>
                  <div class="grow">
                    <p class="name">{partName(part.name)}</p>
                    <p class="soft">{part.what}</p>
                    <LogLine text={part.log} />
                    {part.hint && <p>{part.hint}</p>}
                  </div>
                </li>
              ))}
            </ul>
          </>
        )}
      </Loaded>
    </section>
  );
}

function partName(name: string): string {
  const say = words.value.house;
  if (name.startsWith("llm ")) return say.modelOf(name.slice(4));
  const known: Partial<Record<string, string>> = say.partNames;
  return known[name] ?? name;
}

function lengthOf(seconds: number): string {
  const say = words.value.house;
  if (seconds < 90) return say.seconds(Math.round(seconds));
  if (seconds < 5400) return say.minutes(Math.round(seconds / 60));
  return seconds < 172_800 ? say.hours(Math.round(seconds / 3600)) : say.days(Math.round(seconds / 86_400));
}

function Agents() {
  const live = useLive<AgentsReply>("/api/agents");
  const say = words.value.house;
  return (
    <section aria-labelledby="agents">
      <h2 id="agents">{say.agents}</h2>
      <Loaded live={live}>
        {({ agents }) => (
          <ul class="card rows">
            {agents.map((agent) => (
              <li key={agent.name} class="row column-row">
                <p class="name">
                  {agentName(agent.name)}
                  {agent.usual && <span class="count">{say.usual}</span>}
                </p>
                <p class="soft">
                  {agent.model} · {say.calledBy(agent.wake_words.join(", ").replaceAll("_", " "))}
                </p>
              </li>
            ))}
          </ul>
        )}
      </Loaded>
    </section>
  );
}

/** How many percent of its day an agent has used; `null` where nothing limits it. */
const partOf = ({ budget, spent }: UsageReply["agents"][number]) =>
  budget === null || spent === null ? null : Math.ceil((100 * spent) / Math.max(1, budget));

function Usage() {
  const live = useLive<UsageReply>("/api/usage");
  const say = words.value.house;
  return (
    <section aria-labelledby="usage">
      <h2 id="usage">{say.usage}</h2>
      <Loaded live={live}>
        {({ agents }) => (
          <ul class="card rows">
            {agents.map((one) => (
              <li key={one.agent} class="row column-row">
                <p class="name">{agentName(one.agent)}</p>
                <p class="soft">{say.used(one.calls ?? 0, partOf(one))}</p>
                {one.budget !== null && one.spent !== null && (
                  <progress max={one.budget} value={one.spent} aria-label={agentName(one.agent)} />
                )}
              </li>
            ))}
          </ul>
        )}
      </Loaded>
    </section>
  );
}

const PRESENT_MS = 2_000; // a request is answered within seconds, and is to be seen until then

/** What is connected now, and where somebody talks. */
function Present() {
  const live = useLive<PresentReply>("/api/rooms/present");
  const say = words.value.house;
  useEffect(() => {
    const timer = setInterval(() => document.hidden || void live.refresh(), PRESENT_MS);
    return () => clearInterval(timer);
  }, [live]);
  return (
    <section aria-labelledby="present">
      <h2 id="present">{say.present}</h2>
      <Loaded live={live}>
        {({ devices }) =>
          devices.length ? (
            <ul class="card rows">
              {devices.map(({ name, room, talking, person }) => (
                <li key={`${room} ${name}`} class="row">
                  <Icon name={talking ? "sound" : room ? "home" : "device"} />
                  <span class="name">{name}</span>
                  <span class="soft grow">{room}</span>
                  {talking && <span class="count good">{person ? say.talks(person) : say.somebodyTalks}</span>}
                </li>
              ))}
            </ul>
          ) : (
            <p class="soft">{say.nonePresent}</p>
          )
        }
      </Loaded>
    </section>
  );
}

function Rooms() {
  const live = useLive<RoomsReply>("/api/rooms", "home");
  const say = words.value.house;
  return (
    <section aria-labelledby="rooms">
      <h2 id="rooms">{say.rooms}</h2>
      <Loaded live={live}>
        {({ rooms }) =>
          rooms.length ? (
            <ul class="card rows">
              {rooms.map((room) => (
                <li key={room.name} class="row">
                  <span class="name">{room.name}</span>
                  <span class="soft">{room.devices.join(", ") || say.noSatellite}</span>
                </li>
              ))}
            </ul>
          ) : (
            <p class="soft">{say.noRooms}</p>
          )
        }
      </Loaded>
    </section>
  );
}
