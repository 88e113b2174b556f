// A RealtimeSession of @openai/agents-realtime: each line that comes in is a call of it, each that goes out an event.
//
//     node client.mjs URL KEY TOOL CONFIG

import { createInterface } from "node:readline";
import { RealtimeAgent, RealtimeSession, backgroundResult, tool } from "@openai/agents-realtime";
import { z } from "zod";

const [url, apiKey, toolName, config] = process.argv.slice(2);

function say(kind, what) {
  process.stdout.write(`${JSON.stringify([kind, what])}\n`);
}

function weather(answer) {
  const parameters = z.object({ city: z.string() });
  return tool({ name: "weather", description: "The weather in a city.", parameters, execute: answer });
}

const reporting = weather(async ({ city }) => `raining in ${city}`);
const forecaster = new RealtimeAgent({ name: "forecaster", instructions: "Speak of rain." });
const agent = new RealtimeAgent({
  name: "helper",
  instructions: "Be brief.",
  tools: { reporting: [reporting], quiet: [weather(async ({ city }) => backgroundResult(`noted for ${city}`))] }[toolName],
  handoffs: toolName === "handoff" ? [forecaster] : [],
});
const session = new RealtimeSession(agent, { transport: "websocket", model: "atlas", config: JSON.parse(config) });

session.on("history_updated", (history) => say("history", history));
session.on("audio", ({ data }) => say("sound", data.byteLength));
session.on("audio_interrupted", () => say("interrupted"));
session.on("agent_end", (_context, { name }, text) => text && say("answer", { name, text }));
session.on("agent_tool_end", (_context, _agent, _tool, result) => say("tool", result));
session.on("error", ({ error }) => say("error", error?.error ?? String(error)));
session.on("transport_event", ({ type }) => say("event", type));

function fromWire(method, parameters) {
  if (method !== "sendAudio") return parameters;
  const [sound, ...others] = parameters;
  return [Uint8Array.from(Buffer.from(sound, "base64")).buffer, ...others];
}

try {
  await session.connect({ url, apiKey });
  say("connected");
} catch (trouble) {
  say("refused", String(trouble.message ?? trouble));
  process.exit();
}
for await (const line of createInterface({ input: process.stdin })) {
  const [method, ...parameters] = JSON.parse(line);
  session[method](...fromWire(method, parameters));
}
