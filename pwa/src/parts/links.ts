/** Says where a link in somebody's text leads. Pure. */

export type Destination = "app" | "outside" | "nowhere";

/** To a page of the app or out of the house; one that would sign somebody in, or is no address, leads nowhere. */
export function destinationOf(href: string, here: string): Destination {
  let url: URL;
  try {
    url = new URL(href, here);
  } catch {
    return "nowhere"; // anybody may write a link that is no address
  }
  const { origin, pathname, hash } = url;
  if (new URLSearchParams(hash.slice(1)).has("token") || pathname.startsWith("/pair")) return "nowhere";
  if (origin !== new URL(here).origin) return "outside";
  return hash.startsWith("#/") ? "app" : "nowhere";
}
