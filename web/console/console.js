// The console: a token decides whether anything is shown, the address what is.
import { button, field, form, h, isID, placed } from "/console/parts.js";
import { api } from "./api.js";
import "./overview.js";
import "./runbook.js";
import "./people.js";
import "./person.js";
import "./limits.js";
import "./doctor.js";
import "./outbox.js";
import "./conversations.js";
import "./reports.js";
import "./keys.js";
import "./webhooks.js";
import "./trace.js";
import "./playground.js";

const SCREENS = [
  ["/overview", "Overview", "overview-screen"], ["/people", "People", "people-screen"], ["/person", "", "person-screen"],
  ["/conversations", "Conversations", "conversations-screen"], ["/conversation", "", "conversation-screen"], ["/reports", "Reports", "reports-screen"], ["/trace", "Live trace", "trace-screen"],
  ["/webhooks", "Webhooks", "webhooks-screen"], ["/outbox", "Outbox", "outbox-screen"], ["/keys", "Keys", "keys-screen"], ["/limits", "Limits", "limits-screen"], ["/doctor", "Doctor", "doctor-screen"],
  ["/playground", "Playground", "playground-screen"], ["/runbook", "", "runbook-screen"],
];

const ALL = { "/person": "/people", "/conversation": "/conversations" };

class Console extends HTMLElement {
  #header = h("header");
  #main = h("main", { id: "main" });
  #screen = null;

  connectedCallback() {
    this.replaceChildren(this.#header, this.#main);
    api.takeToken();
    addEventListener("hashchange", () => {
      api.takeToken();
      this.#route();
    });
    api.addEventListener("token", () => this.#route());
    this.#route();
  }

  #route() {
    let place = `/${placed(1)}`;
    // Without an id: the page where one is chosen.
    if (ALL[place] && !isID(placed(2))) place = ALL[place];
    const found = SCREENS.find(([path]) => path === place) ?? SCREENS[0];
    const [path, title, name] = api.token ? found : ["", "Sign in", ""];
    const key = `${name} ${name ? location.hash : ""}`;
    this.#showHeader(path);
    if (this.#screen?.key === key) return;
    const wasIn = this.#screen && this.#screen.key !== " ";
    this.#screen = name ? document.createElement(name) : this.#door(wasIn);
    this.#screen.key = key;
    this.#main.replaceChildren(this.#screen);
    document.title = `${title} – Presence console`;
    (this.#main.querySelector("[name=token]") ?? this.#main.querySelector("h1"))?.focus();
  }

  #showHeader(current) {
    const brand = h("strong", {}, h("img", { src: "/console/icon.svg", alt: "" }), "Presence console");
    const links = SCREENS.filter(([, title]) => title).map(([path, title]) => h("a", { href: `#${path}`, "aria-current": path === current && "page" }, title));
    const leave = button("Sign out", { onclick: () => (api.token = null) });
    this.#header.replaceChildren(h("div", {}, brand, ...(api.token ? [h("nav", { class: "scroll", "aria-label": "Main" }, ...links, leave)] : [])));
    // On a phone the links are one line that scrolls.
    this.#header.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
  }

  #door(wasIn) {
    const token = field("Token of a backend", { name: "token", type: "password", autocomplete: "off", spellcheck: "false", required: true }, {
      hint: "It is kept in this tab until it is closed.",
    });
    const made = form({ token }, "Sign in", async (fail) => {
      const text = token.value.trim();
      if (!text) return fail("token", "Please paste a token.");
      try {
        await api.ask("GET", "/v1/console/servers", { token: text });
      } catch (error) {
        if (error.status === 401) return fail("token", `This token is rejected: ${error.message}.`);
        if (error.status === 403) return fail("token", "This is the token of a user. The console needs one with the role backend.");
        throw error;
      }
      api.token = text;
    });
    return h("section", { class: "card narrow" }, h("h1", { tabindex: "-1" }, "Sign in"),
      wasIn && h("p", { class: "bad", role: "alert" }, "You are signed out, or the token has expired."),
      h("p", {}, "On a machine with the server's data directory:"), h("pre", {}, h("code", {}, "presenced token console --role backend --expires 1h")), made);
  }
}

customElements.define("presence-console", Console);
