/** Other tool servers, where there are some: what is pinned of them, and what an owner approves as it is shown. */

import { useEffect, useState } from "preact/hooks";
import type { UpstreamDefinition, UpstreamItem, UpstreamReply } from "../../api.ts";
import { request } from "../../house/api.ts";
import { attempt } from "../../house/deeds.ts";
import { useLive } from "../../house/live.ts";
import { useFormResult } from "../../parts/form-result.ts";
import { FormTrouble } from "../../parts/form-trouble.tsx";
import { Sheet } from "../../parts/sheet.tsx";
import { words } from "../../strings/index.ts";

interface OfferedTool {
  server: string;
  tool: string;
}

const nameOf = ({ server, tool }: OfferedTool) => `${server}.${tool}`;
const pathOf = ({ server, tool }: OfferedTool) =>
  `/api/upstream/${encodeURIComponent(server)}/${encodeURIComponent(tool)}`;

interface ApprovedProperties {
  server: UpstreamItem;
  onWithdraw: (approved: OfferedTool) => void;
}

export function Upstream() {
  const live = useLive<UpstreamReply>("/api/upstream");
  const say = words.value.house.upstream;
  const [looked, setLooked] = useState<OfferedTool | null>(null);
  const [withdrawn, setWithdrawn] = useState<OfferedTool | null>(null);
  function close(): void {
    setLooked(null);
    setWithdrawn(null);
    void live.refresh();
  }
  if (!live.data.value?.servers.length) return null;
  return (
    <section aria-labelledby="upstream">
      <h2 id="upstream">{say.title}</h2>
      <p class="soft">{say.how}</p>
      <ul class="card rows">
        {live.data.value.servers.map((server) => (
          <li key={server.name} class="row column-row">
            <p>
              <span class="name">{server.name}</span>
              <span class="count">{server.connected ? say.there : say.away}</span>
            </p>
            <Approved server={server} onWithdraw={setWithdrawn} />
            <Waiting server={server} onLook={setLooked} />
          </li>
        ))}
      </ul>
      {looked && <DefinitionSheet offered={looked} onClose={close} />}
      {withdrawn && <WithdrawalSheet approved={withdrawn} onClose={close} />}
    </section>
  );
}

function Approved({ server: { name, tools }, onWithdraw }: ApprovedProperties) {
  const say = words.value.house.upstream;
  return (
    <>
      <p class="soft">{say.pinned(tools.length)}</p>
      {tools.length > 0 && (
        <ul>
          {tools
            .map((tool) => ({ server: name, tool: tool.slice(name.length + 1) }))
            .map((approved) => (
              <li key={approved.tool} class="head">
                <span translate={false}>{approved.tool}</span>
                <button
                  type="button"
                  class="quiet"
                  aria-label={`${say.withdraw}: ${nameOf(approved)}`}
                  onClick={() => onWithdraw(approved)}
                >
                  {say.withdraw}
                </button>
              </li>
            ))}
        </ul>
      )}
    </>
  );
}

function Waiting({ server, onLook }: { server: UpstreamItem; onLook: (offered: OfferedTool) => void }) {
  const say = words.value.house.upstream;
  const waiting = Object.entries(server.waiting);
  if (!waiting.length) return null;
  return (
    <>
      <p class="trouble">{say.waiting(waiting.length)}</p>
      <ul>
        {waiting.map(([tool, why]) => (
          <li key={tool} class="head">
            <span class="soft">
              <span translate={false}>{tool}</span>: {say.why[why]}
            </span>
            {server.offered.includes(tool) && (
              <button
                type="button"
                class="quiet"
                aria-label={`${say.look}: ${tool}`}
                onClick={() => onLook({ server: server.name, tool })}
              >
                {say.look}
              </button>
            )}
          </li>
        ))}
      </ul>
    </>
  );
}

function WithdrawalSheet({ approved, onClose }: { approved: OfferedTool; onClose: () => void }) {
  const say = words.value.house.upstream;
  const [result, run] = useFormResult();
  return (
    <Sheet title={say.withdrawTitle(nameOf(approved))} onClose={onClose}>
      <form
        class="fields"
        onSubmit={(event) => {
          event.preventDefault();
          void run(async () => {
            await attempt("DELETE", pathOf(approved));
            onClose();
            return { state: "none" };
          });
        }}
      >
        <p>{say.withdrawHow}</p>
        <FormTrouble result={result} />
        <p class="answers">
          <button type="button" class="plain" onClick={onClose}>
            {words.value.shell.cancel}
          </button>
          <button type="submit" class="solid" aria-disabled={result.state === "working"}>
            {say.withdrawNow}
          </button>
        </p>
      </form>
    </Sheet>
  );
}

/** What a server says of one tool. It is asked for once, so that what is approved is what was read. */
function DefinitionSheet({ offered, onClose }: { offered: OfferedTool; onClose: () => void }) {
  const say = words.value.house.upstream;
  const path = pathOf(offered);
  const [definition, setDefinition] = useState<UpstreamDefinition | null>(null);
  const [result, run] = useFormResult();
  useEffect(() => {
    void run(async () => {
      setDefinition(await request<UpstreamDefinition>(path));
      return { state: "none" };
    });
  }, []);
  function approve(): void {
    if (!definition) return;
    void run(async () => {
      await attempt("PUT", path, { sha256: definition.sha256 });
      onClose();
      return { state: "none" };
    });
  }
  return (
    <Sheet title={nameOf(offered)} onClose={onClose}>
      <form
        class="fields rule-form"
        onSubmit={(event) => {
          event.preventDefault();
          approve();
        }}
      >
        {definition && (
          <>
            <p>{definition.changed ? say.differs : say.isNew}</p>
            <pre tabIndex={0} translate={false}>
              <code>{definition.lines.join("\n")}</code>
            </pre>
          </>
        )}
        {result.state === "working" && <p class="soft">{words.value.shell.asking}</p>}
        <FormTrouble result={result} />
        <p class="answers">
          <button type="button" class="plain" onClick={onClose}>
            {words.value.shell.cancel}
          </button>
          {definition && (
            <button type="submit" class="solid">
              {say.approve}
            </button>
          )}
        </p>
      </form>
    </Sheet>
  );
}
