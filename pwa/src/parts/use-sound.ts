/** A sound of the house that is fetched when somebody wants to hear it. */

import { type Signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { HouseTrouble, requestSound, sentenceOf } from "../house/api.ts";
import { tell } from "../house/deeds.ts";

/** Return its address in this browser, "" until it was fetched, and what fetches it. */
export function useSound(path: string): [Signal<string>, () => void] {
  const sound = useSignal("");
  useEffect(() => () => URL.revokeObjectURL(sound.value), []);

  async function load(): Promise<void> {
    try {
      sound.value = URL.createObjectURL(await requestSound(path));
    } catch (trouble) {
      if (!(trouble instanceof HouseTrouble)) throw trouble;
      tell(sentenceOf(trouble), true);
    }
  }

  return [sound, load];
}
