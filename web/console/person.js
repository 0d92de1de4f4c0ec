// One person: what others see of them, where they are, since when, and what can be done about it.
import { STATUSES, Screen, busy, button, field, form, h, isID, placed } from "/console/parts.js";
import { api, duration, every, pictureHere, time } from "./api.js";
import { banning } from "./bans.js";
import { timeline, why } from "./timeline.js";

const DAY = 86_400_000;

export const facts = (pairs) => h("dl", {}, ...pairs.filter(([, value]) => value !== undefined && value !== null && value !== "").flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));

export const table = (name, heads, rows) => h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": name }, h("table", {},
  h("thead", {}, h("tr", {}, ...heads.map((text) => h("th", { scope: "col" }, text)))),
  h("tbody", {}, ...rows.map((cells) => h("tr", {}, ...cells.map((cell) => h("td", {}, cell)))))));

class Person extends Screen {
  #user = placed(2);
  #problem = h("p", { class: "bad", role: "alert" });
  #done = h("p", { class: "good", role: "status" });
  #again = () => {};
  #missing = new Set();
  /** The last seven days before the page was opened, and since. */
  #recent = `history?limit=200&from=${Date.now() - 7 * DAY}`;

  render() {
    const name = h("h1", { tabindex: "-1" }, this.#user);
    const unknown = h("p", { class: "quiet", hidden: true }, "No user with this id has been here.");
    const parts = { presence: h("div"), sessions: h("div"), visibility: h("div"), history: h("div"), account: h("div") };
    const card = (title, part, ...more) => h("section", { class: "card", "aria-label": title }, h("h2", {}, title), part, ...more);
    const account = card("Account", parts.account);
    const history = card("Who was online when", parts.history);
    account.hidden = history.hidden = true;
    const sessions = card("Sessions", parts.sessions, this.#acts());
    for (const each of [sessions, history]) each.classList.add("whole");
    const avatar = h("presence-avatar");
    this.#again = every(2_000, this.signal, async () => {
      try {
        await this.#read(parts, name, avatar, { account, history, unknown, sessions });
        this.#problem.textContent = "";
      } catch (error) {
        if (!this.signal.aborted) this.#problem.textContent = `This person cannot be read: ${error.message}.`;
      }
    });
    return [
      h("p", {}, h("a", { href: "#/people" }, "All people")), h("div", { class: "title" }, avatar, name), unknown, this.#problem, this.#done,
      h("div", { class: "columns" },
        sessions, card("What a backend sees", parts.presence, this.#viewer()),
        card("Visibility", parts.visibility, h("p", {}, h("a", { href: `#/trace/user/${encodeURIComponent(this.#user)}` }, "Follow their events"), " · ",
          h("a", { href: `#/conversations/${encodeURIComponent(this.#user)}` }, "Their conversations"))), account,
        card("Ban and data", banning(this.#user, (said) => this.#tell(said)), this.#export()), history),
    ];
  }

  async #read(parts, name, avatar, cards) {
    const ask = (...rest) => api.ask("GET", api.user(this.#user, ...rest), { signal: this.signal });
    // Features that are off, and an account that does not exist, are neither shown nor asked for again.
    const maybe = (what) => this.#missing.has(what) ? undefined : ask(what).catch((error) => {
      if (error.status !== 404) throw error;
      this.#missing.add(what);
    });
    const [person, here, visibility, account, history] = await Promise.all([
      ask(), ask("sessions"), ask("visibility"), maybe("account"), maybe(this.#recent),
    ]);
    if (this.signal.aborted) return;
    name.textContent = person.profile?.displayName ?? this.#user;
    document.title = `${name.textContent} – Presence console`;
    avatar.show(name.textContent, pictureHere(person), person.presence.status);
    cards.unknown.hidden = !!(person.presence.version || person.profile || account || here.sessions.length);
    // There is no user to disconnect.
    cards.sessions.hidden = !cards.unknown.hidden;
    this.#put(parts.presence, () => [this.#facts(person)], person);
    this.#put(parts.sessions, () => this.#sessions(person, here, visibility), person, here, visibility);
    this.#put(parts.visibility, () => [facts([
      ["Presence", visibility.visibility.presence], ["Last seen", visibility.visibility.lastSeen],
      ["Receipts", visibility.visibility.receipts], ["Found by username", visibility.visibility.findable], ["Who begins conversations", visibility.conversations?.from],
      ["Contacts", visibility.contacts.length ? visibility.contacts.slice(0, 20).join(", ") + (visibility.contacts.length > 20 ? " …" : "") : "none"],
      ["Blocks", visibility.blocks.length ? visibility.blocks.slice(0, 20).join(", ") + (visibility.blocks.length > 20 ? " …" : "") : "none"],
    ])], visibility);
    cards.account.hidden = !account;
    if (account) this.#put(parts.account, () => this.#account(account.account), account);
    cards.history.hidden = !history;
    if (history) this.#put(parts.history, () => this.#history(history), history.intervals, Math.floor(history.now / 60_000));
  }

