const form = document.querySelector("form"), code = document.querySelector("#code");
const naming = document.querySelector("#naming"), called = document.querySelector("#name");
const say = document.body.dataset;
const byCookie = location.protocol === "https:";
const status = document.querySelector("[role=status]");
const link = location.hash.slice(1);
let replaces = "";
history.replaceState(null, "", location.pathname);
if (link) { code.value = link; code.type = "hidden"; document.querySelector("label").hidden = true; }
const offerName = () => { naming.hidden = code.value.replace(/[\s-]/g, "").length !== 8; }; // the setup code's
offerName();
form.addEventListener("input", () => { replaces = ""; offerName(); });
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  status.textContent = say.moment;
  try {
    const reply = await fetch("/pair", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ secret: code.value, as: byCookie ? "cookie" : "token", replaces, name: naming.hidden ? "" : called.value }),
    });
    const body = await reply.json();
    if (body.here) {
      replaces = body.here;
      status.textContent = say.replaces.replace("{here}", body.here).replace("{device}", body.device);
      return;
    }
    if (!reply.ok) {
      const { code: why, details } = body.error;
      const left = details?.tries === 1 ? say.once_more : details?.tries ? say.tries.replace("{tries}", details.tries) : "";
      status.textContent = `${say[why] ?? say.other} ${left}`.trim();
      return;
    }
    if (byCookie) {
      try { localStorage.setItem("atlas.device", body.device); } catch { /* the app asks the house instead */ }
    }
    location.replace(byCookie ? "/" : "/#token=" + body.token);
  } catch {
    status.textContent = say.gone;
  }
});
