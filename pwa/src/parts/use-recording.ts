/** A button that records: a press begins, the next one ends and hands over the sound. */

import { type Signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { tell } from "../house/deeds.ts";
import { words } from "../strings/index.ts";
import { base64Of, Recording } from "../voice/recording.ts";

/** Return the recording that runs, and what a press does; `onSound` gets what was recorded, in base64. */
export function useRecording(onSound: (sound: string) => Promise<void>): [Signal<Recording | null>, () => void] {
  const recording = useSignal<Recording | null>(null);
  useEffect(() => () => recording.value?.drop(), []);

  async function press(): Promise<void> {
    if (recording.value) return recording.value.end();
    const trouble = await Recording.begin((begun) => {
      recording.value = begun;
    }, end);
    if (trouble) tell(words.value.messages.troubles[trouble], true);
  }

  async function end(sound: Blob | null): Promise<void> {
    recording.value = null;
    if (sound?.size) await onSound(await base64Of(sound));
  }

  return [recording, press];
}
