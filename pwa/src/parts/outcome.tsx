/** The outcome of a press, for a few seconds: the house's sentence, and undo where there is one. */

import { dismiss, outcome, undo } from "../house/deeds.ts";
import { hrefOf } from "../route.ts";
import { words } from "../strings/index.ts";
import { Icon } from "./icon.tsx";

export function OutcomeBar() {
  const shown = outcome.value;
  return (
    <div class="outcome-place" role="status">
      {shown && (
        <div class="outcome" data-bad={shown.bad}>
          <p>
            {shown.page ? (
              <a href={hrefOf(shown.page)} onClick={dismiss}>
                {shown.sentence}
              </a>
            ) : (
              shown.sentence
            )}
          </p>
          {shown.receipt && (
            <button type="button" class="quiet" onClick={() => undo(shown.receipt)}>
              <Icon name="undo" size={18} />
              {words.value.talk.undo}
            </button>
          )}
          <button type="button" class="quiet" aria-label={words.value.shell.close} onClick={dismiss}>
            <Icon name="close" size={18} />
          </button>
        </div>
      )}
    </div>
  );
}
