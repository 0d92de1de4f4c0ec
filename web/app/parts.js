// What screens are made of.

/** An element: `on…` are listeners, everything else is an attribute. Text is never read as HTML. */
export const h = (tag, attributes = {}, ...children) => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== undefined && child !== null && child !== false));
  return made;
};

/** How many are unread, said as well as shown. */
export const badge = () => {
  const number = h("span");
  const said = h("span", { class: "said" });
  const node = h("span", { class: "badge", hidden: true }, number, said);
  node.count = (count) => {
    number.textContent = count > 99 ? "99+" : count || "";
    said.textContent = count ? " unread" : "";
    node.hidden = !count;
  };
  return node;
};

/** What texts that were begun are kept under in this tab, with the conversation behind it. */
export const DRAFT = "presence.draft ";

/** A part of the address behind `#/`, by its number; empty if there is none, or it cannot be read. */
export const placed = (number) => {
  try {
    return decodeURIComponent(location.hash.split("/")[number] ?? "");
  } catch {
    return "";
  }
};

export const isID = (text) => /^[\x21-\x7e]{1,128}$/.test(text);

/** A part of the page with loops that end when it is left. */
export class Screen extends HTMLElement {
  #ending = new AbortController();

  get signal() {
    return this.#ending.signal;
  }

  connectedCallback() {
    this.#ending = new AbortController();
    this.replaceChildren(...this.render());
  }

  disconnectedCallback() {
    this.#ending.abort();
  }

  async each(loop, show) {
    for await (const value of loop) if (!this.signal.aborted) show(value);
  }
}

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

const TEXTS = {
  invalid_credentials: "Invalid email or password.",
  email_taken: "This email is already registered.",
  username_taken: "This username is already taken.",
  invalid_email: "Please enter a valid email address.",
  token_expired: "This link is no longer valid. Please ask for a new one.",
  photo_too_large: "Image is too large. Maximum size is 5MB.",
  photo_not_an_image: "This file cannot be used. Please choose a JPEG or PNG picture.",
  reserved_username: "This username cannot be chosen.",
  invalid_username: "Invalid username format. Use 3-30 characters, letters, numbers, periods, and underscores.",
};

