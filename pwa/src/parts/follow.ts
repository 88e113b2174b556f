/** Keeps the end of a list in sight as it grows, but for who reads further up: they are left there. */

import type { RefObject } from "preact";
import { useEffect } from "preact/hooks";

const NEAR_PIXELS = 80;

/** Follow the end of what scrolls in `box`; begins anew when `anew` changes. */
export function useFollow(box: RefObject<HTMLElement | null>, anew: unknown): void {
  useEffect(() => {
    const log = box.current;
    if (!log) return;
    let atEnd = true;
    const scrolled = () => {
      atEnd = log.scrollHeight - log.scrollTop - log.clientHeight < NEAR_PIXELS;
    };
    const follow = () => {
      if (atEnd) log.scrollTop = log.scrollHeight;
    };
    const grown = new MutationObserver(follow);
    grown.observe(log, { childList: true, subtree: true, characterData: true });
    const resized = new ResizeObserver(follow);
    resized.observe(log);
    log.addEventListener("scroll", scrolled, { passive: true });
    follow();
    return () => {
      grown.disconnect();
      resized.disconnect();
      log.removeEventListener("scroll", scrolled);
    };
  }, [anew]);
}
