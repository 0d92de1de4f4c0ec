// The app's knowledge, and its lists: people, conversations, and both as they were last seen.
import { internals } from "/presence.js";
import { KNOWN, Screen, describe, fileAt, fileHere, h, nameOf } from "./parts.js";

/** A number, for screen readers too: of unread messages, or of others in a word. */
export const badge = (word = "unread") => {
  const number = h("span");
  const said = h("span", { class: "said" });
  const node = h("span", { class: "badge", hidden: true }, number, said);
  node.count = (count) => {
    number.textContent = count > 99 ? "99+" : count || "";
    said.textContent = count ? ` ${word}` : "";
    node.hidden = !count;
  };
  return node;
};

/**
 * Shows what a loop has, until a signal or the end of the client. One that ends with an error is begun anew when the connection
 * changes: what a server refuses to one, it may give to the next.
 */
export const again = async (client, begin, show, fail = () => {}, signal) => {
  for (;;) {
    try {
      for await (const value of begin()) if (!signal?.aborted) show(value);
      return;
    } catch (error) {
      // A mistake of the page itself would come again.
      if (!error.code) throw error;
      fail(error);
    }
    const { since } = client.connection;
    for await (const connection of client.connections({ signal })) if (connection.since !== since) break;
  }
};

/** One that this server has made has a thumbnail. */
export const pictureOf = ({ profile }, size = "thumbnailURL") =>
  (profile?.thumbnailURL && fileHere(profile[size])) ?? fileAt(profile?.[size] ?? profile?.photoURL);

/** A presence in a word or two. */
export const presenceOf = (person, now) => describe(person, now).replace(/^Offline · (?=last seen)/, "");

/** Puts rows in their order. The one with the focus is not moved, so it keeps it. */
export const arrange = (list, nodes) => {
  const kept = new Set(nodes);
  for (const each of [...list.children]) if (!kept.has(each)) each.remove();
  if (!nodes.length) return;
  const fixed = Math.max(0, nodes.findIndex((node) => node.contains(document.activeElement) && node.parentNode === list));
  if (nodes[fixed].parentNode !== list) list.append(nodes[fixed]);
  for (let place = fixed - 1; place >= 0; place--) {
    if (nodes[place].nextSibling !== nodes[place + 1]) list.insertBefore(nodes[place], nodes[place + 1]);
  }
  for (let place = fixed + 1; place < nodes.length; place++) {
    if (nodes[place].previousSibling !== nodes[place - 1]) nodes[place - 1].after(nodes[place]);
  }
};

const STEPS = { ArrowUp: -1, ArrowDown: 1, Home: -Infinity, End: Infinity, PageUp: -10, PageDown: 10 };

/** Arrows lead from one item of a list to the next. */
export const arrows = (list, selector) => list.addEventListener("keydown", (event) => {
  const step = STEPS[event.key];
  if (!step || !event.target.matches(selector)) return;
  event.preventDefault();
  const all = [...list.querySelectorAll(selector)];
  all[Math.min(all.length - 1, Math.max(0, all.indexOf(event.target) + step))].focus();
});

/**
 * Makes a list one stop of the Tab key, with arrows; a row's own buttons come after it. Gives what is to be called when its items are
 * others.
 */
export const oneStop = (list, selector) => {
  let current = null;
  const stops = (item) => (item ? [item, ...item.closest("li").querySelectorAll("button.over")] : []);
  const set = (item) => {
    if (item === current) return;
    for (const each of stops(current)) each.tabIndex = -1;
    current = item ?? null;
    for (const each of stops(current)) each.tabIndex = 0;
  };
  list.addEventListener("focusin", ({ target }) => set(target.closest("li")?.querySelector(selector) ?? current));
  arrows(list, selector);
  return () => current && list.contains(current) || set(list.querySelector(selector));
};

/** The list at the side: its heading is the page's own one while nothing is beside it. */
export class List extends Screen {
  #heading;

