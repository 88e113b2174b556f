/** What somebody sees whom the house does not know: how to get a token, and where to put it. */

import { useEffect, useState } from "preact/hooks";
import { enter, revoked, whoHolds } from "./house/account.ts";
import { words } from "./strings/index.ts";

export function Door() {
  const say = words.value.door;
  useEffect(() => {
    document.title = "Atlas"; // the page that was left named itself
  }, []);
  const [trouble, setTrouble] = useState<"" | "unknown" | "gone">("");

  async function submit(event: SubmitEvent): Promise<void> {
    event.preventDefault();
    const value = String(new FormData(event.currentTarget as HTMLFormElement).get("token")).trim();
    const { why } = await whoHolds(value);
    if (why) setTrouble(why);
    else await enter(value);
  }

  return (
    <main class="door">
      <form onSubmit={submit}>
        <img src="/icon.svg" alt="" width="56" height="56" />
        <h1>{say.title}</h1>
        {revoked.value && !trouble && (
          <p class="trouble" role="alert">
            {say.revoked}
          </p>
        )}
        <p>{say.how}</p>
        <a class="button solid" href="/pair">
          {say.digits}
        </a>
        <p>{say.orToken}</p>
        <pre tabIndex={0}>
          <code>{say.command}</code>
        </pre>
        <label for="token">{say.token}</label>
        <input
          id="token"
          name="token"
          type="password"
          autocomplete="current-password"
          required
          spellcheck={false}
          autocapitalize="off"
          placeholder="atlas_…"
          aria-describedby="door-trouble"
        />
        <p id="door-trouble" class="trouble" role="alert">
          {trouble && say[trouble]}
        </p>
        <button type="submit" class="plain">
          {say.enter}
        </button>
      </form>
    </main>
  );
}
