/** Builds the app: hashed files, and a service worker that knows all of them by name. */

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { defineConfig, type Plugin } from "vite";

const LATER = /^(assets\/(de|markdown)-)/; // fetched when wanted, and kept from then on

/** Write into the service worker which files make the app, and a name for just these. */
function precache(): Plugin {
  return {
    name: "atlas-precache",
    enforce: "post",
    generateBundle(_options, bundle) {
      const worker = bundle["sw.js"];
      if (worker?.type !== "chunk") throw new Error("the build made no service worker");
      const files = Object.keys(bundle).filter(
        (name) => !["sw.js", "weights.json", "figtree-licence.txt"].includes(name) && !LATER.test(name),
      );
      const digest = createHash("sha256");
      for (const name of files.sort()) {
        const output = bundle[name];
        digest.update(name).update(output.type === "chunk" ? output.code : output.source);
      }
      const names = files.map((name) => (name === "index.html" ? "/" : `/${name}`));
      const release = {
        version: digest.digest("hex").slice(0, 16),
        files: [...names, "/icon.svg", "/manifest.webmanifest"],
      };
      worker.code = `self.__atlas=${JSON.stringify(release)};\n${worker.code}`;
    },
  };
}

/** Write down what each route weighs on the wire: the first, and what every other page adds to it. */
function weights(): Plugin {
  return {
    name: "atlas-weights",
    enforce: "post",
    generateBundle(_options, bundle) {
      const size = (name: string) => {
        const output = bundle[name];
        return output ? gzipSync(output.type === "chunk" ? output.code : output.source).length : 0;
      };
      const reach = (name: string, into: Set<string>) => {
        const chunk = bundle[name];
        if (into.has(name) || chunk?.type !== "chunk") return into;
        into.add(name);
        for (const style of chunk.viteMetadata?.importedCss ?? []) into.add(style);
        for (const other of chunk.imports) reach(other, into);
        return into;
      };
      const licence = readFileSync("node_modules/@fontsource-variable/figtree/LICENSE");
      this.emitFile({ type: "asset", fileName: "figtree-licence.txt", source: licence });
      const chunks = Object.values(bundle).filter((output) => output.type === "chunk");
      const entry = chunks.find((chunk) => chunk.isEntry && chunk.name === "index");
      if (!entry) throw new Error("the build made no entry");
      const first = reach(entry.fileName, new Set(["index.html"]));
      const routes: Record<string, number> = {};
      for (const chunk of [entry, ...chunks.filter((chunk) => chunk.isDynamicEntry)]) {
        const files = reach(chunk.fileName, new Set(first));
        routes[chunk === entry ? "talk" : chunk.name] = [...files].reduce((sum, name) => sum + size(name), 0);
      }
      this.emitFile({ type: "asset", fileName: "weights.json", source: JSON.stringify({ routes }) });
    },
  };
}

export default defineConfig({
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    target: "es2022",
    cssTarget: ["chrome123", "firefox120", "safari17.5"], // they know light-dark(), which a chosen look goes by
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0, // what is inlined as data: the policy of the page forbids
    reportCompressedSize: true,
    rollupOptions: {
      input: { index: "index.html", sw: "worker/sw.ts" },
      output: { entryFileNames: (chunk) => (chunk.name === "sw" ? "sw.js" : "assets/[name]-[hash].js") },
    },
  },
  worker: { format: "es", rollupOptions: { output: { entryFileNames: "assets/[name]-[hash].js" } } },
  plugins: [weights(), precache()],
});