  head(text, ...more) {
    this.#heading = this.heading(text);
    return h("div", { class: "bar" }, this.#heading, ...more);
  }

  setMain(isMain) {
    if (this.isMain === isMain) return;
    this.isMain = isMain;
    const before = this.#heading;
    this.#heading = this.heading(...before.childNodes);
    before.replaceWith(this.#heading);
  }

  /** Shows which of its links leads to what is beside it. */
  mark() {
    for (const link of this.querySelectorAll("a.who")) {
      const isHere = link.hash === location.hash;
      link.closest("li").classList.toggle("current", isHere);
      if (isHere) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
  }
}

/** A list before its entries are known. `arrange` takes them out. */
export const skeletons = () => Array.from({ length: 3 }, () =>
  h("li", { class: "skeleton", "aria-hidden": "true" }, h("span", { class: "disc" }), h("span", { class: "bar" })));

/** Notes how a person is, for the screens that come when there is no connection. */
export const keep = (app, person) => {
  if (person.presence) app.memory.person(person);
  return person;
};

export const lastKnown = (app, user) => ({ user, presence: null, profile: null, ...app.memory.people.get(user), live: false });

/** The people that a screen shows, as they are now. */
export class Known {
  #screen;
  #changed;
  #ids = "";
  #people = new Map();
  #ending = new AbortController();

  constructor(screen, changed) {
    this.#screen = screen;
    this.#changed = changed;
    screen.signal.addEventListener("abort", () => this.#ending.abort());
  }

  want(users) {
    const ids = [...new Set(users)].sort();
    if (ids.join() === this.#ids) return;
    this.#ids = ids.join();
    const before = this.#ending;
    this.#ending = new AbortController();
    // The new loop first: whom both want stays watched.
    this.#screen.each(this.#screen.app.client.people(ids, { signal: this.#ending.signal }), (people) => {
      for (const person of people) this.#people.set(person.user, keep(this.#screen.app, person));
      this.#changed();
    });
    before.abort();
  }

  person(user) {
    return this.#people.get(user) ?? lastKnown(this.#screen.app, user);
  }

  name(user) {
    return user === this.#screen.app.client.user ? "You" : nameOf(this.person(user));
  }

  /** A conversation's title: its name, or its other members. */
  title({ name, participants }) {
    const others = participants.filter((user) => user !== this.#screen.app.client.user);
    if (name) return name;
    return others.length ? new Intl.ListFormat("en").format(others.map((user) => this.name(user))) : "Only you";
  }
}

/** The other one of a direct conversation. */
export const otherOf = ({ kind, participants }, own) => (kind === "direct" ? participants.find((user) => user !== own) : undefined);

/** People that are kept for a page that is opened without a network, at most; ms until they are written. */
const [MOST_PEOPLE, PAUSE] = [500, 1_000];

/** People as they were last known, in IndexedDB until the user signs out. (Conversations and messages are the library's.) */
export class Memory {
  people = new Map();
  /** `undefined`: nothing is known. */
  contacts;
  #user;
  #timer;

  constructor(user) {
    this.#user = user;
  }

  async load() {
    const held = await internals.stored(KNOWN).catch(() => {});
    if (held?.user !== this.#user) return;
    for (const person of held.people) this.people.set(person.user, person);
    this.contacts = held.contacts;
  }

  person(person) {
    this.people.delete(person.user);
    this.people.set(person.user, person);
    this.#save();
  }

  know(contacts) {
    this.contacts = contacts;
    this.#save();
  }

  close() {
    clearTimeout(this.#timer);
    this.#timer = -1;
  }

  #save() {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      const people = [...this.people.values()].slice(-MOST_PEOPLE).map(({ user, presence, profile }) => ({ user, presence, profile }));
      internals.stored(KNOWN, () => ({ user: this.#user, contacts: this.contacts, people })).catch(() => {});
    }, PAUSE);
  }
}
