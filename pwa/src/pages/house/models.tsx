/** Models: what thinks, hears and speaks here, what else could, and how much room there is. */

import { useEffect } from "preact/hooks";
import type { ModelChosen, ModelItem, ModelsReply, SettingFormsReply } from "../../api.ts";
import { choosable } from "../../house/agent.ts";
import { act, tell } from "../../house/deeds.ts";
import { useLive } from "../../house/live.ts";
import { me } from "../../house/me.ts";
import { agentName } from "../../parts/agent-switch.tsx";
import { bytesOf } from "../../parts/amounts.ts";
import { Loaded } from "../../parts/loaded.tsx";
import { words } from "../../strings/index.ts";
import { FormCard } from "./settings.tsx";

export function Models() {
  const live = useLive<ModelsReply>("/api/models");
  const say = words.value.house;
  return (
    <Loaded live={live}>
      {({ models, memory }) => {
        const sorted = models.toSorted((one, other) => rank(one) - rank(other) || one.role.localeCompare(other.role));
        return (
          <section aria-labelledby="models">
            <h2 id="models">{say.tabs.models}</h2>
            <p class="soft">{memory.map(({ name, free_bytes }) => say.free(name, bytesOf(free_bytes))).join(" · ")}</p>
            <ul class="card rows">
              {sorted.map((model) => (
                <li key={model.name} class="row model">
                  <div class="grow">
                    <p class="name">{model.summary}</p>
                    <p>{here(model)}</p>
                    <p class="soft">
                      {[
                        model.title,
                        say.modelRoles[model.role as keyof typeof say.modelRoles] ?? model.role,
                        (model.on_disk ? words.value.models.onDisk : words.value.models.toFetch)(bytesOf(model.bytes)),
                        model.licence,
                        model.needs,
                      ]
                        .filter(Boolean)
                        .join(" · ")}
                    </p>
                  </div>
                  <span class={model.in_use ? "count good" : "count"}>
                    {model.in_use ? say.inUse : model.on_disk ? say.onDisk : say.notHere}
                  </span>
                  <Deeds model={model} onDone={() => live.refresh()} />
                </li>
              ))}
            </ul>
            <p class="soft">{say.pull}</p>
            <Cards names={memory.slice(1).map(({ name }) => name)} />
          </section>
        );
      }}
    </Loaded>
  );
}

const WORDS_OF_A_TOKEN = 0.75;
const LISTENED_TO = 3; // tokens a second: what is slower than speech is waited for

/** What a model is like on this machine, as far as that can be told before it runs. */
function here({ memory_bytes, fits, tokens_per_second, command_seconds }: ModelItem): string {
  const say = words.value.models;
  const number = (value: number, digits: number) =>
    value.toLocaleString(words.value.language, { maximumFractionDigits: digits });
  if (!fits) return say.tooLargeHere(bytesOf(memory_bytes));
  const memory = say.takes(bytesOf(memory_bytes));
  if (tokens_per_second !== null) {
    const perSecond = tokens_per_second * WORDS_OF_A_TOKEN;
    const pace = say.pace(number(perSecond, perSecond < 3 ? 1 : 0));
    return `${memory} ${pace} ${tokens_per_second < LISTENED_TO ? say.slow : ""}`.trim();
  }
  return command_seconds === null ? memory : `${memory} ${say.hearsIn(number(command_seconds, 1))}`;
}

/** Which card computes how much of each model; a machine without one says so. */
function Cards({ names }: { names: string[] }) {
  const live = useLive<SettingFormsReply>("/api/setting-forms");
  const say = words.value.models;
  return (
    <Loaded live={live}>
      {({ forms }) => {
        const form = forms.find((one) => one.form === "gpu");
        const isSet = form?.fields.some(({ origin }) => origin !== "default");
        return (
          <>
            <p class="soft">
              {names.length ? say.cards(names.map((name, number) => `${number}: ${name}`).join(", ")) : say.noGpu}
            </p>
            {form && form.fields.length > 0 && (names.length > 0 || isSet) && (
              <FormCard form={form} count={1} onSaved={() => live.refresh()} />
            )}
          </>
        );
      }}
    </Loaded>
  );
}

