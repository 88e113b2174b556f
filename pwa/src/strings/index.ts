/** The words of the language in force; English is always there, others are fetched when they are wanted. */

import { effect, signal } from "@preact/signals";
import { preferences } from "../house/preferences.ts";
import { en, type Words } from "./en.ts";

export const words = signal<Words>(en);

const others: Partial<Record<string, () => Promise<Words>>> = {
  de: async () => (await import("./de.ts")).de,
};

/** The words of another language than that in force; English where there are none. */
export async function wordsOf(language: string): Promise<Words> {
  return (await others[language]?.()) ?? en;
}

effect(() => {
  document.documentElement.dir = words.value.direction;
});

effect(() => {
  const wanted = preferences.value.language === "auto" ? navigator.language.slice(0, 2) : preferences.value.language;
  const fetchWords = others[wanted];
  document.documentElement.lang = fetchWords ? wanted : "en";
  if (!fetchWords) words.value = en;
  else
    void fetchWords().then((fetched) => {
      words.value = fetched;
    });
});
