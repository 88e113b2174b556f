/** Notes: found by their words, read as they were written, added to at the end. */

import { useSignal } from "@preact/signals";
import { useState } from "preact/hooks";
import type { FoundNotesReply, NoteReply, NotesReply, NoteTextReply } from "../api.ts";
import { agentQuery } from "../house/agent.ts";
import { HouseTrouble } from "../house/api.ts";
import { act, attempt, tell } from "../house/deeds.ts";
import { useLive } from "../house/live.ts";
import { refusalOf } from "../house/refused.ts";
import { AgentSwitch } from "../parts/agent-switch.tsx";
import { numberOf } from "../parts/amounts.ts";
import { SearchField, TextField } from "../parts/fields.tsx";
import { useFormResult } from "../parts/form-result.ts";
import { FormTrouble } from "../parts/form-trouble.tsx";
import { Icon } from "../parts/icon.tsx";
import { Empty, Loaded } from "../parts/loaded.tsx";
import { Markdown } from "../parts/markdown.tsx";
import { dateOf } from "../parts/when.ts";
import { go, hrefOf, route } from "../route.ts";
import { words } from "../strings/index.ts";

export function Notes() {
  const [shown] = route.value.rest;
  if (shown === undefined) return <AllNotes />;
  return shown === "" ? <NewNote /> : <OneNote key={shown} file={shown} />;
}

function AllNotes() {
  const say = words.value.notes;
  const search = useSignal("");
  return (
    <div class="page">
      <div class="head">
        <h1>{words.value.pages.notes}</h1>
        {!refusalOf("notes.create") && (
          <a class="solid" href={hrefOf("notes", "")}>
            <Icon name="plus" size={20} />
            {say.write}
          </a>
        )}
      </div>
      <AgentSwitch label={words.value.talk.whosePapers} />
      <SearchField label={say.search} value={search} />
      {search.value.trim() ? <Matches query={search.value.trim()} /> : <Listed />}
    </div>
  );
}

function Listed() {
  const live = useLive<NotesReply>(`/api/notes${agentQuery("?")}`, "notes");
  const say = words.value.notes;
  return (
    <Loaded live={live}>
      {({ notes }) =>
        notes.length ? (
          <ul class="card rows">
            {notes.map((note) => (
              <li key={note.file}>
                <a class="row" href={hrefOf("notes", note.file)}>
                  <span class="name">{note.title}</span>
                  <span class="soft">{dayOf(note.created)}</span>
                </a>
              </li>
            ))}
          </ul>
        ) : (
          <Empty icon="notes" title={say.none}>
            <p>{say.noneHow}</p>
          </Empty>
        )
      }
    </Loaded>
  );
}

const dayOf = (created: string) => (Number.isNaN(Date.parse(created)) ? "" : dateOf(new Date(created)));

function Matches({ query }: { query: string }) {
  const live = useLive<FoundNotesReply>(`/api/notes/search?q=${encodeURIComponent(query)}${agentQuery("&")}`, "notes");
  return (
    <Loaded live={live}>
      {({ matches }) =>
        matches.length ? (
          <ul class="card rows">
            {matches.map((note) => (
              <li key={note.file}>
                <a class="row column-row" href={hrefOf("notes", note.file)}>
                  <span class="name">{note.title}</span>
                  <span class="soft">{note.snippet}</span>
                </a>
              </li>
            ))}
          </ul>
        ) : (
          <p class="soft">{words.value.notes.noMatch}</p>
        )
      }
    </Loaded>
  );
}

function Back() {
  return (
    <a class="quiet back" href={hrefOf("notes")}>
      <Icon name="previous" size={20} />
      {words.value.pages.notes}
    </a>
  );
}

const MOST_CHARACTERS = 60_000; // as the house has it
const MOST_OF_NEW = 1_900;

/** What to say of a text that the house would not take: the field itself would cut what is pasted, without a word. */
function tooLong(text: string, most: number): string {
  const count = [...text].length; // as the house counts
  return count > most ? words.value.notes.tooLong(numberOf(count), numberOf(most)) : "";
}

