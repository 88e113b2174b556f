/** Being told, while the app is closed, that something waits: what the browser's push service and the house agree on. */

import type { PushReply } from "../api.ts";
import { words } from "../strings/index.ts";
import { HouseTrouble, request } from "./api.ts";
import { dropSubscription } from "./notifications.ts";

export type PushTrouble = "barred" | "pushFailed" | "pushNotListed";

export const canPush = () => "serviceWorker" in navigator && "PushManager" in window && "Notification" in window;

/** Ask the person and the browser, and give the address to the house. Call it in the handler of a press. */
export async function beginPush(key: string): Promise<PushReply | PushTrouble> {
  if ((await Notification.requestPermission()) !== "granted") return "barred";
  const registration = await navigator.serviceWorker.ready;
  const options = { userVisibleOnly: true, applicationServerKey: key };
  let subscription: PushSubscription;
  try {
    await (await registration.pushManager.getSubscription())?.unsubscribe(); // it may be for another house's key
    subscription = await registration.pushManager.subscribe(options);
  } catch {
    return "pushFailed";
  }
  try {
    return await register(subscription);
  } catch (trouble) {
    await subscription.unsubscribe();
    if (trouble instanceof HouseTrouble && trouble.code === "push_not_allowed") return "pushNotListed";
    throw trouble;
  }
}

export async function endPushHere(): Promise<PushReply> {
  await dropSubscription();
  return request<PushReply>("/api/push", undefined, "DELETE");
}

/** A browser may change its address by itself; the house that told the old one is given the new one. */
export async function renewPush(known: PushReply): Promise<void> {
  if (!canPush() || !known.endpoint) return;
  const registration = await navigator.serviceWorker.getRegistration();
  const subscription = await registration?.pushManager.getSubscription();
  if (subscription && subscription.endpoint !== known.endpoint) await register(subscription);
}

function register(subscription: PushSubscription): Promise<PushReply> {
  const { endpoint, keys } = subscription.toJSON();
  const body = { endpoint, p256dh: keys?.p256dh, auth: keys?.auth, language: words.value.language };
  return request<PushReply>("/api/push", body, "PUT");
}
