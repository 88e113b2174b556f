/** What a person chose for this browser: language and look. */

import { effect, signal } from "@preact/signals";

const KEY = "atlas.preferences";

export interface Preferences {
  language: "auto" | "en" | "de";
  look: "auto" | "light" | "dark";
  aloud: boolean;
}

const USUAL: Preferences = { language: "auto", look: "auto", aloud: true };

export const preferences = signal<Preferences>(remembered());

export function prefer(some: Partial<Preferences>): void {
  preferences.value = { ...preferences.value, ...some };
  try {
    localStorage.setItem(KEY, JSON.stringify(preferences.value));
  } catch {
    // Storage is switched off: it lasts as long as the page.
  }
}

function remembered(): Preferences {
  try {
    return { ...USUAL, ...JSON.parse(localStorage.getItem(KEY) ?? "{}") };
  } catch {
    return USUAL;
  }
}

effect(() => {
  const { look } = preferences.value;
  document.documentElement.style.colorScheme = look === "auto" ? "light dark" : look;
});
