/** One field and a button: what is typed stays until it was taken. */

import { useSignal } from "@preact/signals";
import { words } from "../strings/index.ts";
import { TextField } from "./fields.tsx";

interface WordsFormProperties {
  label: string;
  placeholder: string;
  onAdd: (text: string) => Promise<unknown>;
}

export function WordsForm({ label, placeholder, onAdd }: WordsFormProperties) {
  const text = useSignal("");
  async function add(event: SubmitEvent): Promise<void> {
    event.preventDefault();
    const typed = text.value.trim();
    if (typed && (await onAdd(typed))) text.value = "";
  }
  return (
    <form class="add" onSubmit={add}>
      <TextField unseenLabel label={label} value={text} placeholder={placeholder} maxLength={200} />
      <button type="submit" class="solid">
        {words.value.shell.add}
      </button>
    </form>
  );
}
