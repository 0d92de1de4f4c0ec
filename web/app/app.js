// The app: who is signed in decides what can be shown, the address what is. Code that only they need is in inside.js.
import { PresenceAccount, PresenceClient, internals } from "/presence.js";
import { DRAFT, KNOWN, button, confirmed, h, isID, placed, textOf } from "./parts.js";
import "./signing.js";

const OUTSIDE = { "/sign-in": "sign-in-screen", "/sign-up": "sign-up-screen", "/forgot": "forgot-screen" };
const MAILS = { "/verify": "verify-screen", "/reset": "reset-screen", "/signin": "link-screen" };
/** The list at the side, and the page beside it. A narrow page has one of both. */
const INSIDE = {
  "/chats": ["chats-list", "welcome-screen"], "/talk": ["chats-list", "talk-screen"], "/new": ["chats-list", "group-screen"],
  "/people": ["people-list", "invite-screen"], "/invite": ["people-list", "invite-screen"], "/person": ["people-list", "person-screen"],
  "/settings": ["settings-list", "profile-screen"], "/profile": ["settings-list", "profile-screen"], "/status": ["settings-list", "status-screen"],
  "/privacy": ["settings-list", "privacy-screen"], "/notifications": ["settings-list", "notifications-screen"], "/account": ["settings-list", "account-screen"], "/devices": ["settings-list", "devices-screen"],
};
const LISTS = ["/chats", "/people", "/settings"];
/** Addresses of before. */
const MOVED = { "/conversations": "/chats", "/": "/chats" };
const STATES = { connecting: "Connecting…", waiting: "No connection.", stale: "The server is catching up. What is shown may be old." };
const REFUSALS = { 4004: "This page was replaced by another one.", 4006: "You were disconnected." };
const PAUSE = 2_000;

/** Drafts and kept data belong to one user. */
const forget = () => {
  for (const key of Object.keys(localStorage)) if (key.startsWith(DRAFT)) localStorage.removeItem(key);
  internals.stored(KNOWN, (held) => (held ? null : undefined)).catch(() => {});
};

class App extends HTMLElement {
  account = new PresenceAccount();
  client = null;
  messages = null;
  people = null;
  settings = null;
  memory = null;
  mailToken = "";
  mailAddress = "";
  #inside;
  #notice = "";
  #banner = h("p", { class: "banner", role: "status" });
  #rail = null;
  #side = h("div", { class: "side" });
  #detail = h("div", { class: "detail" });
  #list = null;
  #screen = null;
  #last = location.hash;
  /** The link that a signed-out user opened; it is followed after the sign-in. */
  #invited;
  /** A provider's answer. */
  #granted;
  #unread = 0;
  #requests = 0;
  #title = "";

  connectedCallback() {
    this.#takeSecrets();
    this.replaceChildren(this.#banner, h("main", {}, this.#side, this.#detail));
    addEventListener("hashchange", () => this.#follow());
    this.#run();
  }

  /** From the address: a mail's token, or a provider's answer. */
  #takeSecrets() {
    const parts = new URLSearchParams(location.hash.slice(1));
    if (location.pathname === "/app" && (parts.has("code") || parts.has("error"))) {
      this.#granted = { code: parts.get("code"), error: parts.get("error") };
      history.replaceState(null, "", "/app");
      return;
    }
    const token = /^[\w-]+$/.exec(parts.get("token") ?? "")?.[0];
    if (!token || !MAILS[location.pathname]) return;
    this.mailToken = token;
    this.mailAddress = parts.get("email") ?? "";
    // So it is in no history, and on no photographed screen.
    history.replaceState(null, "", location.pathname);
  }

  async #run() {
    for await (const state of this.account.states()) {
      if (state) this.#inside ??= await this.#load();
      if (state?.user !== this.client?.user || !state) await this.#setUser(state?.user);
      this.#route();
    }
  }

