/** Says who listens, and has another agent listen; nothing where there is only one. */

import { agent, choosable, choose } from "../house/agent.ts";
import { words } from "../strings/index.ts";

export const agentName = (name: string) => words.value.talk.agents[name] ?? name;

export function AgentSwitch({ label = words.value.talk.whoListens }: { label?: string }) {
  const names = choosable.value;
  if (!names.length) return null;
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset draws a frame, and its legend stands in the frame
    <div class="chips agents" role="group" aria-label={label}>
      {names.map((name) => (
        <button
          key={name}
          type="button"
          class="plain chip"
          aria-pressed={name === (agent.value || names[0])}
          onClick={() => choose(name)}
        >
          {agentName(name)}
        </button>
      ))}
    </div>
  );
}
