/** Models: what thinks, hears and speaks here, what else could, and how much room there is. */

import type { ModelItem, ModelsReply } from "../../api.ts";
import { useLive } from "../../house/live.ts";
import { Loaded } from "../../parts/loaded.tsx";
import { words } from "../../strings/index.ts";

export function bytesOf(bytes: number): string {
  const [size, unit] = bytes >= 1e9 ? [bytes / 1e9, "GB"] : bytes >= 1e6 ? [bytes / 1e6, "MB"] : [bytes / 1e3, "kB"];
  return `${size.toLocaleString(words.value.language, { maximumFractionDigits: size < 10 ? 1 : 0 })} ${unit}`;
}

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
                <li key={model.name} class="row">
                  <div class="grow">
                    <p class="name">{model.title}</p>
                    <p class="soft">
                      {[
                        say.modelRoles[model.role as keyof typeof say.modelRoles] ?? model.role,
                        bytesOf(model.bytes),
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
                </li>
              ))}
            </ul>
            <p class="soft">{say.pull}</p>
          </section>
        );
      }}
    </Loaded>
  );
}

const rank = ({ in_use, on_disk }: ModelItem) => (in_use ? 0 : on_disk ? 1 : 2);
