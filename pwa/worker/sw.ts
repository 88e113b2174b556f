/** The service worker: the app's own files, kept; nothing that the house says ever is. It shows that something waits. */

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

// What waits is not in the message: the app asks the house for it when it is opened.
const WAITS: Record<string, string> = { en: "Something waits for you.", de: "Etwas wartet auf dich." };
const PLACES = ["time", "messages", "talk"];

self.addEventListener("push", (event) => {
  const { page, language } = contentsOf(event.data);
  const shown = self.registration.showNotification("Atlas", {
    body: WAITS[language] ?? WAITS.en,
    lang: language,
    icon: "/icon-192.png",
    tag: "atlas-waits", // the next one takes its place
    data: { page: PLACES.includes(page) ? page : "talk" },
  });
  event.waitUntil(shown);
});

function contentsOf(data: PushMessageData | null): { page: string; language: string } {
  try {
    return { page: "talk", language: "en", ...data?.json() };
  } catch {
    return { page: "talk", language: "en" }; // a browser demands that every message is shown
  }
}

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(openAt(`/#/${event.notification.data?.page ?? "talk"}`));
});

/** Show the app at a page: in a window that is open, else in a new one. */
async function openAt(address: string): Promise<void> {
  const windows = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
  const open = windows.find((client) => new URL(client.url).origin === location.origin);
  if (!open) {
    await self.clients.openWindow(address);
    return;
  }
  open.postMessage({ open: address });
  await open.focus();
}

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
