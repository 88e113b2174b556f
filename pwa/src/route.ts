/** Which page is shown: the part of the address behind the #, so that one file serves them all, offline too. */

import { computed, signal } from "@preact/signals";

const path = signal(location.hash.slice(1));
addEventListener("hashchange", () => {
  path.value = location.hash.slice(1);
});

/** The page and what follows it: "#/notes/garden" is ["notes", "garden"]. */
export const route = computed(() => {
  const [page = "", ...rest] = path.value.replace(/^\//, "").split("/").map(decodeURIComponent);
  return { page: page || "talk", rest };
});

export const hrefOf = (...parts: string[]) => `#/${parts.map(encodeURIComponent).join("/")}`;

export function go(...parts: string[]): void {
  location.hash = hrefOf(...parts).slice(1);
}
