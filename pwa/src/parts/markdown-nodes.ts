/** Markdown → nodes of the page: what Markdown itself can say, so that no note runs, fetches or looks like the app. */

import DOMPurify from "dompurify";
import { Marked } from "marked";
import { destinationOf } from "./links.ts";

const TAGS = "a blockquote br code del em h1 h2 h3 h4 h5 h6 hr li ol p pre strong table tbody td th thead tr ul";
const ONLY = {
  ALLOWED_TAGS: TAGS.split(" "),
  ALLOWED_ATTR: ["href", "title", "align", "start"],
  ALLOW_ARIA_ATTR: false,
  ALLOW_DATA_ATTR: false,
};

/** Tags in a note are its words: they are shown as they stand, and nobody wonders where they went. */
const marked = new Marked({
  renderer: {
    html: ({ text }) => (/^<br ?\/?>\s*$/.test(text) ? text : text.replaceAll("&", "&amp;").replaceAll("<", "&lt;")),
  },
});

export function nodesOf(text: string): DocumentFragment {
  const markup = marked.parse(text, { async: false, breaks: true });
  const nodes = DOMPurify.sanitize(markup, { ...ONLY, RETURN_DOM_FRAGMENT: true });
  for (const link of nodes.querySelectorAll("a")) lead(link);
  return nodes;
}

function lead(link: HTMLAnchorElement) {
  const destination = destinationOf(link.getAttribute("href") ?? "", location.href);
  if (destination === "nowhere") link.removeAttribute("href");
  else if (destination === "outside") Object.assign(link, { target: "_blank", rel: "noopener noreferrer" });
}
