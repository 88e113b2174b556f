// The token of this device: taken from the address once, kept by the browser, never shown again.

const KEY = "atlas.token";

/** @returns {string} the token, or "" */
export function token() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given) {
    keep(given);
    // A token in the address bar would be in the history, in screenshots and in shared links.
    history.replaceState(null, "", location.pathname + location.search);
  }
  try {
    return given ?? localStorage.getItem(KEY) ?? "";
  } catch {
    return given ?? ""; // storage is switched off: ask again next time
  }
}

/** @param {string} value */
export function keep(value) {
  try {
    localStorage.setItem(KEY, value);
  } catch {
    // Without storage the token lasts as long as the page.
  }
}

export function forget() {
  try {
    localStorage.removeItem(KEY);
  } catch {
    // Nothing was kept.
  }
}

/**
 * Ask the house whether it knows the token.
 * @param {string} value
 * @returns {Promise<"known" | "unknown" | "gone">}
 */
export async function check(value) {
  try {
    const reply = await fetch("/v1/models", { headers: { Authorization: `Bearer ${value}` } });
    if (reply.status === 401) return "unknown";
    return reply.ok ? "known" : "gone";
  } catch (trouble) {
    return trouble instanceof TypeError && /header|ISO-8859|ByteString/i.test(trouble.message) ? "unknown" : "gone";
  }
}
