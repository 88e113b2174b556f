/** A page that is fetched when it is wanted. */

import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { newer } from "../house/offline.ts";
import { words } from "../strings/index.ts";

export function later(fetchPage: () => Promise<ComponentType>): ComponentType {
  let fetched: ComponentType | null = null;
  return function Later() {
    const [View, setView] = useState<ComponentType | null>(() => fetched);
    const [failed, setFailed] = useState(false);
    useEffect(() => {
      if (View) return;
      fetchPage().then(
        (page) => {
          fetched = page;
          setView(() => page);
        },
        () => setFailed(true),
      );
    }, []);
    if (View) return <View />;
    const why = newer.value ? words.value.shell.update : words.value.trouble.gone; // the old app's files are gone then
    return <p class="loading">{failed ? why : words.value.shell.asking}</p>;
  };
}
