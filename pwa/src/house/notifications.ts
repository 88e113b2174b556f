/** What this browser shows by itself while the app is not looked at, and the end of its address at a push service. */

/** Show a notification of this page's own, which no push service sees, where the person has allowed any. */
export async function notifyHere(text: string): Promise<void> {
  if (!("Notification" in window) || Notification.permission !== "granted") return;
  const registration = await navigator.serviceWorker?.getRegistration();
  await registration?.showNotification("Atlas", { body: text, icon: "/icon-192.png", tag: "atlas-here" });
}

/** Take away what is shown, and have the browser throw away its address at its push service: the house hears so. */
export async function dropSubscription(): Promise<void> {
  const registration = await navigator.serviceWorker?.getRegistration();
  for (const shown of (await registration?.getNotifications?.()) ?? []) shown.close();
  const subscription = await registration?.pushManager?.getSubscription();
  await subscription?.unsubscribe();
}