function NewNote() {
  const say = words.value.notes;
  const title = useSignal("");
  const text = useSignal("");
  async function save(event: SubmitEvent): Promise<void> {
    event.preventDefault();
    const problem = tooLong(text.value, MOST_OF_NEW);
    if (problem) return tell(problem, true);
    const reply = await act<NoteReply>("POST", `/api/notes${agentQuery("?")}`, {
      title: title.value.trim(),
      text: text.value,
    });
    if (reply) go("notes", reply.note.file);
  }
  return (
    <div class="page">
      <Back />
      <h1>{say.write}</h1>
      <form class="fields" onSubmit={save}>
        <TextField label={say.title} value={title} maxLength={200} required />
        <label>
          {say.text}
          <textarea
            rows={10}
            value={text.value}
            onInput={(event) => {
              text.value = event.currentTarget.value;
            }}
          />
        </label>
        <p class="answers">
          <button type="submit" class="solid">
            {words.value.shell.save}
          </button>
        </p>
      </form>
    </div>
  );
}

function OneNote({ file }: { file: string }) {
  const path = `/api/notes/note?note=${encodeURIComponent(file)}${agentQuery("&")}`;
  const live = useLive<NoteTextReply>(path, "notes");
  const say = words.value.notes;
  const [begun, setBegun] = useState<NoteTextReply | null>(null); // being edited, whatever becomes of it meanwhile
  async function remove(): Promise<void> {
    if (await act("DELETE", path)) go("notes");
  }
  function done(): void {
    setBegun(null);
    void live.refresh();
  }
  return (
    <div class="page">
      <Back />
      {begun ? (
        <>
          <h1>{begun.note.title}</h1>
          <Editor path={path} begun={begun} onDone={done} />
        </>
      ) : (
        <Loaded live={live}>
          {(reply) => (
            <>
              <div class="head">
                <h1>{reply.note.title}</h1>
                <button type="button" class="round bare" aria-label={say.remove} title={say.remove} onClick={remove}>
                  <Icon name="bin" />
                </button>
              </div>
              <Markdown text={reply.text} />
              {reply.truncated ? (
                <p class="soft">{say.truncated(numberOf(MOST_CHARACTERS))}</p>
              ) : (
                <p>
                  <button type="button" class="plain" onClick={() => setBegun(reply)}>
                    {say.edit}
                  </button>
                </p>
              )}
            </>
          )}
        </Loaded>
      )}
    </div>
  );
}

type NoteVersion = Pick<NoteTextReply, "text" | "revision">;

/** What stands there by now, where it is why a note was not saved. */
function versionOf(trouble: unknown): NoteVersion | null {
  const { text, revision } = trouble instanceof HouseTrouble ? trouble.details : {};
  return typeof text === "string" && typeof revision === "string" && revision ? { text, revision } : null;
}

function Editor({ path, begun, onDone }: { path: string; begun: NoteVersion; onDone: () => void }) {
  const say = words.value.notes;
  const [seen, setSeen] = useState(begun); // what is written over by saving
  const draft = useSignal(begun.text);
  const [result, run] = useFormResult();
  async function save() {
    const problem = tooLong(draft.value, MOST_CHARACTERS);
    if (problem) return { state: "done", ok: false, sentence: problem } as const;
    try {
      const done =
        draft.value === begun.text || (await attempt("PUT", path, { text: draft.value, revision: seen.revision }));
      if (done) onDone();
    } catch (trouble) {
      const theirs = versionOf(trouble);
      if (!theirs) throw trouble;
      setSeen(theirs);
      return { state: "done", ok: false, sentence: say.changed } as const;
    }
    return { state: "none" } as const;
  }
  return (
    <form
      class="fields"
      onSubmit={(event) => {
        event.preventDefault();
        void run(save);
      }}
    >
      <label>
        {say.text}
        <textarea
          rows={14}
          value={draft.value}
          onInput={(event) => {
            draft.value = event.currentTarget.value;
          }}
        />
      </label>
      <FormTrouble result={result} />
      {seen !== begun && (
        <section class="card padded" aria-labelledby="theirs">
          <h2 id="theirs">{say.theirs}</h2>
          <pre tabIndex={0}>{seen.text}</pre>
          <p>
            <button
              type="button"
              class="plain"
              onClick={() => {
                draft.value = `${draft.value.trimEnd()}\n\n${seen.text}`;
              }}
            >
              {say.addTheirs}
            </button>
          </p>
        </section>
      )}
      <p class="answers">
        <button type="button" class="plain" onClick={onDone}>
          {seen === begun ? words.value.shell.cancel : say.keepTheirs}
        </button>
        <button type="submit" class="solid">
          {seen === begun ? words.value.shell.save : say.saveMine}
        </button>
      </p>
    </form>
  );
}