/** What can be done about a model: fetch it, stop that, use it. */
function Deeds({ model, onDone }: { model: ModelItem; onDone: () => Promise<void> }) {
  const say = words.value.models;
  const path = `/api/models/${encodeURIComponent(model.name)}`;
  const { pull } = model;
  const agents = choosable.value.length ? choosable.value : (me.value?.agents ?? []);
  const moving = pull !== null && !pull.error;
  useEffect(() => {
    if (!moving) return;
    const timer = setInterval(onDone, PROGRESS_MS);
    return () => clearInterval(timer);
  }, [moving]);
  async function fetchIt(): Promise<void> {
    await act("POST", `${path}/pull`, {}, true);
    await onDone();
  }
  async function stop(): Promise<void> {
    await act("DELETE", `${path}/pull`);
    await onDone();
  }
  async function use(agent: string): Promise<void> {
    const chosen = await act<ModelChosen>("POST", `${path}/use`, { agent }, true);
    if (chosen) tell(`${choiceSentence(chosen, model.title)} ${say.nextStart}`);
    await onDone();
  }
  if (moving && pull) {
    return (
      <div class="pull">
        <progress max={Math.max(1, pull.total)} value={pull.done} aria-label={say.fetching(model.title)} />
        <span class="soft">{pull.waiting ? say.waits : say.progress(bytesOf(pull.done), bytesOf(pull.total))}</span>
        <button type="button" class="quiet" aria-label={`${words.value.talk.stop}: ${model.title}`} onClick={stop}>
          {words.value.talk.stop}
        </button>
      </div>
    );
  }
  return (
    <>
      {pull?.error && <p class="trouble">{pull.error}</p>}
      {!model.on_disk && !model.pullable && (
        <p class="soft by-terminal">
          {words.value.house.pullByTerminal} <code>atlas models pull {model.name}</code>
        </p>
      )}
      {!model.on_disk && model.pullable && (
        <button type="button" class="plain" aria-label={say.fetchOf(model.title)} onClick={fetchIt}>
          {pull?.error ? words.value.trouble.again : say.fetch}
        </button>
      )}
      {model.on_disk && model.usable && model.role !== "llm" && !model.in_use && (
        <button type="button" class="plain" aria-label={`${say.use}: ${model.title}`} onClick={() => use("")}>
          {say.use}
        </button>
      )}
      {model.on_disk && model.usable && model.role === "llm" && (
        <span class="chips">
          <span class="soft">{say.usedFor}</span>
          {agents.map((agent) => (
            <button
              key={agent}
              type="button"
              class="plain chip"
              aria-pressed={model.chosen_for.includes(agent)}
              aria-label={`${say.useFor(agentName(agent))}: ${model.title}`}
              onClick={() => use(agent)}
            >
              {agentName(agent)}
            </button>
          ))}
        </span>
      )}
    </>
  );
}

/** What a choice comes to: who uses it, and where it finds room. */
function choiceSentence({ agent, role, fits, gpu_bytes, ram_bytes }: ModelChosen, title: string): string {
  const say = words.value.models;
  if (!agent) return role === "stt" ? say.hears(title) : say.speaks(title);
  const places = [
    gpu_bytes > 0 ? say.onGpu(bytesOf(gpu_bytes)) : "",
    ram_bytes > 0 ? say.inRam(bytesOf(ram_bytes)) : "",
  ].filter(Boolean);
  return `${say.thinks(agentName(agent), title)} ${fits ? say.needs(places.join(", ")) : say.tooLarge}`;
}

const PROGRESS_MS = 1_000;

const rank = ({ in_use, on_disk }: ModelItem) => (in_use ? 0 : on_disk ? 1 : 2);
