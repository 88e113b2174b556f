/** A file of the house's, fetched with this person's token and given to the browser to store. */

import { HouseTrouble, requestText, sentenceOf } from "../house/api.ts";
import { tell } from "../house/deeds.ts";

export async function download(path: string, name: string, type: string): Promise<void> {
  try {
    const text = await requestText(path);
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type }));
    link.download = name;
    link.click();
    URL.revokeObjectURL(link.href);
  } catch (trouble) {
    if (!(trouble instanceof HouseTrouble)) throw trouble;
    tell(sentenceOf(trouble), true);
  }
}
