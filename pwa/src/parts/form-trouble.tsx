/** Why the house did not take what is in a form, inside that form: a sheet hides the page with its outcomes. */

import type { FormResult } from "./form-result.ts";

export function FormTrouble({ result }: { result: FormResult }) {
  return (
    <p class="trouble" role="alert">
      {result.state === "done" && !result.ok && result.sentence}
    </p>
  );
}
