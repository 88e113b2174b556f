/** The shell without a line: a service worker that has its files, and the question whether to use newer ones. */

import { signal } from "@preact/signals";

interface TrustedTypes {
  createPolicy(
    name: string,
    rules: { createScriptURL: (url: string) => string },
  ): { createScriptURL(url: string): string };
}
declare global {
  interface Window {
    readonly trustedTypes?: TrustedTypes; // TypeScript's own list of what browsers have does not know it
  }
}

/** Set when a newer app waits; call it to change over. */
export const newer = signal<(() => void) | null>(null);

// The address of the worker is the one script address that this page ever makes of text.
const policy = window.trustedTypes?.createPolicy("atlas", { createScriptURL: onlyOurs });

function onlyOurs(url: string): string {
  if (url !== "/sw.js") throw new TypeError(`${url} is no script of this page`);
  return url;
}

let pressed = false; // in this window

export function install(): void {
  if (!("serviceWorker" in navigator)) return; // over plain http there is none
  void register();
  navigator.serviceWorker.addEventListener("message", ({ data }) => {
    if (typeof data?.open === "string" && data.open.startsWith("/#/")) location.hash = data.open.slice(1);
  });
  const had = navigator.serviceWorker.controller;
  navigator.serviceWorker.addEventListener("controllerchange", () => {
    if (pressed) location.reload();
    else if (had) newer.value = () => location.reload(); // pressed in another window: here somebody may be speaking
  });
}

async function register(): Promise<void> {
  try {
    const registration = await navigator.serviceWorker.register(policy?.createScriptURL("/sw.js") ?? "/sw.js");
    const offer = (worker: ServiceWorker | null) => {
      if (!worker || !navigator.serviceWorker.controller) return; // the first one replaces nothing
      newer.value = () => {
        pressed = true;
        worker.postMessage("use-now");
      };
    };
    offer(registration.waiting);
    registration.addEventListener("updatefound", () => {
      const worker = registration.installing;
      worker?.addEventListener("statechange", () => worker.state === "installed" && offer(worker));
    });
  } catch {
    // A certificate that this browser does not trust: the app works, and does not start without the house.
  }
}

/** A browser's offer to install the app, kept until somebody presses; null where there is none. */
interface InstallOffer extends Event {
  prompt(): Promise<void>;
}
export const installOffer = signal<InstallOffer | null>(null);
addEventListener("beforeinstallprompt", (event) => {
  event.preventDefault();
  installOffer.value = event as InstallOffer;
});
addEventListener("appinstalled", () => {
  installOffer.value = null;
});
