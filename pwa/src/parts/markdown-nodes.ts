/** Markdown → nodes of the page, with all taken out that could run or fetch. */

import DOMPurify from "dompurify";
import { marked } from "marked";

const FORBIDDEN = ["style", "form", "input", "img", "audio", "video", "svg", "math"]; // a note fetches nothing

export function nodesOf(text: string): DocumentFragment {
  const markup = marked.parse(text, { async: false, breaks: true });
  return DOMPurify.sanitize(markup, { RETURN_DOM_FRAGMENT: true, FORBID_TAGS: FORBIDDEN, FORBID_ATTR: ["style"] });
}
