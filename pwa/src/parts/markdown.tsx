/** Shows Markdown: fetched when it is wanted, purified, and as plain text until then. */

import { useEffect, useRef } from "preact/hooks";

export function Markdown({ text }: { text: string }) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    let current = true;
    void import("./markdown-nodes.ts").then(({ nodesOf }) => {
      if (current) place.current?.replaceChildren(nodesOf(text));
    });
    return () => {
      current = false;
    };
  }, [text]);
  return <div ref={place} class="markdown" />;
}
