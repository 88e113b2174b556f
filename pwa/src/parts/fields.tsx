/** Fields of a form, each with its label: a line of text, and a search. */

import type { Signal } from "@preact/signals";
import { Icon } from "./icon.tsx";

interface TextFieldProperties {
  label: string;
  unseenLabel?: boolean; // it is read out, and seen in the placeholder
  value: Signal<string>;
  maxLength?: number;
  type?: "date" | "time";
  required?: boolean;
  placeholder?: string;
  list?: string; // the id of what it suggests
}

export function TextField({ label, unseenLabel, value, ...more }: TextFieldProperties) {
  const attributes: Record<string, unknown> = more; // what fits one kind of input, the types deny to another
  return (
    <label>
      {unseenLabel ? <span class="unseen">{label}</span> : label}
      <input
        {...attributes}
        value={value.value}
        onInput={(event) => {
          value.value = event.currentTarget.value;
        }}
      />
    </label>
  );
}

export function SearchField({ label, value }: { label: string; value: Signal<string> }) {
  return (
    <label class="search">
      <Icon name="search" size={20} />
      <span class="unseen">{label}</span>
      <input
        type="search"
        placeholder={label}
        maxLength={200}
        value={value.value}
        onInput={(event) => {
          value.value = event.currentTarget.value;
        }}
      />
    </label>
  );
}
