/** Which page is shown: the part of the address behind the #, so that one file serves them all, offline too. */

import { computed, signal } from "@preact/signals";

const path = signal(location.hash.slice(1));
addEventListener("hashchange", () => {
  path.value = location.hash.slice(1);
});

/** The page and what follows it: "#/notes/garden" is ["notes", "garden"]. */
export const route = computed(() => {
  const [page = "", ...rest] = path.value.replace(/^\//, "").split("/").map(decoded);
  return { page: page || "talk", rest };
});

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // "100%" in a link that somebody wrote, or one that was cut
  }
}

export const hrefOf = (...parts: string[]) => `#/${parts.map(encodeURIComponent).join("/")}`;

export function go(...parts: string[]): void {
  location.hash = hrefOf(...parts).slice(1);
}
