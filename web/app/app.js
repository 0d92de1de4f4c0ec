// The app: who is signed in decides what can be shown, the address what is.
import { PresenceMessages } from "/presence-messages.js";
import { PresenceAccount, PresenceClient } from "/presence.js";
import { DRAFT, again, badge, button, confirmed, h, isID, placed } from "./parts.js";
import "./signing.js";
import "./profile.js";
import "./people.js";
import "./conversations.js";
import "./talk.js";

const OUTSIDE = { "/sign-in": "sign-in-screen", "/sign-up": "sign-up-screen", "/forgot": "forgot-screen" };
const INSIDE = {
  "/people": "people-screen", "/conversations": "conversations-screen", "/profile": "profile-screen", "/talk": "talk-screen",
};
const MAILS = { "/verify": "verify-screen", "/reset": "reset-screen" };
const TITLES = {
  "sign-in-screen": "Sign in", "sign-up-screen": "Sign up", "forgot-screen": "Reset your password", "reset-screen": "New password",
  "verify-screen": "Confirm your email", "setup-screen": "Set up your profile", "people-screen": "People",
  "conversations-screen": "Conversations",
  "profile-screen": "Profile", "talk-screen": "Conversation",
};
const STATES = {
  connecting: "Connecting…", waiting: "No connection. What is shown may be old.",
  stale: "The server is catching up. What is shown may be old.",
};
const REFUSALS = { 4004: "This page was replaced by another one.", 4006: "You were disconnected." };

class App extends HTMLElement {
  account = new PresenceAccount();
  client = null;
  messages = null;
  mailToken = "";
  /** People and contacts as they were last known: a screen that is opened without a connection shows them. */
  seen = new Map();
  contacts = undefined;
  #notice = "";
  #banner = h("p", { class: "banner", role: "status" });
  #header = h("header");
  #badge = badge();
  #main = h("main");
  #screen = null;
  #last = location.hash;

  connectedCallback() {
    this.#takeMailToken();
    this.replaceChildren(this.#header, this.#banner, this.#main);
    addEventListener("hashchange", () => this.#follow());
    this.#run();
  }

  #takeMailToken() {
    const token = /^#token=([\w-]+)$/.exec(location.hash)?.[1];
    if (!token || !MAILS[location.pathname]) return;
    this.mailToken = token;
    // So that it is in no history, and on no screen that somebody photographs.
    history.replaceState(null, "", location.pathname);
  }

  async #run() {
    for await (const state of this.account.states()) {
      if (state?.user !== this.client?.user) this.#setUser(state?.user);
      this.#route();
    }
  }

  #setUser(user) {
    // What somebody has begun to write is nobody else's.
    if (this.client || !user) for (const key of Object.keys(sessionStorage)) if (key.startsWith(DRAFT)) sessionStorage.removeItem(key);
    this.client?.close();
    this.client = user ? Object.assign(new PresenceClient({ token: this.account, device: { name: "Presence in the browser" } }), { user }) : null;
    this.messages = user ? new PresenceMessages(this.client, { user }) : null;
    this.#badge.count(0);
    this.seen.clear();
    this.contacts = undefined;
    if (!user) return;
    this.#showConnection(this.client);
    this.#countUnread(this.client, this.messages);
  }

  /** What goes wrong, the screen of the conversations says. */
  #countUnread(client, messages) {
    again(client, () => messages.conversations(), (conversations) => {
      const counted = conversations.filter(({ muted, archived }) => !muted && !archived);
      if (messages === this.messages) this.#badge.count(counted.reduce((sum, { unread }) => sum + unread, 0));
    });
  }

  async #showConnection(client) {
    let timer;
    const again = (text) => button(text, { class: "plain", onclick: () => client.reconnect() });
    for await (const { state, code, retryAt, told } of client.connections()) {
      clearInterval(timer);
      if (client !== this.client) return;
      this.#banner.replaceChildren(STATES[state] ?? (state === "refused" ? REFUSALS[code] ?? "The connection was refused." : ""));
      if (state === "refused") this.#banner.append(" ", again("Connect"));
      if (state !== "waiting") continue;
      // It would be said anew each second.
      const left = h("span", { "aria-hidden": "true" });
      const count = () => (left.textContent = ` Next try in ${Math.max(0, Math.ceil((retryAt - Date.now()) / 1000))} s. `);
      count();
      timer = setInterval(count, 1_000);
      this.#banner.append(left);
      // A server that says when to come back means it.
      if (!told) this.#banner.append(again("Try now"));
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
    // What comes while a reader is busy is not lost.
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
  entitle(text) {
    document.title = `${text} – Presence`;
  }

  tell(notice) {
    this.#notice = notice;
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
    this.#takeMailToken();
    this.#route();
  }

  #route() {
    const { state } = this.account;
    if (state === undefined) return;
    let place = `/${placed(1)}`;
    if (place === "/talk" && !isID(placed(2))) place = "/conversations";
    const isIn = state !== null;
    let name = MAILS[location.pathname];
    if (!name || (name && !this.mailToken && name === "reset-screen")) {
      if (!isIn) name = OUTSIDE[place] ?? "sign-in-screen";
      else if (!state.account?.setupCompleted) name = "setup-screen";
      else name = INSIDE[place] ?? "people-screen";
      // Now, and not after the answer that led here: by then somebody may have gone on.
      // (Not when it is there already: that would call off a navigation that has just begun.)
      if (name === "people-screen" && location.hash !== "#/people") history.replaceState(null, "", "/app#/people");
    }
    this.#last = location.hash;
    this.#showHeader(isIn && name !== "setup-screen", isIn);
    // The same again is left alone, so that what is typed stays.
    const key = `${name} ${state?.user ?? ""} ${name === "talk-screen" ? location.hash : MAILS[location.pathname] === name ? this.mailToken : ""}`;
    if (this.#screen?.key === key) return;
    document.querySelector("dialog")?.close();
    this.#screen = Object.assign(document.createElement(name), { app: this, key });
    this.#main.replaceChildren(this.#screen);
    this.entitle(TITLES[name]);
    this.#main.querySelector("h1")?.focus();
  }

  /** What waits to be sent goes with who signs out: they should know. */
  async signOut(options) {
    const count = await this.messages.unsent();
    const [what, them] = count === 1 ? ["A message or change is", "it"] : [`${count} messages or changes are`, "them"];
    if (!count || (await confirmed(`${what} not sent yet. Sign out and lose ${them}?`, "Sign out"))) await this.account.signOut(options);
  }

  #showHeader(hasPlaces, isIn) {
    const link = (text, to) => h("a", { href: `/app#${to}`, "aria-current": location.hash.startsWith(`#${to}`) && "page" }, text);
    const leave = button("Sign out", { onclick: () => this.signOut() });
    const talks = link("Conversations", "/conversations");
    talks.append(this.#badge);
    if (location.hash.startsWith("#/talk/")) talks.setAttribute("aria-current", "true");
    const places = hasPlaces ? [link("People", "/people"), talks, link("Profile", "/profile")] : [];
    const brand = h("strong", {}, h("img", { src: "/app/icon.svg", alt: "" }), "Presence");
    this.#header.replaceChildren(h("div", {}, brand, ...(isIn ? [h("nav", { "aria-label": "Main" }, ...places, leave)] : [])));
  }
}

customElements.define("presence-app", App);
