/** A link in a note leads to a page of the app or out of the house, and what is no address leads nowhere. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { destinationOf } from "../src/parts/links.ts";

const HERE = "https://atlas.local:8643/#/notes/garden.md";

test("pages of the app, and addresses of others", () => {
  assert.equal(destinationOf("#/lists", HERE), "app");
  assert.equal(destinationOf("https://example.org/a", HERE), "outside");
  assert.equal(destinationOf("mailto:anna@example.org", HERE), "outside");
});

test("what would sign somebody in, and what is no page of the app", () => {
  for (const href of ["#token=atlas_x", "/pair#abc", "https://example.org/pair#abc", "/api/events", ""]) {
    assert.equal(destinationOf(href, HERE), "nowhere", href);
  }
});

test("an address that nobody could open hides no note", () => {
  for (const href of ["http://%", "http://", "//", "http://a%20b", "https://1.2.3.999", "http://a.b:999999/"]) {
    assert.equal(destinationOf(href, HERE), "nowhere", href);
  }
});
