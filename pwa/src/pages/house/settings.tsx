/** Settings: what the house is told of itself and of the world, in forms that are saved, and tried where they can be. */

import { useEffect, useRef, useState } from "preact/hooks";
import type { FormFieldItem, FormSaved, FormTried, ModelsReply, SettingForm, SettingFormsReply } from "../../api.ts";
import { request } from "../../house/api.ts";
import { useLive } from "../../house/live.ts";
import { agentName } from "../../parts/agent-switch.tsx";
import { type FormResult, useFormResult } from "../../parts/form-result.ts";
import { Icon } from "../../parts/icon.tsx";
import { Loaded } from "../../parts/loaded.tsx";
import { hrefOf } from "../../route.ts";
import { words } from "../../strings/index.ts";

type Filled = Record<string, string>;

export function Settings() {
  const live = useLive<SettingFormsReply>("/api/setting-forms");
  const [adding, setAdding] = useState<SettingForm["form"] | "">("");
  const say = words.value.settings;
  async function refresh(): Promise<void> {
    await live.refresh();
    setAdding("");
  }
  return (
    <Loaded live={live}>
      {({ file, forms }) => (
        <>
          <p class="soft">{say.how(file)}</p>
          <Waiting forms={forms} />
          {forms.flatMap((form, index) => {
            if (form.form === "gpu") return []; // it stands with the models
            const count = countOf(forms, form);
            // What is new is last once it is saved: the same card goes on, with what is typed and what came of the try.
            const card = (one: SettingForm) => (
              <FormCard
                key={`${one.form}${one.number === NEW ? count : one.number}`}
                form={one}
                count={count}
                onSaved={refresh}
              />
            );
            if (!form.several || form.number === NEW || forms[index + 1]?.form === form.form) return [card(form)];
            if (adding === form.form) return [card(form), card(emptied(form))];
            return [
              card(form),
              <p key={`another ${form.form}`}>
                <button type="button" class="plain" onClick={() => setAdding(form.form)}>
                  <Icon name="plus" size={20} />
                  {say.another[form.form as keyof typeof say.another]}
                </button>
              </p>,
            ];
          })}
        </>
      )}
    </Loaded>
  );
}

/** What was saved and does not count yet: said once, above all forms. */
function Waiting({ forms }: { forms: SettingForm[] }) {
  const say = words.value.settings;
  const labels = forms.flatMap((form) =>
    form.fields.filter(({ waits }) => waits).map(({ name }) => labelOf(form, name)),
  );
  return labels.length ? <p class="card padded">{say.waiting(labels.join(", "))}</p> : null;
}

/** A form of the same kind with nothing filled in: an account that is not there yet. */
function emptied(form: SettingForm): SettingForm {
  const fields = form.fields.map((field) => ({
    ...field,
    value: field.kind === "number" || field.kind === "list" ? field.value : null,
    filled: false,
    origin: "default",
  }));
  return { ...form, number: NEW, fields, hosts: [], barred: [] };
}

const NEW = -1; // the number of an entry that is not there yet

function labelOf({ form }: SettingForm, name: string): string {
  const labels: Record<string, string> = words.value.settings.forms[form].fields;
  if (name in labels) return labels[name];
  if (form === "gpu") {
    const { layersOf, cardOf } = words.value.settings;
    return name.endsWith("_gpu") ? cardOf(name.replace(/_gpu$/, "")) : layersOf(name.replace(/_gpu_layers$/, ""));
  }
  return form === "wake" ? words.value.settings.wakesFor(agentName(name)) : name;
}

/** What was typed after `sent` went to the house. */
const typedSince = (sent: Filled, now: Filled): Filled =>
  Object.fromEntries(Object.entries(now).filter(([name, text]) => text !== sent[name]));

const textOf = ({ value, kind }: FormFieldItem) =>
  Array.isArray(value) ? value.join(kind === "list" ? "\n" : ", ") : String(value ?? "");

function valueOf({ kind }: FormFieldItem, text: string): string | number | boolean | string[] | null {
  if (kind === "list")
    return text
      .split(/[\n,]/)
      .map((line) => line.trim())
      .filter(Boolean);
  if (kind === "switch") return text === "true";
  if (!text.trim()) return null;
  const number = Number(text.replace(",", "."));
  return kind === "number" && Number.isFinite(number) ? number : text.trim();
}

function titleOf(form: SettingForm): string {
  const { title } = words.value.settings.forms[form.form];
  const name = form.fields.find((field) => field.name === "name");
  return form.several && name?.value ? `${title}: ${name.value}` : title;
}

/** How many entries of its kind there are, so that the house can tell when one was added or removed meanwhile. */
function countOf(forms: SettingForm[], { form }: SettingForm): number {
  return forms.filter((one) => one.form === form && one.number !== NEW).length;
}

interface FormCardProps {
  form: SettingForm;
  count: number;
  onSaved: () => Promise<void>;
}

