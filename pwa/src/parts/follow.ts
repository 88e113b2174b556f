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
    let top = 0;
    const scrolled = () => {
      // Where the end went away by itself, because something grew, nobody left it: only who goes up does.
      const isNear = log.scrollHeight - log.scrollTop - log.clientHeight < NEAR_PIXELS;
      atEnd = isNear || (atEnd && log.scrollTop >= top);
      top = log.scrollTop;
    };
    const follow = () => {
      if (atEnd) log.scrollTop = log.scrollHeight;
    };
    const grown = new MutationObserver(follow);
    grown.observe(log, { childList: true, subtree: true, characterData: true });
    const resized = new ResizeObserver(follow);
    for (const part of [log, ...log.children]) resized.observe(part); // what is in it gets its height when it is seen
    log.addEventListener("scroll", scrolled, { passive: true });
    follow();
    return () => {
      grown.disconnect();
      resized.disconnect();
      log.removeEventListener("scroll", scrolled);
    };
  }, [anew]);
}
