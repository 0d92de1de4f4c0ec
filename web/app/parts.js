// The parts of screens.

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

/** Keys of drafts, with the conversation behind it, and of the data for times without a network. */
export const DRAFT = "presence.draft ";
export const KNOWN = "presence app";

/** A part of the address behind `#/`, by its number; empty if there is none, or it cannot be read. */
export const placed = (number) => {
  try {
    return decodeURIComponent(location.hash.split("/")[number] ?? "");
  } catch {
    return "";
  }
};

export const isID = (text) => /^[\x21-\x7e]{1,128}$/.test(text);

/** Whether a text may be a username. No id of an account is one: it has a dash. */
export const isUsername = (text) => /^[a-z0-9._]{3,30}$/i.test(text);

let server;
/** Whether the server has a feature that not all have. It is asked once, and again after a failure. */
export const serverHas = async (feature) => {
  server ??= fetch("/v1/server").then((answer) => answer.json()).catch(() => (server = undefined));
  return !!(await server)?.features?.includes(feature);
};

/** The user of a username, or of an id; `null` if there is none. */
export const findUser = async ({ account, client }, text) => {
  const found = isUsername(text) && (await account.findUser(text));
  if (found) return found;
  const [{ presence, profile }] = await client.get([text]);
  return profile || presence.version ? { user: text, profile } : null;
};

/** A part of the page with loops that end when it is left. */
export class Screen extends HTMLElement {
  isMain = true;
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

  /** The page has one main heading: that of its subject. */
  heading(...content) {
    return h(this.isMain ? "h1" : "h2", { class: "title", tabindex: "-1" }, ...content);
  }

  async each(loop, show) {
    for await (const value of loop) if (!this.signal.aborted) show(value);
  }
}

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

/** The text of an error for a person. */
export const textOf = (error, otherwise) => {
  if (TEXTS[error.reason]) return TEXTS[error.reason];
  if (error.code === "network") return "Network error. Please check your connection.";
  if (error.code === "banned") return `You are banned${error.until ? ` until ${new Date(error.until).toLocaleString()}` : ""}: ${error.reason}`;
  if (error.code === "refused") return error.reason ?? "This text was not accepted.";
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

/** Whether a key belongs to a text that is still being composed. (Safari marks the Enter that ends it by the number alone.) */
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

/** A labelled input with a hint and an error, for screen readers too. */
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

/** While it works, a button shows so and takes no second press. */
export const busy = async (pressed, text, act) => {
  const before = text && pressed.textContent;
  const hadFocus = document.activeElement === pressed;
  pressed.disabled = true;
  pressed.setAttribute("aria-busy", "true");
  if (text) pressed.textContent = text;
  try {
    return await act();
  } finally {
    pressed.disabled = false;
    pressed.setAttribute("aria-busy", "false");
    if (text) pressed.textContent = before;
    // A disabled element loses it.
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

export const initials = (name) => {
  const words = name.trim().split(/\s+/).filter(Boolean);
  const letters = words.length > 1 ? split(words[0])[0] + split(words.at(-1))[0] : split(words[0] ?? "?").slice(0, 2).join("");
  return letters.toUpperCase();
};

/** A colour for each person and group, the same on every device: an angle, from the id. */
export const hueOf = (id) => [...id].reduce((hash, letter) => Math.imul(hash ^ letter.codePointAt(0), 0x1000193) >>> 0, 0x811c9dc5) % 360;

/** How often a picture is asked for, and ms between. */
const [TRIES, PAUSE] = [4, 2_000];

/** Pictures of other hosts that the user chose to see. */
const wanted = new Set();

/**
 * A picture, or initials in its place, and a mark of the status. Its contents are in the text beside it too. A picture of another host is
 * loaded when it is asked for: that host learns who looks, from where, and when.
 */
class Avatar extends HTMLElement {
  show(name, url, status, id = name) {
    const isForeign = /^(https:|\/\/)/.test(url ?? "") && !wanted.has(url);
    if (isForeign) this.removeAttribute("aria-hidden");
    else this.setAttribute("aria-hidden", "true");
    if (status) this.setAttribute("status", status);
    else this.removeAttribute("status");
    const key = `${url ?? ""} ${isForeign} ${name} ${id}`;
    if (this.key === key) return this;
    this.key = key;
    this.style.setProperty("--hue", hueOf(id));
    if (isForeign) {
      const label = `Show the picture of ${name}, from ${new URL(url).host}`;
      const load = () => {
        wanted.add(url);
        this.show(name, url, status, id);
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
  // A path with two slashes would name another host.
  return isHere && !pathname.startsWith("//") ? pathname + search : undefined;
};

/** Where a file is: https, or on this server. Nothing else is loaded, nor linked to. */
export const fileAt = (address) => {
  if (!address || !URL.canParse(address)) return undefined;
  const { protocol, pathname, href } = new URL(address);
  if (protocol === "https:") return href;
  return protocol === "http:" && /^\/v1\/(photos|attachments)\//.test(pathname) ? pathname : undefined;
};

const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const UNITS = [["day", 86_400_000], ["hour", 3_600_000], ["minute", 60_000]];

export const ago = (time, now) => {
  const unit = UNITS.find(([, length]) => now - time >= length);
  return unit ? relative.format(-Math.floor((now - time) / unit[1]), unit[0]) : "just now";
};

/** The names of presence statuses. */
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

const sameDay = new Intl.DateTimeFormat(undefined, { hour: "numeric", minute: "2-digit" });
const otherDay = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", hour: "numeric", minute: "2-digit" });

/** A past time, in the shortest form. */
export const clock = (time) => {
  const isToday = new Date(time).toDateString() === new Date().toDateString();
  return h("time", { datetime: new Date(time).toISOString() }, (isToday ? sameDay : otherDay).format(time));
};
