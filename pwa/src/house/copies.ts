/** What is read where the house cannot be reached: the lists, as they were seen last, for whoever stands in the shop. */

const KEY = "atlas.lists"; // goes with everything else of whoever leaves
const LISTS = /^\/api\/lists(\/[^/?]+)?$/;
const MOST = 20;

export interface DataCopy<Data> {
  at: number; // milliseconds since 1970
  data: Data;
}

export function keepCopy(path: string, data: unknown): void {
  if (!LISTS.test(path)) return;
  const { [path]: _before, ...others } = all();
  const copies = Object.entries({ ...others, [path]: { at: Date.now(), data } }).slice(-MOST);
  try {
    localStorage.setItem(KEY, JSON.stringify(Object.fromEntries(copies)));
  } catch {
    // Storage is switched off or full: it lasts as long as the page.
  }
}

export function copyOf<Data>(path: string): DataCopy<Data> | null {
  return (all()[path] as DataCopy<Data> | undefined) ?? null;
}

function all(): Record<string, DataCopy<unknown>> {
  try {
    return JSON.parse(localStorage.getItem(KEY) ?? "{}");
  } catch {
    return {};
  }
}
