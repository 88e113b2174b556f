/** The one big button: hold it, tap it, press Space or Enter, or click it as a screen reader does. */

import { talk } from "../house/house.ts";
import { Icon } from "../parts/icon.tsx";
import { words } from "../strings/index.ts";

export function TalkButton() {
  const say = words.value.talk;
  const state = talk.state.value;
  return (
    <button
      type="button"
      class="talk"
      data-state={state}
      aria-label={say.button[state]}
      style={{ "--level": Math.min(1, talk.level.value * 6).toFixed(3) }}
      onPointerDown={(event) => {
        if (event.button !== 0) return;
        event.currentTarget.setPointerCapture(event.pointerId);
        void talk.down();
      }}
      onPointerUp={() => talk.up()}
      onPointerCancel={() => talk.up()}
      onContextMenu={(event) => event.preventDefault()}
      onKeyDown={(event) => {
        if (event.key !== " " && event.key !== "Enter") return;
        event.preventDefault();
        if (!event.repeat) void talk.down();
      }}
      onKeyUp={(event) => {
        if (event.key === " " || event.key === "Enter") talk.up();
      }}
      onClick={(event) => {
        if (event.detail !== 0) return; // a pointer or a key did it
        void talk.down();
        talk.up();
      }}
    >
      <Icon name="talk" size={40} />
    </button>
  );
}
