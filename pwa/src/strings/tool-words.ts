/** What tools do, in the language that is shown: fetched with the pages of the house, and German when it is wanted. */

import { effect, signal } from "@preact/signals";
import { en, type ToolWords } from "./en-tools.ts";
import { words } from "./index.ts";

export const toolWords = signal<ToolWords>(en);

const others: Partial<Record<string, () => Promise<ToolWords>>> = {
  de: async () => (await import("./de-tools.ts")).de,
};

effect(() => {
  const fetchWords = others[words.value.language];
  if (!fetchWords) toolWords.value = en;
  else
    void fetchWords().then((fetched) => {
      toolWords.value = fetched;
    });
});
