/** What is read where the house cannot be reached: the lists, as they were seen last, for whoever stands in the shop. */

const KEY = "atlas.lists"; // goes with everything else of whoever leaves
const LISTS = /^\/api\/lists(\/[^/?]+)?$/;
const MOST = 20;

export interface Kept<Data> {
  at: number; // milliseconds since 1970
  data: Data;
}

export function keep(path: string, data: unknown): void {
  if (!LISTS.test(path)) return;
  const { [path]: _before, ...others } = all();
  const kept = Object.entries({ ...others, [path]: { at: Date.now(), data } }).slice(-MOST);
  try {
    localStorage.setItem(KEY, JSON.stringify(Object.fromEntries(kept)));
  } catch {
    // Storage is switched off or full: it lasts as long as the page.
  }
}

export function keptOf<Data>(path: string): Kept<Data> | null {
  return (all()[path] as Kept<Data> | undefined) ?? null;
}

function all(): Record<string, Kept<unknown>> {
  try {
    return JSON.parse(localStorage.getItem(KEY) ?? "{}");
  } catch {
    return {};
  }
}