  /** A part is made anew only when what it shows has changed: a button that has the focus keeps it. */
  #put(part, make, ...of) {
    const key = JSON.stringify(of);
    if (part.key === key) return;
    part.replaceChildren(...make());
    part.key = key;
  }

  #sessions(person, here, visibility) {
    const rows = timeline(here);
    return [
      ...why(person, here, visibility).map((sentence, place) => h("p", { class: place ? "quiet" : "why" }, sentence)),
      rows.length ? table("Sessions", ["Device", "From", "To", "End, or shard"], rows) : h("p", { class: "quiet" }, "No sessions are known."),
      here.endedSince && h("p", { class: "quiet" }, `Ends of the sessions of this server since ${time(here.endedSince)}, the newest 20.`),
    ].filter(Boolean);
  }

  #facts({ presence, profile }) {
    return facts([
      ["Id", h("code", {}, this.#user)], ["Status", STATUSES[presence.status] ?? presence.status], ["Text", presence.text],
      ["Since", presence.since && time(presence.since)], ["Last seen", presence.lastSeen && time(presence.lastSeen)],
      ["Devices", presence.devices?.join(", ")], ["Username", profile?.username], ["Time zone", profile?.timezone], ["Locale", profile?.locale],
      ["Picture elsewhere", profile?.thumbnailURL ? undefined : profile?.photoURL],
      ["Presence version", String(presence.version)], ["Profile version", profile && String(profile.version)],
    ]);
  }

  /** The rules for the presence apply to the history too. */
  #viewer() {
    const shown = h("p", { class: "quiet", role: "status" });
    const viewer = field("As another person sees it", { name: "viewer", autocomplete: "off", autocapitalize: "none", spellcheck: "false" }, { hint: "Their id." });
    const made = form({ viewer }, "Look", async (fail) => {
      const id = viewer.value.trim();
      if (!isID(id)) return fail("viewer", "Please enter an id.");
      const { presence } = await api.ask("GET", `/v1/console/view?user=${encodeURIComponent(this.#user)}&viewer=${encodeURIComponent(id)}`);
      shown.textContent = presence.version ? `${id} sees: ${STATUSES[presence.status] ?? presence.status}${presence.lastSeen ? `, last seen ${time(presence.lastSeen)}` : ""}`
        : `${id} sees a user who is offline, and nothing else.`;
    });
    made.append(shown);
    return made;
  }

  #acts() {
    return h("div", { class: "actions" },
      this.#act("Disconnect", "End all sessions of this user? Their apps do not come back by themselves.", "POST", ["disconnect"], ({ disconnected }) => `${disconnected} ended.`),
      this.#act("Revoke tokens", "Revoke all tokens of this user that were issued until now?", "POST", ["revokeTokens"], () => "All tokens that were issued until now are revoked."));
  }

  #act(text, question, method, place, said) {
    const pressed = button(text);
    pressed.addEventListener("click", async () => {
      if (!confirm(question)) return;
      this.#done.textContent = "";
      try {
        const answer = await busy(pressed, undefined, () => api.ask(method, api.user(this.#user, ...place)));
        this.#done.textContent = `${text}: ${said(answer)}`;
        this.#problem.textContent = "";
        this.#again();
      } catch (error) {
        this.#problem.textContent = `${text}: ${error.message}.`;
      }
    });
    return pressed;
  }

  #tell(said) {
    this.#done.textContent = said;
    this.#problem.textContent = "";
    this.#again();
  }

  /** All that the server has of the user, as a file for them. */
  #export() {
    const pressed = button("Download their data");
    pressed.addEventListener("click", () => busy(pressed, "Collecting…", async () => {
      const address = URL.createObjectURL(await api.download(api.user(this.#user, "export")));
      h("a", { href: address, download: "export.tar" }).click();
      setTimeout(() => URL.revokeObjectURL(address), 60_000);
      this.#tell("The data is in the file export.tar.");
    }).catch((error) => (this.#problem.textContent = `Download their data: ${error.message}.`)));
    return h("div", { class: "actions" }, pressed);
  }

  #account(account) {
    const act = account.disabled
      ? this.#act("Enable the account", "Let this user sign in again?", "POST", ["account", "enable"], () => "they can sign in again.")
      : this.#act("Disable the account", "Sign this user out everywhere, and refuse further sign-ins?", "POST", ["account", "disable"], () => "they are signed out and cannot sign in.");
    return [
      facts([["Email", `${account.email}${account.emailVerified ? "" : " (not confirmed)"}`], ["Username", account.username],
        ["Made", account.createdAt && time(account.createdAt)], ["State", account.disabled ? "disabled" : "enabled"]]),
      h("div", { class: "actions" }, act),
    ];
  }

  #history({ intervals, now, more }) {
    if (!intervals.length) return [h("p", { class: "quiet" }, "Nothing is stored for the last seven days.")];
    const rows = [...intervals].reverse().slice(0, 50).map(({ status, from, to }) =>
      [STATUSES[status], time(from), to ? time(to) : "now", duration((to ?? now) - from)]);
    return [this.#days(intervals, now), table("History", ["Status", "From", "To", "Length"], rows),
      h("p", { class: "quiet" }, more || intervals.length > 50 ? "The newest of the last seven days." : "The last seven days.")];
  }

  /** A bar for each day, the newest first; its contents are in the table too. */
  #days(intervals, now) {
    const midnight = new Date(now).setHours(0, 0, 0, 0);
    const days = Array.from({ length: 7 }, (_, day) => midnight - day * DAY);
    const rows = days.map((start) => {
      const canvas = h("canvas", { width: 288, height: 12, "aria-hidden": "true" });
      const pen = canvas.getContext("2d");
      const style = getComputedStyle(document.documentElement);
      for (const { status, from, to } of intervals) {
        const left = Math.max(from, start);
        const right = Math.min(to ?? now, start + DAY);
        if (right <= left) continue;
        pen.fillStyle = style.getPropertyValue(`--${status}`);
        pen.fillRect(((left - start) / DAY) * 288, 0, Math.max(1, ((right - left) / DAY) * 288), 12);
      }
      const day = new Intl.DateTimeFormat("en", { weekday: "short", day: "numeric" }).format(start);
      return h("div", { class: "day" }, h("span", { class: "quiet" }, day), canvas);
    });
    return h("div", { class: "days", "aria-hidden": "true" }, ...rows);
  }
}

customElements.define("person-screen", Person);
