/** How this device is reached when something waits for its person: every way, and which is in force. */

import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { PushReply, PushTried } from "../api.ts";
import { request } from "../house/api.ts";
import { useLive } from "../house/live.ts";
import { installOffer } from "../house/offline.ts";
import { beginPush, canPush, endPushHere, type PushTrouble, renewPush } from "../house/push.ts";
import { type FormResult, useFormResult } from "../parts/form-result.ts";
import { Icon } from "../parts/icon.tsx";
import { Loaded } from "../parts/loaded.tsx";
import { dateOf } from "../parts/when.ts";
import { words } from "../strings/index.ts";

const isInstalled = () => matchMedia("(display-mode: standalone)").matches;
const permission = () => ("Notification" in window ? Notification.permission : "denied");

type Force = "now" | "closed" | "unused";

export function Reach() {
  const live = useLive<PushReply>("/api/push");
  const say = words.value.more.reach;
  const known = live.data.value;
  useEffect(() => {
    if (known) void renewPush(known);
  }, [known?.endpoint]);
  return (
    <section aria-labelledby="reach">
      <h2 id="reach">{say.title}</h2>
      <p class="soft">{say.how}</p>
      <Loaded live={live}>
        {(state) => (
          <>
            <ol class="card rows">
              <Rung name={say.open} how={say.openHow} force="now" />
              <Background />
              <Push state={state} onChange={() => live.refresh()} />
              <Rung
                name={say.rooms}
                how={state.rooms.length ? say.roomsAre(state.rooms.join(", ")) : say.noRooms}
                force={state.rooms.length ? "closed" : "unused"}
              />
            </ol>
            {!state.service && !state.rooms.length && <p class="soft">{say.nothing}</p>}
          </>
        )}
      </Loaded>
    </section>
  );
}

function Rung({
  name,
  how,
  force,
  children,
}: {
  name: string;
  how: string;
  force: Force;
  children?: ComponentChildren;
}) {
  const say = words.value.more.reach;
  return (
    <li class="row rung" data-force={force}>
      <span class={force === "unused" ? "soft" : "good"}>
        <Icon name={force === "unused" ? "minus" : "check"} size={20} />
      </span>
      <div class="grow">
        <p class="name">
          {name}
          <span class="count">{say[force]}</span>
        </p>
        <p class="soft">{how}</p>
        {children}
      </div>
    </li>
  );
}

function Background() {
  const say = words.value.more.reach;
  const [allowed, setAllowed] = useState(permission());
  const ready = allowed === "granted";
  return (
    <Rung name={say.background} how={say.backgroundHow} force={ready ? "now" : "unused"}>
      {ready && <p class="soft">{say.allowed}</p>}
      {allowed === "denied" && <p class="trouble">{say.barred}</p>}
      <p class="ways">
        {allowed === "default" && (
          <button
            type="button"
            class="plain"
            onClick={() => Notification.requestPermission().then((answer) => setAllowed(answer))}
          >
            {say.notify}
          </button>
        )}
        {installOffer.value && !isInstalled() && (
          <button type="button" class="plain" onClick={() => installOffer.value?.prompt()}>
            {words.value.more.install}
          </button>
        )}
      </p>
    </Rung>
  );
}

function Push({ state, onChange }: { state: PushReply; onChange: () => void }) {
  const say = words.value.more.reach;
  const [result, run] = useFormResult();
  const working = result.state === "working";

  const doing = (work: () => Promise<FormResult>) => run(work).then(onChange);
  async function begin(): Promise<FormResult> {
    const begun: PushReply | PushTrouble = await beginPush(state.key);
    return typeof begun === "string" ? { state: "done", ok: false, sentence: say[begun] } : { state: "none" };
  }
  async function end(): Promise<FormResult> {
    await endPushHere();
    return { state: "none" };
  }
  async function test(): Promise<FormResult> {
    const { sent } = await request<PushTried>("/api/push/test", {});
    return { state: "done", ok: sent, sentence: sent ? say.sent : say.notSent };
  }
  const offered = state.services.length > 0 && canPush();
  return (
    <Rung name={say.push} how={say.pushHow} force={state.service ? "closed" : "unused"}>
      {state.service && <p>{say.pushOn(state.service, dateOf(new Date((state.since ?? 0) * 1000)))}</p>}
      {!state.services.length && <p>{say.pushOff}</p>}
      {state.services.length > 0 && !canPush() && <p>{say.pushNone}</p>}
      <div role="status">
        {working && <p class="soft">{say.beginning}</p>}
        {result.state === "done" && <p class={result.ok ? "good" : "trouble"}>{result.sentence}</p>}
      </div>
      <p class="ways">
        {state.service ? (
          <>
            <button type="button" class="plain" aria-disabled={working} onClick={() => doing(test)}>
              {say.test}
            </button>
            <button type="button" class="plain" aria-disabled={working} onClick={() => doing(end)}>
              {say.end}
            </button>
          </>
        ) : (
          offered && (
            <button type="button" class="solid" aria-disabled={working} onClick={() => doing(begin)}>
              {say.begin}
            </button>
          )
        )}
      </p>
    </Rung>
  );
}
