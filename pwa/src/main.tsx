/** Starts the app: the line to the house, the page, and the service worker behind it. */

import "./style/app.css";
import { render } from "preact";
import { App } from "./app.tsx";
import { watchArrivals } from "./arrivals.ts";
import { begin } from "./house/account.ts";
import { watch } from "./house/confirmations.ts";
import { listen } from "./house/events.ts";
import { watchFailures } from "./house/failures.ts";
import { connect } from "./house/house.ts";
import { introduce } from "./house/me.ts";
import { install } from "./house/offline.ts";
import { watchRefusals } from "./house/refused.ts";
import { staysAwake } from "./house/wake-lock.ts";
import { Boundary } from "./parts/boundary.tsx";

watchFailures();
void begin(); // asks whose a link is before a token that counts no more makes the house wait
connect();
watch();
listen();
introduce();
watchRefusals();
watchArrivals();
render(
  <Boundary title="Atlas">
    <App />
  </Boundary>,
  document.getElementById("app") as HTMLElement,
);
install();
staysAwake();
