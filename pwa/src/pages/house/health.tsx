/** Health: what the doctor finds, and proof of what left the house. */

import { useState } from "preact/hooks";
import type { BackupsReply, CertificateReply, EgressReply, FindingsReply } from "../../api.ts";
import { HouseTrouble, request, sentenceOf } from "../../house/api.ts";
import { useLive } from "../../house/live.ts";
import { bytesOf } from "../../parts/amounts.ts";
import { Icon } from "../../parts/icon.tsx";
import { Loaded } from "../../parts/loaded.tsx";
import { LogLine } from "../../parts/log-line.tsx";
import { dateOf, momentOf } from "../../parts/when.ts";
import { words } from "../../strings/index.ts";

export function Health() {
  return (
    <>
      <Outside />
      <Certificate />
      <Backup />
      <Doctor />
    </>
  );
}

function Outside() {
  const live = useLive<EgressReply>("/api/egress");
  const say = words.value.house;
  return (
    <section aria-labelledby="outside">
      <h2 id="outside">{say.outside}</h2>
      <Loaded live={live}>
        {({ connections, allowed, sent }) => (
          <div class="card padded">
            <p class="statement">
              <Icon name="shield" size={28} />
              {connections.length ? say.left(connections.length, bytesOf(sent)) : say.nothingLeft}
            </p>
            <p class="soft">{allowed.length ? say.mayGo(allowed.join(", ")) : say.nowhere}</p>
            {connections.length > 0 && (
              <details>
                <summary>{words.value.talk.details}</summary>
                <ul>
                  {connections.slice(0, 100).map((one) => (
                    <li key={`${one.at}${one.host}`}>
                      {momentOf(one.at)} · {one.host}:{one.port} · {bytesOf(one.sent)}
                      {one.outcome && ` · ${one.outcome}`}
                    </li>
                  ))}
                </ul>
              </details>
            )}
          </div>
        )}
      </Loaded>
    </section>
  );
}

/** What vouches for this house to browsers, for what, and until when. */
function Certificate() {
  const live = useLive<CertificateReply>("/api/health/certificate");
  const say = words.value.house.certificate;
  return (
    <section aria-labelledby="certificate">
      <h2 id="certificate">{say.title}</h2>
      <Loaded live={live}>
        {({ certificate }) => (
          <div class="card padded">
            <p class="statement" data-well={certificate !== null && certificate.ends_at > Date.now() / 1000}>
              <Icon name="lock" size={28} />
              {certificate ? say.until(dateOf(new Date(certificate.ends_at * 1000))) : say.none}
            </p>
            <p class="soft">{certificate ? say.how : say.noneHow}</p>
            {certificate && (
              <>
                <p>
                  <a href={`${certificate.address}/ca/`}>{say.guide}</a>
                </p>
                <details>
                  <summary>{words.value.talk.details}</summary>
                  <dl class="facts" translate={false}>
                    <div>
                      <dt>{say.names}</dt>
                      <dd>{certificate.names.join(", ")}</dd>
                    </div>
                    <div>
                      <dt>SHA-256</dt>
                      <dd>
                        <code>{certificate.fingerprint}</code>
                      </dd>
                    </div>
                  </dl>
                </details>
              </>
            )}
          </div>
        )}
      </Loaded>
    </section>
  );
}

const OLD_SECONDS = 30 * 86_400;

/** The last backup, or how to make the first. */
function Backup() {
  const live = useLive<BackupsReply>("/api/health/backup");
  const say = words.value.house.backup;
  return (
    <section aria-labelledby="backup">
      <h2 id="backup">{say.title}</h2>
      <Loaded live={live}>
        {({ last, failed }) => (
          <div class="card padded">
            <p class="statement" data-well={last !== null && last.at > Date.now() / 1000 - OLD_SECONDS}>
              <Icon name="shield" size={28} />
              {last ? say.made(momentOf(last.at)) : say.none}
            </p>
            {last && (
              <p class="soft file">
                {last.file} · {bytesOf(last.bytes)} · {say.secrets[last.secrets]}
              </p>
            )}
            {failed && (
              <p class="trouble" role="alert">
                {say.failed(momentOf(failed.at), failed.why)}
              </p>
            )}
            <p class="soft">{say.how}</p>
            <pre>
              <code>{say.command}</code>
            </pre>
          </div>
        )}
      </Loaded>
    </section>
  );
}

type Examination =
  | { state: "none" | "looking" }
  | { state: "done"; reply: FindingsReply }
  | { state: "failed"; sentence: string };

function Doctor() {
  const say = words.value.house;
  const [examination, setExamination] = useState<Examination>({ state: "none" });
  async function look(): Promise<void> {
    setExamination({ state: "looking" });
    try {
      setExamination({ state: "done", reply: await request<FindingsReply>("/api/health/findings", {}) });
    } catch (trouble) {
      if (!(trouble instanceof HouseTrouble)) throw trouble;
      setExamination({ state: "failed", sentence: sentenceOf(trouble) });
    }
  }
  return (
    <section aria-labelledby="doctor">
      <h2 id="doctor">{say.doctor}</h2>
      <p class="soft">{say.doctorHow}</p>
      <p>
        <button type="button" class="plain" onClick={look} aria-disabled={examination.state === "looking"}>
          {examination.state === "looking" ? say.looking : say.look}
        </button>
      </p>
      <div role="status">
        {examination.state === "failed" && <p class="trouble">{examination.sentence}</p>}
        {examination.state === "done" && (
          <ul class="card rows">
            {examination.reply.findings.map((finding) => (
              <li key={`${finding.what}${finding.seen}`} class="row">
                <span class={finding.well ? "good" : finding.grave ? "trouble" : "soft"}>
                  <Icon name={finding.well ? "check" : finding.grave ? "close" : "bell"} size={20} />
                </span>
                <div class="grow">
                  <p class="name">{finding.what}</p>
                  <p class="soft">{finding.seen}</p>
                  <LogLine text={finding.log} />
                  {finding.advice && <p>{finding.advice}</p>}
                </div>
              </li>
            ))}
          </ul>
        )}
      </div>
    </section>
  );
}
