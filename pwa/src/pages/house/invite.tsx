/** Letting a device in: what it will be, then its link as a QR code or six digits, until it has come. */

import { useSignal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import type { InvitationReply, PeopleReply, RoomsReply, TokenDevicesReply } from "../../api.ts";
import { HouseTrouble, request, sentenceOf } from "../../house/api.ts";
import { useLive } from "../../house/live.ts";
import { TextField } from "../../parts/fields.tsx";
import { Sheet } from "../../parts/sheet.tsx";
import { words } from "../../strings/index.ts";

const LOOK_MS = 1_500; // whether it has come
const ROLES = ["adult", "teen", "child", "guest", "satellite", "owner"] as const;

export function InviteSheet({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState("");
  const [invitation, setInvitation] = useState<InvitationReply | null>(null);
  return (
    <Sheet title={words.value.house.letIn} onClose={onClose}>
      {invitation ? (
        <Open invitation={invitation} name={name} onAgain={() => setInvitation(null)} onClose={onClose} />
      ) : (
        <Wanted
          onInvited={(wanted, reply) => {
            setName(wanted);
            setInvitation(reply);
          }}
        />
      )}
    </Sheet>
  );
}

function Wanted({ onInvited }: { onInvited: (name: string, reply: InvitationReply) => void }) {
  const say = words.value.house;
  const people = useLive<PeopleReply>("/api/people", "devices").data.value?.people ?? [];
  const rooms = useLive<RoomsReply>("/api/rooms").data.value?.rooms ?? [];
  const [name, person, room] = [useSignal(""), useSignal(""), useSignal("")];
  const [role, setRole] = useState<(typeof ROLES)[number]>("adult");
  const [digits, setDigits] = useState(false);
  const [trouble, setTrouble] = useState("");
  const [known, setKnown] = useState(false);
  const [same, setSame] = useState(false);
  async function invite(event: SubmitEvent): Promise<void> {
    event.preventDefault();
    const wish = {
      name: name.value.trim(),
      role,
      person: person.value.trim(),
      room: room.value.trim(),
      digits,
      same_person: same,
    };
    try {
      onInvited(wish.name, await request<InvitationReply>("/api/pairing", wish));
    } catch (refused) {
      if (!(refused instanceof HouseTrouble)) throw refused;
      setTrouble(sentenceOf(refused));
      setKnown(refused.code === "person_known");
      setSame(false);
    }
  }
  return (
    <form class="fields" onSubmit={invite}>
      <TextField label={say.deviceName} value={name} maxLength={40} placeholder={say.deviceExample} required />
      <label>
        {say.role}
        <select value={role} onChange={(event) => setRole(event.currentTarget.value as typeof role)}>
          {ROLES.map((one) => (
            <option key={one} value={one}>
              {say.roles[one]}
            </option>
          ))}
        </select>
      </label>
      <TextField label={say.whose} value={person} maxLength={40} placeholder={say.ofSeveral} list="people-here" />
      <datalist id="people-here">
        {people.map((one) => (
          <option key={one.name} value={one.name} />
        ))}
      </datalist>
      <TextField label={say.room} value={room} maxLength={40} list="rooms-here" />
      <datalist id="rooms-here">
        {rooms.map((one) => (
          <option key={one.name} value={one.name} />
        ))}
      </datalist>
      <label>
        {say.comesBy}
        <select
          value={digits ? "digits" : "link"}
          onChange={(event) => setDigits(event.currentTarget.value === "digits")}
        >
          <option value="link">{say.byCamera}</option>
          <option value="digits">{say.byDigits}</option>
        </select>
      </label>
      <p class="trouble" role="alert">
        {trouble}
      </p>
      {known && <SamePerson same={same} onChange={setSame} />}
      <p class="answers">
        <button type="submit" class="solid">
          {say.invite}
        </button>
      </p>
    </form>
  );
}

/** Whether a known name is the same person: nobody is given another's words by a name alone. */
export function SamePerson({ same, onChange }: { same: boolean; onChange: (same: boolean) => void }) {
  return (
    <label class="check">
      <input type="checkbox" checked={same} onChange={(event) => onChange(event.currentTarget.checked)} />
      <span>{words.value.house.samePerson}</span>
    </label>
  );
}

interface OpenProperties {
  invitation: InvitationReply;
  name: string;
  onAgain: () => void;
  onClose: () => void;
}

function Open({ invitation, name, onAgain, onClose }: OpenProperties) {
  const say = words.value.house;
  const [left, setLeft] = useState(Math.round(invitation.seconds));
  const [came, setCame] = useState(false);
  useEffect(() => {
    const ends = performance.now() + invitation.seconds * 1000;
    const counting = setInterval(() => setLeft(Math.max(0, Math.round((ends - performance.now()) / 1000))), 1000);
    const looking = setInterval(async () => setCame(await isHere(name)), LOOK_MS);
    return () => {
      clearInterval(counting);
      clearInterval(looking);
    };
  }, [invitation]);
  if (came || !left) {
    return (
      <div class="invitation">
        <p role="status">{came ? say.cameIn(name) : say.inviteOver}</p>
        <p class="answers">
          <button type="button" class="solid" onClick={came ? onClose : onAgain}>
            {came ? say.done : say.inviteAgain}
          </button>
        </p>
      </div>
    );
  }
  const { link, guide, path, secret } = invitation;
  const typed = path === "/pair";
  return (
    <div class="invitation">
      <p>{typed ? say.typeThere : say.scan}</p>
      {typed ? (
        <p class="digits">{`${secret.slice(0, 3)} ${secret.slice(3)}`}</p>
      ) : (
        <img class="qr" src={link.qr} alt={say.codeOf(link.address)} />
      )}
      <p class="address">{link.address}</p>
      <p class="soft" role="timer">
        {say.openFor(Math.floor(left / 60), left % 60)}
      </p>
      {guide && (
        <details>
          <summary>{say.guide}</summary>
          <img class="qr" src={guide.qr} alt={say.codeOf(guide.address)} />
          <p class="address">{guide.address}</p>
        </details>
      )}
    </div>
  );
}

async function isHere(name: string): Promise<boolean> {
  try {
    const { devices } = await request<TokenDevicesReply>("/api/devices");
    return devices.some((one) => one.name.toLowerCase() === name.toLowerCase());
  } catch (trouble) {
    if (!(trouble instanceof HouseTrouble)) throw trouble;
    return false; // the line says how the house is
  }
}
