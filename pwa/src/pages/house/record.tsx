/** The record: every call of a tool, who wanted it and what came of it, and whether nobody has changed it since. */

import { useState } from "preact/hooks";
import type { RecordReply, RecordRow, VerdictReply } from "../../api.ts";
import { HouseTrouble, request, sentenceOf } from "../../house/api.ts";
import { useLive } from "../../house/live.ts";
import { download } from "../../parts/download.ts";
import { Loaded } from "../../parts/loaded.tsx";
import { momentOf } from "../../parts/when.ts";
import { words } from "../../strings/index.ts";
import { toolWords } from "../../strings/tool-words.ts";
import { deedOf } from "./rule-words.ts";

const OUTCOMES = ["", "ok", "denied", "asked", "failed"] as const;

export function Record() {
  const say = words.value.house;
  const [outcome, setOutcome] = useState("");
  const [tool, setTool] = useState("");
  const [looks, setLooks] = useState(false);
  const query = new URLSearchParams({ limit: "300", outcome, tool, looks: String(looks) });
  const live = useLive<RecordReply>(`/api/record?${query}`);
  return (
    <>
      <Verify />
      <section aria-labelledby="rows">
        <h2 id="rows">{say.calls}</h2>
        <div class="add">
          <label>
            <span class="unseen">{say.byTool}</span>
            <input
              type="search"
              placeholder={say.byTool}
              maxLength={100}
              onChange={(event) => setTool(event.currentTarget.value.trim())}
            />
          </label>
          <label>
            <span class="unseen">{say.byOutcome}</span>
            <select value={outcome} onChange={(event) => setOutcome(event.currentTarget.value)}>
              {OUTCOMES.map((name) => (
                <option key={name} value={name}>
                  {name === "" ? say.everyOutcome : say.outcomes[name]}
                </option>
              ))}
            </select>
          </label>
        </div>
        <label class="row check">
          <input type="checkbox" checked={looks} onChange={() => setLooks(!looks)} />
          {say.looksToo}
        </label>
        <Loaded live={live}>{(reply) => <Rows rows={reply.rows} />}</Loaded>
      </section>
    </>
  );
}

function Rows({ rows }: { rows: RecordRow[] }) {
  const say = words.value.house;
  if (!rows.length) return <p class="soft">{say.noRows}</p>;
  return (
    <ol class="card rows">
      {rows.map((row) => (
        <li key={row.seq} class="row">
          <div class="grow">
            <p class="name">{deedOf(row.tool, toolWords.value)}</p>
            <p class="soft">
              <span translate={false}>{row.tool}</span>
              {[row.actor.person || row.actor.device, row.actor.room, row.agent, row.reason]
                .filter(Boolean)
                .map((part) => ` · ${part}`)
                .join("")}
            </p>
          </div>
          <span class={row.outcome === "ok" ? "count good" : "count"}>
            {say.outcomes[row.outcome as keyof typeof say.outcomes] ?? row.outcome}
          </span>
          <span class="soft">{momentOf(row.at)}</span>
        </li>
      ))}
    </ol>
  );
}

function Verify() {
  const say = words.value.house;
  const [sentence, setSentence] = useState("");
  const [good, setGood] = useState(true);
  async function verify(): Promise<void> {
    setSentence(say.reading);
    try {
      const verdict = await request<VerdictReply>("/api/record/verify", {});
      setGood(!verdict.problems.length);
      setSentence([verdict.sentence, ...(verdict.problems.length ? verdict.problems : [say.unaltered])].join(" "));
    } catch (trouble) {
      if (!(trouble instanceof HouseTrouble)) throw trouble;
      setGood(false);
      setSentence(sentenceOf(trouble));
    }
  }
  return (
    <section aria-labelledby="verify">
      <h2 id="verify">{say.tabs.record}</h2>
      <p class="soft">{say.recordHow}</p>
      <p class="chips">
        <button type="button" class="plain" onClick={verify}>
          {say.verify}
        </button>
        <button
          type="button"
          class="plain"
          onClick={() => download("/api/record/export", "record.jsonl", "application/x-ndjson")}
        >
          {say.downloadRecord}
        </button>
      </p>
      <p role="status" class={good ? "good" : "trouble"}>
        {sentence}
      </p>
    </section>
  );
}
