/** Sentences that the house was taught: what is said, what it does, and a way to unlearn it. */

import type { SentenceItem, SentencesReply } from "../../api.ts";
import { act, tell } from "../../house/deeds.ts";
import { useLive } from "../../house/live.ts";
import { Icon } from "../../parts/icon.tsx";
import { Loaded } from "../../parts/loaded.tsx";
import { words } from "../../strings/index.ts";
import { Teach } from "../heard.tsx";

export function Sentences() {
  const live = useLive<SentencesReply>("/api/sentences", "sentences");
  const say = words.value.house;
  async function unlearn({ id, text }: SentenceItem): Promise<void> {
    if ((await act("DELETE", `/api/sentences/${id}`)) === null) await live.refresh();
    tell(say.unlearnt(text));
  }
  return (
    <>
      <section aria-labelledby="sentences">
        <h2 id="sentences">{say.tabs.sentences}</h2>
        <p class="soft">{say.sentencesHow}</p>
        <Loaded live={live}>
          {({ sentences }) =>
            sentences.length ? (
              <ul class="card rows">
                {sentences.map((one) => (
                  <li key={one.id} class="row">
                    <div class="grow">
                      <p class="name">“{one.text}”</p>
                      <p class="soft">{one.meaning !== one.text ? one.meaning : one.calls.map(spell).join(", ")}</p>
                    </div>
                    <button
                      type="button"
                      class="quiet"
                      aria-label={`${say.unlearn}: ${one.text}`}
                      onClick={() => unlearn(one)}
                    >
                      <Icon name="bin" size={20} />
                      {say.unlearn}
                    </button>
                  </li>
                ))}
              </ul>
            ) : (
              <p class="soft">{say.noSentences}</p>
            )
          }
        </Loaded>
      </section>
      <section aria-labelledby="new-sentence">
        <h2 id="new-sentence">{say.newSentence}</h2>
        <div class="card padded">
          <Teach onDone={() => live.refresh()} />
        </div>
      </section>
    </>
  );
}

const spell = ({ tool, arguments: given }: SentenceItem["calls"][number]) =>
  [tool.replace(".", ": ").replaceAll("_", " "), ...Object.values(given).map(String)].join(" ");
