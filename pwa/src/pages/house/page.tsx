/** The house, for its owner: how it is, what took how long, who may come in, what left it. */

import type { ComponentType } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Boundary } from "../../parts/boundary.tsx";
import { later } from "../../parts/later.tsx";
import { hrefOf, route } from "../../route.ts";
import { words } from "../../strings/index.ts";
import { Devices } from "./devices.tsx";
import { Health } from "./health.tsx";
import { Models } from "./models.tsx";
import { Now } from "./now.tsx";
import { Record as RecordTab } from "./record.tsx";
import { Rules } from "./rules.tsx";
import { Sentences } from "./sentences.tsx";
import { Settings } from "./settings.tsx";
import { Turns } from "./turns.tsx";

type TabName = keyof typeof words.value.house.tabs;

const TABS: Record<TabName, ComponentType> = {
  now: Now,
  turns: Turns,
  devices: Devices,
  record: RecordTab,
  rules: Rules,
  sentences: Sentences,
  wake: later(async () => (await import("./wake.tsx")).Wake),
  models: Models,
  settings: Settings,
  health: Health,
  log: later(async () => (await import("./log.tsx")).Log),
};

export function House() {
  const say = words.value.house;
  const [tab = "now"] = route.value.rest;
  const current = useRef<HTMLAnchorElement>(null);
  useEffect(() => current.current?.scrollIntoView({ inline: "center", block: "nearest" }), [tab]);
  const View = TABS[tab as TabName] ?? Now;
  return (
    <div class="page wide">
      <h1>{words.value.pages.house}</h1>
      <nav class="tabs" aria-label={words.value.pages.house}>
        <ul class="chips">
          {(Object.keys(TABS) as TabName[]).map((name) => (
            <li key={name}>
              <a
                ref={name === tab ? current : undefined}
                class="plain chip"
                href={hrefOf("house", name)}
                aria-current={name === tab ? "page" : undefined}
              >
                {say.tabs[name]}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <Boundary>
        <View />
      </Boundary>
    </div>
  );
}
