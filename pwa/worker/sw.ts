/** The service worker: the app's own files, kept; nothing that the house says ever is. */

// The build writes which files these are.
declare const self: ServiceWorkerGlobalScope & { __atlas?: { version: string; files: string[] } };

const { version, files } = self.__atlas ?? { version: "none", files: [] };
const SHELF = `atlas-${version}`;

self.addEventListener("install", (event) => {
  event.waitUntil(
    caches.open(SHELF).then((shelf) => shelf.addAll(files.map((file) => new Request(file, { cache: "reload" })))),
  );
});

self.addEventListener("activate", (event) => {
  event.waitUntil(tidy().then(() => self.clients.claim()));
});

self.addEventListener("message", ({ data }) => {
  if (data === "use-now") void self.skipWaiting();
});

self.addEventListener("fetch", (event) => {
  const url = new URL(event.request.url);
  if (event.request.method !== "GET" || url.origin !== location.origin) return;
  if (url.pathname === "/" || files.includes(url.pathname)) event.respondWith(shelved(url.pathname, event.request));
  else if (url.pathname.startsWith("/assets/")) event.respondWith(shelve(event.request));
});

async function shelved(path: string, request: Request): Promise<Response> {
  const shelf = await caches.open(SHELF);
  return (await shelf.match(path)) ?? fetch(request);
}

/** Files with a digest in their name never change: the first copy will do. */
async function shelve(request: Request): Promise<Response> {
  const shelf = await caches.open(SHELF);
  const copy = await shelf.match(request);
  if (copy) return copy;
  const reply = await fetch(request);
  if (reply.ok) await shelf.put(request, reply.clone());
  return reply;
}

async function tidy(): Promise<void> {
  for (const name of await caches.keys()) if (name.startsWith("atlas-") && name !== SHELF) await caches.delete(name);
}

export {};