export function FormCard({ form, count, onSaved }: FormCardProps) {
  const say = words.value.settings;
  const texts = say.forms[form.form];
  const [filled, setFilled] = useState<Filled>({});
  const [reach, setReach] = useState(true);
  const [removing, setRemoving] = useState(false);
  const [result, run] = useFormResult();
  const working = result.state === "working";
  const isSet = form.fields.some((field) => field.origin !== "default");
  const path = `/api/setting-forms/${form.form}`;
  const which = `?number=${form.number}${form.several ? `&count=${count}` : ""}`;
  const heading = `form-${form.form}${form.number > 0 ? form.number : form.number === NEW ? "-new" : ""}`;
  const wrong =
    result.state === "done" && !result.ok ? form.fields.find(({ name }) => name === result.field) : undefined;

  async function tried({ triable, number }: SettingForm): Promise<FormTried> {
    return triable ? request<FormTried>(`${path}/test?number=${number}`, {}) : { ok: true, sentence: "" };
  }
  async function save(): Promise<FormResult> {
    const values = Object.fromEntries(
      form.fields.flatMap((field) => (field.name in filled ? [[field.name, valueOf(field, filled[field.name])]] : [])),
    );
    const body = { values, reach: reach && form.reaches };
    const saved = await request<FormSaved>(`${path}${which}`, body, "PUT");
    const { ok, sentence } = await tried(saved.form);
    setFilled((now) => typedSince(filled, now)); // while it was tried, somebody may have gone on
    await onSaved();
    const byHand = saved.by_hand.length ? [say.byHand(saved.by_hand.join(", "))] : [];
    const later = form.fields.some(({ name, at_once }) => !at_once && name in values) ? [say.countsLater] : [];
    return { state: "done", ok, sentence: [say.saved, sentence, ...later, ...byHand].filter(Boolean).join(" ") };
  }
  async function test(): Promise<FormResult> {
    const { ok, sentence } = await tried(form);
    return { state: "done", ok, sentence };
  }
  async function remove(): Promise<FormResult> {
    await request(`${path}${which}`, undefined, "DELETE");
    setRemoving(false);
    setFilled({}); // the next takes this card's place
    await onSaved();
    return { state: "none" };
  }
  return (
    <section aria-labelledby={heading}>
      <h2 id={heading}>{titleOf(form)}</h2>
      <form
        class="card padded fields setting"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          void run(save);
        }}
      >
        <p class="soft">{texts.how}</p>
        {form.fields.map((field) => (
          <Field
            key={field.name}
            form={form}
            field={field}
            text={filled[field.name]}
            problem={wrong === field && result.state === "done" ? result.sentence : ""}
            onInput={(text) => setFilled((now) => ({ ...now, [field.name]: text }))}
          />
        ))}
        {form.reaches && (
          <label class="check">
            <input type="checkbox" checked={reach} onChange={(event) => setReach(event.currentTarget.checked)} />
            <span>
              {say.reach}
              {form.barred.length > 0 && <span class="trouble"> {say.barred(form.barred.join(", "))}</span>}
            </span>
          </label>
        )}
        <div role="status">
          {working && <p class="soft">{form.triable ? say.working : words.value.shell.asking}</p>}
          {result.state === "done" && !wrong && (
            <p class={result.ok ? "good outcome-line" : "trouble outcome-line"}>
              <Icon name={result.ok ? "check" : "close"} size={20} />
              <span>{result.sentence}</span>
            </p>
          )}
        </div>
        <p class="answers">
          {form.several && form.number >= 0 && isSet && (
            <button
              type="button"
              class="plain"
              aria-disabled={working}
              onClick={() => (removing ? run(remove) : setRemoving(true))}
            >
              {removing ? say.reallyRemove : say.remove}
            </button>
          )}
          {form.triable && isSet && (
            <button type="button" class="plain" aria-disabled={working} onClick={() => run(test)}>
              {say.test}
            </button>
          )}
          <button type="submit" class="solid" aria-disabled={working}>
            {form.triable ? say.saveAndTest : words.value.shell.save}
          </button>
        </p>
      </form>
    </section>
  );
}

interface FieldProperties {
  form: SettingForm;
  field: FormFieldItem;
  text: string | undefined;
  problem: string;
  onInput: (text: string) => void;
}