  async #load() {
    for (;;) {
      try {
        return await import("./inside.js");
      } catch {
        this.#banner.textContent = STATES.waiting;
        await new Promise((resolve) => setTimeout(resolve, PAUSE));
      }
    }
  }

  async #setUser(user) {
    this.client?.close();
    this.memory?.close();
    this.client = this.messages = this.people = this.settings = this.memory = null;
    this.#list = this.#screen = null;
    this.#side.replaceChildren();
    this.countUnread(0);
    this.countRequests(0);
    if (!user) {
      this.#rail?.node.remove();
      this.#rail = null;
      forget();
      return;
    }
    const client = Object.assign(new PresenceClient({ token: this.account, device: { name: "Presence in the browser" } }), { user });
    await this.#inside.begin(this, client);
    this.#rail?.node.remove();
    this.#rail = this.#inside.railOf(this);
    this.prepend(this.#rail.node);
    // They may have come before.
    this.countUnread(this.#unread);
    this.countRequests(this.#requests);
    this.#showConnection(client);
  }

  async #showConnection(client) {
    let timer;
    const again = (text) => button(text, { class: "plain small", onclick: () => client.reconnect() });
    for await (const { state, code, error, retryAt, told } of client.connections()) {
      clearInterval(timer);
      if (client !== this.client) return;
      const refusal = error?.code === "banned" ? textOf(error) : REFUSALS[code] ?? "The connection was refused.";
      this.#banner.replaceChildren(STATES[state] ?? (state === "refused" ? refusal : ""));
      if (state === "refused") this.#banner.append(" ", again("Connect"));
      if (state !== "waiting") continue;
      // A screen reader would read it each second.
      const left = h("span", { "aria-hidden": "true" });
      const count = () => (left.textContent = ` Next try in ${Math.max(0, Math.ceil((retryAt - Date.now()) / 1000))} s`);
      count();
      timer = setInterval(count, 1_000);
      this.#banner.append(left);
      // A server that names a time means it.
      if (!told) this.#banner.append(" · ", again("Try now"));
    }
    clearInterval(timer);
    if (client === this.client || !this.client) this.#banner.textContent = "";
  }

  /** The own user as they are now: profile and account. */
  async *own({ signal }) {
    const { client, account } = this;
    let profile = null;
    let isKnown = false;
    let isNew = false;
    let end = () => {};
    // Values that come while a reader is busy are not lost.
    const wake = () => {
      isNew = true;
      end();
    };
    client.addEventListener("own", wake, { signal });
    signal.addEventListener("abort", wake);
    const follow = async () => {
      for await (const person of client.person(client.user, { signal })) {
        profile = person.profile;
        isKnown = true;
        wake();
      }
    };
    follow();
    while (!signal.aborted) {
      if (!isNew) await new Promise((resolve) => (end = resolve));
      isNew = false;
      if (isKnown) yield { profile, account: client.own.account ?? account.state?.account };
    }
  }

  /** A screen knows better what it shows. */
  entitle(text = this.#title) {
    this.#title = text;
    document.title = `${this.#unread ? `(${this.#unread}) ` : ""}${text} – Presence`;
  }

  countUnread(count) {
    this.#unread = count;
    this.#rail?.unread.count(count);
    this.entitle();
  }

  /** The number of people who ask to be a contact. */
  countRequests(count) {
    this.#requests = count;
    this.#rail?.requests.count(count);
  }

  tell(notice) {
    this.#notice = notice;
  }

  takeGrant() {
    const granted = this.#granted;
    this.#granted = undefined;
    return granted;
  }

  takeNotice() {
    const notice = this.#notice;
    this.#notice = "";
    return notice;
  }

  /** From the page of a mail's link to one of the app. */
  leaveMail(to) {
    this.mailToken = "";
    history.replaceState(null, "", `/app#${to}`);
    this.#route();
  }

  async #follow() {
    if (this.#screen?.hasChanges) {
      const wanted = location.href;
      history.replaceState(null, "", this.#last);
      if (!(await confirmed("You have unsaved changes. Leave without saving?", "Leave"))) return;
      history.replaceState(null, "", wanted);
    }
    // The link of another mail, opened where that of one before is.
    this.#takeSecrets();
    this.#route();
  }

  #route() {
    const { state } = this.account;
    if (state === undefined || (state && state.user !== this.client?.user)) return;
    let place = `/${placed(1)}`;
    place = MOVED[place] ?? place;
    if (place === "/add") {
      if (isID(placed(2))) this.#invited = placed(2);
      place = "/chats";
    }
    if (["/talk", "/person"].includes(place) && !isID(placed(2))) place = place === "/talk" ? "/chats" : "/people";
    const mail = MAILS[location.pathname];
    const isReady = state?.account?.setupCompleted;
    if (mail && (mail === "verify-screen" || this.mailToken)) this.#show(undefined, mail);
    else if (!state) this.#show(undefined, this.#granted ? "granted-screen" : OUTSIDE[place] ?? "sign-in-screen");
    else if (!isReady) this.#show(undefined, "setup-screen");
    else {
      if (!INSIDE[place]) place = "/chats";
      // Now, and not after the answer that led here: by then the user may have left the page.
      // (Not when it is there already: that would call off a navigation that has just begun.)
      if (LISTS.includes(place) && location.hash !== `#${place}`) history.replaceState(null, "", `/app#${place}`);
      this.#show(place, INSIDE[place][1], INSIDE[place][0]);
    }
    this.#last = location.hash;
    if (!this.#invited || !isReady) return;
    this.#inside.meet(this, this.#invited);
    this.#invited = undefined;
  }

  get isInvited() {
    return !!this.#invited;
  }

  #show(place, name, list) {
    const isList = LISTS.includes(place);
    this.dataset.shows = !list ? "outside" : isList ? "list" : "detail";
    if (this.#rail) {
      this.#rail.node.hidden = !list;
      this.#rail.show(list);
    }
    if (this.#list?.localName !== list) {
      this.#list = list ? Object.assign(document.createElement(list), { app: this, isMain: isList }) : null;
      this.#side.replaceChildren(...(list ? [this.#list] : []));
    }
    this.#side.hidden = !list;
    this.#list?.setMain(isList);
    this.#list?.mark();
    // The same again is left alone, so that what is typed stays.
    const about = ["talk-screen", "person-screen"].includes(name) ? placed(2) : MAILS[location.pathname] === name ? this.mailToken : "";
    const key = `${name} ${this.account.state?.user ?? ""} ${about} ${isList}`;
    if (this.#screen?.key === key) return;
    document.querySelector("dialog")?.close();
    this.#screen = Object.assign(document.createElement(name), { app: this, key, isMain: !isList });
    this.#detail.replaceChildren(this.#screen);
    this.entitle(this.querySelector("h1")?.textContent);
    (this.#screen.first ?? this.querySelector("h1"))?.focus({ preventScroll: true });
  }

  /** A sign-out removes unsent messages: the user should know. */
  async signOut(options) {
    const count = await this.messages.unsent();
    const [what, them] = count === 1 ? ["A message or change is", "it"] : [`${count} messages or changes are`, "them"];
    if (!count || (await confirmed(`${what} not sent yet. Sign out and lose ${them}?`, "Sign out"))) await this.account.signOut(options);
  }
}

customElements.define("presence-app", App);
