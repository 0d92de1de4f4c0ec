// People: all who are here, and the search of all users. Only those in sight are in the page and asked for again.
import { STATUSES, Screen, field, h, isID } from "/console/parts.js";
import { amount, api, duration, every } from "./api.js";

const ROW = 56;
const BEYOND = 8;
/** In ms: all are read again after so long, and after so long for each of them: a read costs the server what it finds. */
const [AGAIN, EACH] = [20_000, 10];
/** In ms: while they are read, the list is put in order once in so long. */
const SELDOM = 500;
/** In ms: a text is searched when no key was pressed for so long. */
const TYPED = 250;
/** Users of a search that are enough. */
const MOST = 500;
const order = new Intl.Collator();

export const personLink = (user) => `#/person/${encodeURIComponent(user)}`;

/** A list of any length: rows of one height, made for what is in sight. `show(row, item)` fills one. */
export class LongList {
  #items = [];
  #rows = [];
  #tall = h("div", { class: "tall" });
  #planned = false;

  constructor(name, make, show) {
    this.make = make;
    this.show = show;
    this.node = h("div", { class: "long", role: "list", "aria-label": name, tabindex: "0" }, this.#tall);
    this.node.addEventListener("scroll", () => this.draw(), { passive: true });
    new ResizeObserver(() => this.draw()).observe(this.node);
  }

  set items(items) {
    this.#items = items;
    this.draw();
  }

  get inSight() {
    const { first, last } = this.#range();
    return this.#items.slice(first, last);
  }

  #range() {
    const first = Math.max(0, Math.floor(this.node.scrollTop / ROW) - BEYOND);
    return { first, last: Math.min(this.#items.length, Math.ceil((this.node.scrollTop + this.node.clientHeight) / ROW) + BEYOND) };
  }

  /** Once before the next frame, however often it is asked for. */
  draw() {
    if (this.#planned) return;
    this.#planned = true;
    requestAnimationFrame(() => {
      this.#planned = false;
      this.#draw();
    });
  }

  #draw() {
    const height = `${this.#items.length * ROW}px`;
    if (this.#tall.style.height !== height) this.#tall.style.height = height;
    const { first, last } = this.#range();
    while (this.#rows.length < last - first) {
      const row = this.make();
      row.node.setAttribute("role", "listitem");
      this.#rows.push(row);
      this.#tall.append(row.node);
    }
    this.#rows.forEach((row, index) => {
      const item = this.#items[first + index];
      row.node.hidden = first + index >= last || !item;
      if (row.node.hidden) return;
      row.node.style.transform = `translateY(${(first + index) * ROW}px)`;
      row.node.setAttribute("aria-setsize", this.#items.length);
      row.node.setAttribute("aria-posinset", first + index + 1);
      this.show(row, item);
    });
  }
}

class People extends Screen {
  #people = new Map();

  /** Users that the server found for a text, present or not, and how far it has come. */
  #found = { text: "", people: new Map(), isOver: true, problem: "" };

  render() {
    const search = field("Search", { name: "search", type: "search", autocomplete: "off", autocapitalize: "none", spellcheck: "false" }, {
      hint: "A part of an id, a name, a username or an e-mail address: of all users, present or not.",
    });
    const count = h("p", { class: "quiet", role: "status" }, "Reading…");
    const problem = h("p", { class: "bad", role: "alert" });
    const exact = h("a", { hidden: true });
    const list = new LongList("People", () => this.#row(), (row, person) => this.#show(row, person));
    const show = () => {
      const id = search.value.trim();
      const text = id.toLowerCase();
      const all = [...this.#people.values()];
      const here = text ? all.filter(({ user, displayName }) => user.toLowerCase().includes(text) || displayName?.toLowerCase().includes(text)) : all;
      const { people, isOver, isMore, problem: failed } = this.#found;
      const found = text ? [...new Map([...people, ...here.map((each) => [each.user, { ...people.get(each.user), ...each }])]).values()] : here;
      found.sort((a, b) => order.compare(a.displayName ?? a.user, b.displayName ?? b.user));
      list.items = found;
      list.node.hidden = !found.length;
      const searched = !isOver ? ", searching…" : isMore ? ", and there are more: type more of it" : "";
      count.textContent = text ? `${amount(found.length)} found${searched || (failed ? `, only among those here: ${failed}` : "")}`
        : `${amount(all.length)} ${all.length === 1 ? "person" : "people"} here`;
      exact.hidden = !isOver || !isID(id) || found.some(({ user }) => user === id);
      exact.href = personLink(id);
      exact.textContent = `Look at the user ${id}`;
    };
    let typed;
    search.input.addEventListener("input", () => {
      const text = search.value.trim();
      clearTimeout(typed);
      this.#found = { text, people: new Map(), isOver: !text, problem: "" };
      if (text) typed = setTimeout(() => this.#search(this.#found, show), TYPED);
      show();
    });
    every(() => Math.max(AGAIN, this.#people.size * EACH), this.signal, async () => {
      try {
        await this.#read(show);
        problem.textContent = "";
      } catch (error) {
        if (!this.signal.aborted) problem.textContent = `People cannot be read: ${error.message}.`;
      }
    });
    // Those in sight are live.
    every(1_000, this.signal, async () => {
      const shown = list.inSight;
      if (!shown.length) return;
      const told = await api.ask("POST", "/v1/users/get", { body: { users: shown.map(({ user }) => user) }, signal: this.signal }).catch(() => undefined);
      const now = new Map(told?.users.map((each) => [each.user, each]));
      for (const person of shown) {
        const { presence, profile } = now.get(person.user) ?? {};
        if (!presence) continue;
        const changes = { status: presence.status, since: presence.since, lastSeen: presence.lastSeen, text: presence.text, displayName: profile?.displayName };
        for (const each of [person, this.#people.get(person.user)]) if (each) Object.assign(each, changes);
      }
      list.draw();
    });
    return [h("h1", { tabindex: "-1" }, "People"), h("section", { class: "card", "aria-label": "Who is here" }, search.node, count, exact, problem, list.node)];
  }

  /** Among all users, a step after the other, until there are many or another text is searched. */
  async #search(found, show) {
    const isWanted = () => !this.signal.aborted && this.#found === found;
    try {
      let cursor;
      do {
        const query = `text=${encodeURIComponent(found.text)}${cursor ? `&cursor=${cursor}` : ""}`;
        const page = await api.ask("GET", `/v1/console/search?${query}`, { signal: this.signal });
        if (!isWanted()) return;
        for (const person of page.people) found.people.set(person.user, person);
        cursor = page.cursor;
        show();
      } while (cursor && found.people.size < MOST);
      found.isMore = !!cursor;
    } catch (error) {
      if (!isWanted()) return;
      found.problem = error.message;
    }
    found.isOver = true;
    show();
  }

  /** All pages, one after the other: they replace what was known when all have come. */
  async #read(show) {
    const found = new Map();
    let cursor;
    let shown = -Infinity;
    do {
      const page = await api.ask("GET", `/v1/console/people${cursor ? `?cursor=${encodeURIComponent(cursor)}` : ""}`, { signal: this.signal });
      for (const person of page.people) found.set(person.user, Object.assign(this.#people.get(person.user) ?? {}, person));
      cursor = page.cursor;
      if (this.#people.size < found.size && performance.now() - shown > SELDOM) {
        shown = performance.now();
        this.#people = new Map([...this.#people, ...found]);
        show();
      }
    } while (cursor && !this.signal.aborted);
    this.#people = found;
    show();
  }

  #row() {
    const name = h("a");
    const user = h("span", { class: "quiet" });
    const status = h("span", { class: "status" });
    return { node: h("div", { class: "line" }, h("div", { class: "who" }, name, user), status), name, user, status };
  }

  #show(row, { user, displayName, username, email, status, since, lastSeen, text }) {
    const set = (node, value) => {
      if (node.textContent !== value) node.textContent = value;
    };
    set(row.name, displayName ?? user);
    set(row.user, [displayName && user, username && `@${username}`, email].filter(Boolean).join(" · "));
    if (row.name.getAttribute("href") !== personLink(user)) row.name.href = personLink(user);
    row.status.dataset.status = status;
    // Offline counts from when they were last seen.
    const from = status === "offline" ? lastSeen ?? since : since;
    const length = from ? ` for ${duration(Date.now() - from)}` : "";
    const word = status === "unknown" ? "Cannot be read" : STATUSES[status] ?? "Offline";
    set(row.status, `${word}${length}${text ? ` · ${text}` : ""}`);
  }
}

customElements.define("people-screen", People);
