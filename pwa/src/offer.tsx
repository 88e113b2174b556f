/** A link that would make this browser another device: asked first, with both names. */

import { offer } from "./house/account.ts";
import { Sheet } from "./parts/sheet.tsx";
import { words } from "./strings/index.ts";

export function AccountOffer() {
  const say = words.value.door;
  if (!offer.value) return null;
  const { here, device, accept } = offer.value;
  const close = () => {
    offer.value = null;
  };
  return (
    <Sheet title={say.another} onClose={close}>
      <p>{say.wouldBecome(here, device)}</p>
      <p class="answers">
        <button type="button" class="plain" onClick={accept}>
          {say.become(device)}
        </button>
        <button type="button" class="solid" onClick={close}>
          {say.remain(here)}
        </button>
      </p>
    </Sheet>
  );
}
