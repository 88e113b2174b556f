/** What the forms of the policy share: the sheet around a form, chips to choose from, the ways into it, an id, and saving. */

import type { ComponentChildren } from "preact";
import type { PolicySaved } from "../../api.ts";
import { request } from "../../house/api.ts";
import { tell } from "../../house/deeds.ts";
import type { FormResult } from "../../parts/form-result.ts";
import { FormTrouble } from "../../parts/form-trouble.tsx";
import { Sheet } from "../../parts/sheet.tsx";
import { words } from "../../strings/index.ts";

interface RowSheetProperties {
  title: string;
  submit: string; // what the button says
  result: FormResult;
  wide?: boolean; // as the form of a rule is
  onSubmit: () => void;
  onClose: () => void;
  children: ComponentChildren;
}

/** The sheet in which one row is changed or taken out: its fields, what went wrong, and the button. */
export function RowSheet({ title, submit, result, wide = false, onSubmit, onClose, children }: RowSheetProperties) {
  return (
    <Sheet title={title} onClose={onClose}>
      <form
        class={wide ? "fields rule-form" : "fields"}
        onSubmit={(event) => {
          event.preventDefault();
          onSubmit();
        }}
      >
        {children}
        <FormTrouble result={result} />
        <p class="answers">
          <button type="submit" class="solid" aria-disabled={result.state === "working"}>
            {submit}
          </button>
        </p>
      </form>
    </Sheet>
  );
}

interface ChipsProperties {
  title: string;
  choices: Record<string, string>;
  marked: string[];
  onChange: (marked: string[]) => void;
  note?: string; // what it means that none is marked
  one?: boolean; // exactly one of them
}

export function Chips({ title, choices, marked, onChange, note = "", one = false }: ChipsProperties) {
  return (
    <fieldset class="marks">
      <legend>{title}</legend>
      <div class="chips">
        {Object.entries(choices).map(([name, text]) => (
          <label key={name} class="plain chip choice">
            <input
              type={one ? "radio" : "checkbox"}
              name={one ? title : undefined}
              checked={marked.includes(name)}
              onChange={(event) => {
                const others = one ? [] : marked.filter((other) => other !== name);
                onChange(event.currentTarget.checked ? [...others, name] : others);
              }}
            />
            <span>{text}</span>
          </label>
        ))}
      </div>
      {note && !marked.length && <p class="soft">{note}</p>}
    </fieldset>
  );
}

/** Those that the house knows, and those that are marked besides. */
export const named = (known: string[], marked: string[], nameOf = (name: string) => name) =>
  Object.fromEntries([...new Set([...known, ...marked])].map((name) => [name, nameOf(name)]));

/** The ways into the form of one row: to change it, or to take it out. */
export function ChangeOrRemove({ what, onPick }: { what: string; onPick: (removes: boolean) => void }) {
  const { change, remove } = words.value.house.rule;
  return (
    <p class="ways">
      <button type="button" class="quiet" aria-label={`${change}: ${what}`} onClick={() => onPick(false)}>
        {change}
      </button>
      <button type="button" class="quiet" aria-label={`${remove}: ${what}`} onClick={() => onPick(true)}>
        {remove}
      </button>
    </p>
  );
}

/** Save one row, or take it out where it has no values, and tell so. */
export async function saveRow(kind: "rules" | "rates" | "budgets", id: string, values?: object): Promise<void> {
  const { by_hand } = await request<PolicySaved>(`/api/${kind}/${id}`, values, values ? "PUT" : "DELETE");
  const { settings } = words.value;
  tell(by_hand.length ? settings.byHand(by_hand.join(", ")) : settings.saved);
}

/** An id for a new row, of a sentence about it: small letters, digits and hyphens, and like no other. */
export function idOf(sentence: string, rows: readonly { id: string }[]): string {
  const plain = sentence
    .toLowerCase()
    .replaceAll("ß", "ss")
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "");
  const base = (plain.length > 40 ? plain.slice(0, 41).replace(/-[^-]*$/, "") : plain) || "row";
  const taken = new Set(rows.map(({ id }) => id));
  for (let number = 1; ; number++) {
    const id = number === 1 ? base : `${base}-${number}`;
    if (!taken.has(id)) return id;
  }
}
