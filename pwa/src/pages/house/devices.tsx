/** Devices and people: who may come in, where they stand, and taking that back. */

import { useState } from "preact/hooks";
import type { PeopleReply, TokenDeviceChanged, TokenDeviceItem, TokenDevicesReply } from "../../api.ts";
import { act, attempt, tell } from "../../house/deeds.ts";
import { announceChange } from "../../house/events.ts";
import { useLive } from "../../house/live.ts";
import { fetchMe } from "../../house/me.ts";
import { useFormResult } from "../../parts/form-result.ts";
import { FormTrouble } from "../../parts/form-trouble.tsx";
import { Icon } from "../../parts/icon.tsx";
import { Loaded } from "../../parts/loaded.tsx";
import { Sheet } from "../../parts/sheet.tsx";
import { momentOf } from "../../parts/when.ts";
import { words } from "../../strings/index.ts";
import { InviteSheet, SamePerson } from "./invite.tsx";

export function Devices() {
  const live = useLive<TokenDevicesReply>("/api/devices", "devices");
  const say = words.value.house;
  const [shown, setShown] = useState<TokenDeviceItem | null>(null);
  const [inviting, setInviting] = useState(false);
  return (
    <>
      <section aria-labelledby="devices">
        <h2 id="devices">{say.tabs.devices}</h2>
        <Loaded live={live}>
          {({ devices }) => (
            <ul class="card rows">
              {devices.map((device) => (
                <li key={device.name}>
                  <button type="button" class="row event" onClick={() => setShown(device)}>
                    <Icon name="device" />
                    <span class="grow">
                      <span class="name">{device.name}</span>
                      {device.mine && <span class="count">{say.thisOne}</span>}
                      <br />
                      <span class="soft">
                        {[
                          say.roles[device.role as keyof typeof say.roles] ?? device.role,
                          device.terminal && say.terminal,
                          device.person,
                          device.room,
                        ]
                          .filter(Boolean)
                          .join(" · ")}
                      </span>
                    </span>
                    <span class="soft">{device.used ? say.seen(momentOf(device.used)) : say.neverSeen}</span>
                  </button>
                </li>
              ))}
            </ul>
          )}
        </Loaded>
        <p class="answers">
          <button type="button" class="solid" onClick={() => setInviting(true)}>
            <Icon name="plus" />
            {say.letIn}
          </button>
        </p>
      </section>
      <People />
      {inviting && (
        <InviteSheet
          onClose={() => {
            setInviting(false);
            announceChange("devices");
          }}
        />
      )}
      {shown && <DeviceSheet device={shown} onClose={() => setShown(null)} />}
    </>
  );
}

function DeviceSheet({ device, onClose }: { device: TokenDeviceItem; onClose: () => void }) {
  const say = words.value.house;
  const [name, setName] = useState(device.name);
  const [room, setRoom] = useState(device.room);
  const [person, setPerson] = useState(device.person);
  const [result, run] = useFormResult();
  const [sure, setSure] = useState(false);
  const [same, setSame] = useState(false);
  const others = (useLive<PeopleReply>("/api/people", "devices").data.value?.people ?? []).map(({ name }) =>
    name.toLowerCase(),
  );
  const wanted = person.trim().toLowerCase();
  const known = wanted !== device.person.toLowerCase() && others.includes(wanted);
  const path = `/api/devices/${encodeURIComponent(device.name)}`;
  function change(event: SubmitEvent): void {
    event.preventDefault();
    const values = { name: name.trim(), room: room.trim(), person: person.trim(), same_person: known && same };
    void run(async () => {
      const changed = await attempt<TokenDeviceChanged>("PATCH", path, values);
      if (changed?.by_hand.length) tell(words.value.settings.byHand(changed.by_hand.join(", ")));
      if (device.mine) void fetchMe();
      onClose();
      return { state: "none" };
    });
  }
  async function revoke(): Promise<void> {
    if (!sure) return setSure(true);
    await act("DELETE", path);
    onClose();
  }
  return (
    <Sheet title={device.name} onClose={onClose}>
      <form class="fields" onSubmit={change}>
        <label>
          {say.deviceName}
          <input
            value={name}
            maxLength={40}
            required
            disabled={device.terminal}
            onInput={(event) => setName(event.currentTarget.value)}
          />
          {device.terminal && <span class="soft">{say.nameStays}</span>}
        </label>
        <label>
          {say.room}
          <input value={room} maxLength={100} onInput={(event) => setRoom(event.currentTarget.value)} />
        </label>
        <label>
          {say.whose}
          <input
            value={person}
            maxLength={40}
            placeholder={say.ofSeveral}
            onInput={(event) => setPerson(event.currentTarget.value)}
          />
        </label>
        {known && <SamePerson same={same} onChange={setSame} />}
        <FormTrouble result={result} />
        {sure && <p class="trouble">{say.revokeSure}</p>}
        <p class="answers">
          {!device.mine && (
            <button type="button" class={sure ? "solid" : "quiet"} onClick={revoke}>
              <Icon name="bin" size={20} />
              {say.revoke}
            </button>
          )}
          <button type="submit" class="solid" hidden={sure}>
            {words.value.shell.save}
          </button>
        </p>
      </form>
    </Sheet>
  );
}

function People() {
  const live = useLive<PeopleReply>("/api/people", "devices");
  const say = words.value.house;
  return (
    <section aria-labelledby="people">
      <h2 id="people">{say.people}</h2>
      <Loaded live={live}>
        {({ people }) =>
          people.length ? (
            <ul class="card rows">
              {people.map((person) => (
                <li key={person.name} class="row">
                  <span class="name">{person.name}</span>
                  <span class="soft">{person.devices.join(", ")}</span>
                </li>
              ))}
            </ul>
          ) : (
            <p class="soft">{say.noPeople}</p>
          )
        }
      </Loaded>
    </section>
  );
}
