/** What somebody may do; what a rule refuses them anyway is not offered, and it is said why. */

import type { ComponentChildren } from "preact";
import { refusalOf } from "../house/refused.ts";
import { Icon } from "./icon.tsx";

export function Allowed({ tool, children }: { tool: string; children?: ComponentChildren }) {
  const because = refusalOf(tool);
  return because ? <Refused because={because} /> : children;
}

/** What is refused, and why. */
export function Refused({ because }: { because: string }) {
  return (
    <p class="soft refused">
      <Icon name="lock" size={18} />
      <span>{because}</span>
    </p>
  );
}