function Field({ form, field, text, problem, onInput }: FieldProperties) {
  const say = words.value.settings;
  const shown = text ?? textOf(field);
  const id = `${form.form}-${form.number}-${field.name}`;
  const label = labelOf(form, field.name);
  const control = useRef<HTMLElement>(null);
  useEffect(() => {
    if (problem) control.current?.focus();
  }, [problem]);
  const common: Record<string, unknown> = {
    id,
    ref: control,
    "aria-describedby": `${problem ? `${id}-problem ` : ""}${id}-origin`,
    "aria-invalid": problem ? true : undefined,
  };
  const typed = {
    ...common,
    maxLength: field.kind === "list" ? 5000 : 500,
    autocomplete: field.kind === "secret" ? "new-password" : "off",
    spellcheck: false,
    value: shown,
    onInput: (event: Event) => onInput((event.currentTarget as HTMLInputElement).value),
  };
  const below = (
    <>
      {problem && (
        <span class="trouble problem" id={`${id}-problem`} role="alert">
          {problem}
        </span>
      )}
      <span class="soft origin" id={`${id}-origin`}>
        <Provenance form={form} field={field} />
      </span>
    </>
  );
  if (field.kind === "switch")
    return (
      <div class="field">
        <label class="check">
          <input
            {...common}
            type="checkbox"
            checked={shown === "true"}
            onChange={(event) => onInput(String(event.currentTarget.checked))}
          />
          <span>{label}</span>
        </label>
        {below}
      </div>
    );
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {field.kind === "choice" ? (
        <select {...common} value={shown} onChange={(event) => onInput(event.currentTarget.value)}>
          {choicesOf(field).map(([choice, name]) => (
            <option key={choice} value={choice}>
              {name}
            </option>
          ))}
        </select>
      ) : field.kind === "list" ? (
        <>
          {form.form === "push" && <PushServices lines={shown.split("\n").filter(Boolean)} onInput={onInput} />}
          <textarea rows={Math.min(8, Math.max(2, shown.split("\n").length))} {...typed} />
        </>
      ) : field.kind === "secret" ? (
        <input type="password" placeholder={field.filled ? say.stays : ""} {...typed} />
      ) : (
        <input
          type="text"
          inputMode={field.kind === "number" ? "decimal" : undefined}
          placeholder={say.examples[field.name as keyof typeof say.examples]}
          {...typed}
        />
      )}
      {field.name === "language" && <VoiceHint spoken={shown.split(",").filter(Boolean)} />}
      {below}
    </div>
  );
}

/** That a language would be spoken by a voice that merely stands in, with the way to a better one. */
function VoiceHint({ spoken }: { spoken: string[] }) {
  const say = words.value.settings;
  const { data } = useLive<ModelsReply>("/api/models");
  const voices = data.value?.models.filter(({ role, on_disk }) => role === "tts" && on_disk);
  const mute = voices && spoken.filter((language) => !voices.some(({ name }) => name.startsWith(`${language}_`)));
  if (!mute?.length) return null;
  const names = mute.map((language) => say.choices[language as keyof typeof say.choices] ?? language);
  return (
    <span class="soft">
      {say.noVoice(names.join(", "))} <a href={hrefOf("house", "models")}>{say.toVoices}</a>
    </span>
  );
}

/** Where a value comes from and, where some of a form count later, when it counts. */
function Provenance({ form, field }: { form: SettingForm; field: FormFieldItem }) {
  const say = words.value.settings;
  const origin =
    field.origin === "default" ? textOf(field) && say.byDefault : say.from(field.origin.split("/").at(-1) ?? "");
  if (form.fields.every(({ at_once }) => at_once)) return <>{origin}</>;
  const when = field.at_once ? say.atOnce : field.waits ? say.waits : say.nextStart;
  return (
    <>
      {origin && `${origin} · `}
      <span class={field.waits ? "trouble" : ""}>{when}</span>
    </>
  );
}

/** The choices of a field with their names: countries as this language calls them, in its order. */
function choicesOf({ name, choices }: FormFieldItem): [string, string][] {
  const say = words.value.settings;
  if (name === "country") {
    const names = new Intl.DisplayNames(words.value.language, { type: "region" });
    const named = choices
      .filter(Boolean)
      .map((choice): [string, string] => [choice, names.of(choice.toUpperCase()) ?? choice]);
    return [["", say.noCountry], ...named.sort(([, one], [, other]) => one.localeCompare(other, words.value.language))];
  }
  if (name === "agent") return choices.map((choice) => [choice, agentName(choice)]);
  return choices.map((choice) => [choice, say.choices[choice as keyof typeof say.choices] ?? choice]);
}

const PUSH_SERVICES = {
  "fcm.googleapis.com:443": "Chrome, Android",
  "updates.push.services.mozilla.com:443": "Firefox",
  "web.push.apple.com:443": "iPhone, Safari",
  "*.notify.windows.com:443": "Edge",
};

/** The services of known browsers, to be pressed instead of written. */
function PushServices({ lines, onInput }: { lines: string[]; onInput: (text: string) => void }) {
  return (
    <div class="chips">
      {Object.entries(PUSH_SERVICES).map(([line, name]) => {
        const listed = lines.includes(line);
        const next = listed ? lines.filter((one) => one !== line) : [...lines, line];
        return (
          <button
            key={line}
            type="button"
            class="plain chip"
            aria-pressed={listed}
            onClick={() => onInput(next.join("\n"))}
          >
            {listed && <Icon name="check" size={18} />}
            {name}
          </button>
        );
      })}
    </div>
  );
}
