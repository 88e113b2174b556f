/** Lists: one at a time, ticked by a tap, with a field for what is missing. */

import type { ListChangeReply, ListEntry, ListReply, ListsReply } from "../api.ts";
import { act } from "../house/deeds.ts";
import { useLive } from "../house/live.ts";
import { refusalOf } from "../house/refused.ts";
import { Allowed } from "../parts/allowed.tsx";
import { capital } from "../parts/capital.ts";
import { Icon } from "../parts/icon.tsx";
import { Empty, Loaded } from "../parts/loaded.tsx";
import { WordsForm } from "../parts/words-form.tsx";
import { go, hrefOf, route } from "../route.ts";
import { words } from "../strings/index.ts";

const SHOPPING = "shopping"; // what the house calls the list that is always there, whatever its language

/** How a list is called on the page. */
const titleOf = (name: string) => (name === SHOPPING ? words.value.lists.shopping : capital(name));

export function Lists() {
  const live = useLive<ListsReply>("/api/lists", "lists");
  const say = words.value.lists;
  return (
    <div class="page">
      <h1>{words.value.pages.lists}</h1>
      <Loaded live={live}>
        {({ lists }) => {
          const [wanted] = route.value.rest;
          const chosen = lists.some(({ name }) => name === wanted) ? (wanted as string) : SHOPPING; // it may be deleted
          return (
            <>
              <ul class="chips" aria-label={words.value.pages.lists}>
                {lists.map(({ name, left }) => (
                  <li key={name}>
                    <a
                      class="plain chip"
                      href={hrefOf("lists", name)}
                      aria-current={name === chosen ? "true" : undefined}
                    >
                      {titleOf(name)}
                      {left > 0 && <span class="count">{left}</span>}
                    </a>
                  </li>
                ))}
              </ul>
              <OneList key={chosen} name={chosen} />
              {!refusalOf("lists.add") && (
                <WordsForm
                  label={say.newList}
                  placeholder={say.newList}
                  onAdd={async (typed) => {
                    const made = await act<ListChangeReply>("POST", "/api/lists", { name: typed });
                    if (made) go("lists", made.name); // the house knows which one that is
                    return made;
                  }}
                />
              )}
            </>
          );
        }}
      </Loaded>
    </div>
  );
}

function OneList({ name }: { name: string }) {
  const say = words.value.lists;
  const path = `/api/lists/${encodeURIComponent(name)}`;
  return (
    <section aria-label={titleOf(name)}>
      <Allowed tool="lists.add">
        <WordsForm
          label={say.addTo(titleOf(name))}
          placeholder={say.add}
          onAdd={(typed) => act("POST", `${path}/items`, { items: [typed] }, true)} // the house takes several apart
        />
      </Allowed>
      <Items name={name} path={path} />
      {name !== SHOPPING && !refusalOf("lists.delete") && (
        <p>
          <button type="button" class="quiet" onClick={() => act("DELETE", path)}>
            <Icon name="bin" size={20} />
            {say.deleteList(titleOf(name))}
          </button>
        </p>
      )}
    </section>
  );
}

function Items({ name, path }: { name: string; path: string }) {
  const live = useLive<ListReply>(path, "lists");
  const say = words.value.lists;
  return (
    <Loaded live={live}>
      {({ items }) => {
        const open = items.filter(({ checked }) => !checked);
        const done = items.filter(({ checked }) => checked);
        if (!items.length) {
          return (
            <Empty icon="lists" title={say.empty}>
              <p>{say.emptyHow(name === SHOPPING ? "" : titleOf(name))}</p>
            </Empty>
          );
        }
        return (
          <>
            {open.length > 0 && <Entries items={open} path={path} label={titleOf(name)} />}
            {done.length > 0 && (
              <details class="done" open={open.length === 0}>
                <summary>{say.ticked(done.length)}</summary>
                <Entries items={done} path={path} label={say.ticked(done.length)} />
                {!refusalOf("lists.clear") && (
                  <button type="button" class="quiet" onClick={() => act("DELETE", `${path}/items?checked_only=true`)}>
                    {say.clear}
                  </button>
                )}
              </details>
            )}
          </>
        );
      }}
    </Loaded>
  );
}

function Entries({ items, path, label }: { items: ListEntry[]; path: string; label: string }) {
  const say = words.value.lists;
  return (
    <ul class="card rows" aria-label={label}>
      {items.map(({ text, checked }) => (
        <li key={text} class="row entry-row">
          <label>
            <input
              type="checkbox"
              checked={checked}
              disabled={Boolean(refusalOf(checked ? "lists.add" : "lists.check"))}
              onChange={() =>
                checked
                  ? act("POST", `${path}/items`, { items: [text] }, true)
                  : act("POST", `${path}/check`, { items: [text] }, true)
              }
            />
            <span>{text}</span>
          </label>
          {!refusalOf("lists.remove") && (
            <button
              type="button"
              class="round bare"
              aria-label={`${say.remove}: ${text}`}
              onClick={() => act("POST", `${path}/remove`, { items: [text] })}
            >
              <Icon name="close" size={18} />
            </button>
          )}
        </li>
      ))}
    </ul>
  );
}
