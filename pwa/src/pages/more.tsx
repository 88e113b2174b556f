/** More: the pages that a phone's bar has no room for, and what this browser was told. */

import { useState } from "preact/hooks";
import { pagesOf } from "../app.tsx";
import { leave } from "../house/account.ts";
import { may, me } from "../house/me.ts";
import { type Preferences, prefer, preferences } from "../house/preferences.ts";
import { Icon } from "../parts/icon.tsx";
import { later } from "../parts/later.tsx";
import { hrefOf } from "../route.ts";
import { words } from "../strings/index.ts";

const Reach = later(async () => (await import("./reach.tsx")).Reach);

const Voice = later(async () => (await import("./voice.tsx")).Voice);

export function More() {
  const say = words.value.more;
  const beyond = pagesOf().filter(([, { inBar }]) => !inBar);
  return (
    <div class="page">
      <h1>{say.title}</h1>
      {beyond.length > 0 && (
        <section aria-labelledby="household" class="only-phone">
          <h2 id="household">{say.household}</h2>
          <ul class="tiles">
            {beyond.map(([name, { icon }]) => (
              <li key={name}>
                <a href={hrefOf(name)}>
                  <Icon name={icon} />
                  {words.value.pages[name]}
                </a>
              </li>
            ))}
          </ul>
        </section>
      )}
      <section aria-labelledby="device">
        <h2 id="device">{say.thisDevice}</h2>
        {me.value && <WhoIsIn />}
        <div class="card rows">
          <Choice name="language" title={say.language} choices={say.languages} />
          <Choice name="look" title={say.look} choices={say.looks} />
          <Leave />
        </div>
      </section>
      {may("reside") && <Voice />}
      {may("reside") && <Reach />}
    </div>
  );
}

/** By what this browser is in: browsers show nobody a cookie of this kind. */
function WhoIsIn() {
  const say = words.value.more;
  if (!me.value) return null;
  const { device, person, by_cookie } = me.value;
  return (
    <p class="soft">
      {say.inAs(device, person)} {by_cookie ? say.byCookie : say.byToken}
    </p>
  );
}

function Choice<Name extends "language" | "look">({
  name,
  title,
  choices,
}: {
  name: Name;
  title: string;
  choices: Record<Preferences[Name], string>;
}) {
  return (
    <label class="row">
      {title}
      <select
        value={preferences.value[name]}
        onChange={(event) => prefer({ [name]: event.currentTarget.value } as Partial<Preferences>)}
      >
        {Object.entries<string>(choices).map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

function Leave() {
  const say = words.value.more;
  const [sure, setSure] = useState(false);
  if (!sure) {
    return (
      <div class="row">
        <span>{say.leave}</span>
        <button type="button" class="plain" onClick={() => setSure(true)}>
          {say.leaveNow}
        </button>
      </div>
    );
  }
  return (
    <div class="row">
      <p>{say.leaveSure}</p>
      <button type="button" class="plain" onClick={() => setSure(false)}>
        {say.stay}
      </button>
      <button type="button" class="solid" onClick={leave}>
        {say.leaveNow}
      </button>
    </div>
  );
}
