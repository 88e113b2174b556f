/** What came of a press that asks the house for something: one at a time, and a refusal in its own sentence. */

import { useState } from "preact/hooks";
import { HouseTrouble, sentenceOf } from "../house/api.ts";
import { words } from "../strings/index.ts";

export type FormResult =
  | { state: "none" | "working" }
  | { state: "done"; ok: boolean; sentence: string; field?: string }; // `field` is the one that the sentence is about

/** Return the result so far, and a function that does some work unless other work is under way. */
export function useFormResult(): [FormResult, (work: () => Promise<FormResult>) => Promise<void>] {
  const [result, setResult] = useState<FormResult>({ state: "none" });

  async function run(work: () => Promise<FormResult>): Promise<void> {
    if (result.state === "working") return;
    setResult({ state: "working" });
    try {
      setResult(await work());
    } catch (trouble) {
      if (!(trouble instanceof HouseTrouble)) throw trouble;
      const problems: Partial<Record<string, string>> = words.value.settings.problems;
      const sentence = problems[trouble.code] ?? sentenceOf(trouble);
      setResult({ state: "done", ok: false, sentence, field: trouble.field });
    }
  }
  return [result, run];
}