/** What a person is told of an error. */
export const textOf = (error, otherwise) => {
  if (TEXTS[error.reason]) return TEXTS[error.reason];
  if (error.code === "network") return "Network error. Please check your connection.";
  if (error.code === "rate_limited") {
    return `Too many attempts. Please try again in ${Math.ceil((error.retryAfter ?? 1000) / 1000)} seconds.`;
  }
  if (error.code === "validation_failed" && error.message) {
    // A field is called as people read it: displayName is "display name".
    const { field = "" } = error;
    const words = field && error.message.replaceAll(field, field.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`));
    const message = words || error.message;
    return message[0].toUpperCase() + message.slice(1).replace(/\.?$/, ".");
  }
  return otherwise ?? `An error occurred: ${error.message}`;
};

/** Whether a key belongs to a text that is still being composed. (Safari says so of the Enter that ends it by the number alone.) */
export const isComposing = (event) => event.isComposing || event.keyCode === 229;

/**
 * Asks, and gives whether the answer was yes. Not with `confirm`: it stops the whole tab, and with it the socket, which other
 * tabs use as well.
 */
export const confirmed = (question, yes) => new Promise((resolve) => {
  document.querySelector("dialog")?.close();
  const text = h("p", { id: "question" }, question);
  const end = (answer) => button(answer || "Cancel", { class: answer && "main", autofocus: !answer, onclick: () => node.close(answer) });
  const node = h("dialog", { class: "card", "aria-labelledby": "question" }, text, h("div", { class: "row" }, end(yes), end("")));
  node.addEventListener("close", () => {
    node.remove();
    resolve(node.returnValue === yes);
  });
  document.body.append(node);
  node.showModal();
});

let fields = 0;

/** A labelled input with a hint and an error, which screen readers are told. */
export const field = (label, attributes = {}, { hint = "", tag = "input" } = {}) => {
  const id = `field-${++fields}`;
  const input = h(tag, { id, "aria-describedby": `${id}-error ${id}-hint`, ...attributes });
  const error = h("p", { id: `${id}-error`, class: "bad", role: "alert" });
  const below = h("p", { id: `${id}-hint`, class: "hint" }, hint);
  const node = h("div", { class: "field" }, h("label", { for: id }, label), input, error, below);
  const fail = (text = "") => {
    error.textContent = text;
    input.setAttribute("aria-invalid", String(!!text));
  };
  input.addEventListener("input", () => fail());
  return { node, input, hint: below, fail, get value() { return input.value; } };
};

export const button = (text, attributes = {}) => h("button", { type: "button", ...attributes }, text);

/** While it works, a button says so and takes no second press. */
export const busy = async (pressed, text, act) => {
  const before = pressed.textContent;
  const hadFocus = document.activeElement === pressed;
  pressed.disabled = true;
  pressed.setAttribute("aria-busy", "true");
  if (text) pressed.textContent = text;
  try {
    return await act();
  } finally {
    pressed.disabled = false;
    pressed.setAttribute("aria-busy", "false");
    pressed.textContent = before;
    // What is disabled loses it.
    if (hadFocus && document.activeElement === document.body) pressed.focus();
  }
};

/** A form whose errors stand at their fields, or above its button. `inputs` are by the members that they are for. */
export const form = (inputs, action, submit, { busyText, otherwise, more = [], after = () => {} } = {}) => {
  const problem = h("p", { class: "bad", role: "alert" });
  const send = button(action, { type: "submit", class: "main" });
  const made = h("form", { novalidate: true }, ...Object.values(inputs).map((input) => input.node), problem, send, ...more);
  made.addEventListener("input", () => (problem.textContent = ""));
  made.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (send.disabled) return;
    problem.textContent = "";
    const fail = (name, text) => {
      inputs[name].fail(text);
      inputs[name].input.focus();
    };
    try {
      await busy(send, busyText, () => submit(fail));
    } catch (error) {
      if (inputs[error.field]) fail(error.field, textOf(error, otherwise));
      else problem.textContent = textOf(error, otherwise);
    } finally {
      after();
    }
  });
  return made;
};

// Names

const characters = new Intl.Segmenter();
/** As people count them: a family emoji is one. */
export const split = (text) => [...characters.segment(text)].map((each) => each.segment);
export const LONGEST_NAME = 50;

export const problemOfName = (name) => {
  if (!name.trim()) return "Display name cannot be empty";
  if (split(name.trim()).length > LONGEST_NAME) return "Display name must be 50 characters or less";
  return undefined;
};

/** The field of a display name: counted, and cut while it is typed. */
export const nameField = (value = "") => {
  const made = field("Display name", { name: "displayName", dir: "auto", autocomplete: "name", autocapitalize: "words", required: true });
  const count = h("p", { class: "count" });
  const show = () => {
    const parts = split(made.input.value);
    if (parts.length > LONGEST_NAME) made.input.value = parts.slice(0, LONGEST_NAME).join("");
    const length = Math.min(parts.length, LONGEST_NAME);
    count.textContent = `${length}/${LONGEST_NAME}`;
    count.classList.toggle("near", length > 45);
  };
  made.input.addEventListener("input", show);
  made.node.append(count);
  made.input.value = value;
  show();
  return Object.assign(made, {
    set(text) {
      made.input.value = text;
      show();
    },
  });
};

export const initials = (name) => {
  const words = name.trim().split(/\s+/).filter(Boolean);
  const letters = words.length > 1 ? split(words[0])[0] + split(words.at(-1))[0] : split(words[0] ?? "?").slice(0, 2).join("");
  return letters.toUpperCase();
};

/** How often a picture is asked for, and ms between. */
const [TRIES, PAUSE] = [4, 2_000];

/** Pictures of other hosts that somebody wanted to see. */
const wanted = new Set();

/**
 * A picture, or initials in its place, and a mark of the status. What it says is said beside it too. A picture of another host is
 * loaded when it is asked for: that host learns who looks, from where, and when.
 */
class Avatar extends HTMLElement {
  show(name, url, status) {
    const isForeign = !!url?.startsWith("https:") && !wanted.has(url);
    if (isForeign) this.removeAttribute("aria-hidden");
    else this.setAttribute("aria-hidden", "true");
    if (status) this.setAttribute("status", status);
    else this.removeAttribute("status");
    const key = `${url ?? ""} ${isForeign} ${name}`;
    if (this.key === key) return this;
    this.key = key;
    if (isForeign) {
      const label = `Show the picture of ${name}, from ${new URL(url).host}`;
      const load = () => {
        wanted.add(url);
        this.show(name, url, status);
      };
      this.replaceChildren(button(initials(name), { "aria-label": label, title: label, onclick: load }));
      return this;
    }
    const plain = () => this.replaceChildren(initials(name));
    let left = TRIES;
    const load = () => {
      if (this.key !== key) return;
      left--;
      this.replaceChildren(h("img", { src: url, alt: "", loading: "lazy", referrerpolicy: "no-referrer", onerror: retry }));
    };
    const retry = () => {
      if (this.key !== key) return;
      plain();
      if (left) setTimeout(load, PAUSE);
    };
    if (url) load();
    else plain();
    return this;
  }
}
customElements.define("presence-avatar", Avatar);

export const nameOf = (person) => person.profile?.displayName ?? person.user;

/** The path of a file that this server has, whatever name it has for itself. */
export const fileHere = (address) => {
  if (!address || !URL.canParse(address)) return undefined;
  const { origin, pathname, protocol, search } = new URL(address);
  const isHere = origin === location.origin || (/^https?:$/.test(protocol) && /^\/v1\/(photos|attachments)\//.test(pathname));
  return isHere ? pathname + search : undefined;
};

/** Where a file is: https, or on this server. Nothing else is loaded, nor linked to. */
export const fileAt = (address) => {
  if (!address || !URL.canParse(address)) return undefined;
  const { protocol, pathname } = new URL(address);
  if (protocol === "https:") return address;
  return protocol === "http:" && /^\/v1\/(photos|attachments)\//.test(pathname) ? pathname : undefined;
};

/** One that this server has made has a thumbnail. */
export const pictureOf = ({ profile }, size = "thumbnailURL") =>
  (profile?.thumbnailURL && fileHere(profile[size])) ?? fileAt(profile?.[size] ?? profile?.photoURL);

const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const UNITS = [["day", 86_400_000], ["hour", 3_600_000], ["minute", 60_000]];

export const ago = (time, now) => {
  const unit = UNITS.find(([, length]) => now - time >= length);
  return unit ? relative.format(-Math.floor((now - time) / unit[1]), unit[0]) : "just now";
};

/** What each status of a presence is called. */
export const STATUSES = { online: "Online", away: "Away", busy: "Busy", offline: "Offline" };
const DEVICES = { phone: "phone", tablet: "tablet", desktop: "desktop", web: "web", bot: "bot" };

/** A person's presence in words. */
export const describe = ({ presence, live, error }, now) => {
  if (error) return textOf(error, "Cannot be shown.");
  if (!presence) return "…";
  const parts = [STATUSES[presence.status] ?? (presence.devices ? "Away" : "Offline")];
  if (presence.text) parts.push(presence.text);
  const devices = (presence.devices ?? []).map((kind) => DEVICES[kind]).filter(Boolean);
  if (devices.length) parts.push(`on ${devices.join(" and ")}`);
  if (presence.lastSeen) parts.push(`last seen ${ago(presence.lastSeen, now)}`);
  return parts.join(" · ") + (live ? "" : " (as last known)");
};

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

/** What a list has until it is known who is in it. `arrange` takes them out. */
export const skeletons = () => Array.from({ length: 3 }, () =>
  h("li", { class: "skeleton", "aria-hidden": "true" }, h("span", { class: "disc" }), h("span", { class: "bar" })));

/** Notes how a person is, for the screens that come when there is no connection. */
export const keep = (app, person) => {
  if (person.presence) app.seen.set(person.user, person);
  return person;
};

export const lastKnown = (app, user) => ({ user, presence: null, profile: null, ...app.seen.get(user), live: false });

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

  /** What a conversation is called: its name, or those who are in it. */
  title({ name, participants }) {
    const others = participants.filter((user) => user !== this.#screen.app.client.user);
    if (name) return name;
    return others.length ? new Intl.ListFormat("en").format(others.map((user) => this.name(user))) : "Only you";
  }
}

/** The other one of a direct conversation. */
export const otherOf = ({ kind, participants }, own) => (kind === "direct" ? participants.find((user) => user !== own) : undefined);

const sameDay = new Intl.DateTimeFormat(undefined, { hour: "numeric", minute: "2-digit" });
const otherDay = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", hour: "numeric", minute: "2-digit" });

/** When something was, as short as it can be told. */
export const clock = (time) => {
  const isToday = new Date(time).toDateString() === new Date().toDateString();
  return h("time", { datetime: new Date(time).toISOString() }, (isToday ? sameDay : otherDay).format(time));
};
