// People as they come and go, and the own status.
import { Screen, arrange, busy, button, describe, field, form, h, isID, keep, lastKnown, nameOf, pictureOf, skeletons, textOf } from "./parts.js";

const STATUSES = [["auto", "Online"], ["busy", "Busy"], ["invisible", "Invisible"]];

class People extends Screen {
  #rows = new Map();

  render() {
    const { client } = this.app;
    const list = h("ul", { class: "people", "aria-label": "People" }, ...skeletons());
    // Until it is known, nobody is told that there is nobody.
    const empty = h("p", { class: "quiet", hidden: true }, "Nobody yet. Ask somebody for their id and add them, or give them yours.");
    const user = field("Add a person by their id", { name: "users", autocomplete: "off", autocapitalize: "none", spellcheck: "false" });
    const add = form({ users: user }, "Add", async (fail) => {
      const id = user.value.trim();
      if (!isID(id)) return fail("users", "Please enter an id, such as u-7hq2cdefgh.");
      if (id === client.own.user) return fail("users", "This is you.");
      // A name, an address or a slip would be added as somebody who never answers.
      const [{ presence, profile }] = await client.get([id]);
      if (!profile && !presence.version) {
        return fail("users", "Nobody has this id. Ask them for theirs: it is under People, not their name or email address.");
      }
      await client.request("addContacts", { users: [id] });
      user.input.value = "";
    });
    const me = h("code", {}, client.own.user ?? "…");
    const copied = h("span", { role: "status" });
    const copy = button("Copy", { class: "plain small", "aria-label": "Copy your id" });
    copy.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(me.textContent);
        copied.textContent = "Copied";
      } catch {
        // A browser has no clipboard for plain http pages of other machines: the keys copy what is chosen.
        getSelection().selectAllChildren(me);
      }
    });
    this.#followContacts(list, empty);
    this.each(client.me({ signal: this.signal }), ({ user }) => (me.textContent = user));
    return [
      h("section", { class: "card" }, h("h1", { tabindex: "-1" }, "People"), list, empty, add),
      h("section", { class: "card", "aria-label": "You" }, h("h2", {}, "You"),
        h("p", { class: "own" }, "Your id: ", me, copy, copied), h("p", { class: "quiet" }, "Give it to those who may add you."), this.#status()),
    ];
  }

  /** The lists are the server's: whichever device changes them, all follow. */
  async #followContacts(list, empty) {
    const { client } = this.app;
    let ending = new AbortController();
    let shown;
    const show = (contacts) => {
      if (contacts.join() === shown) return;
      shown = contacts.join();
      ending.abort();
      ending = new AbortController();
      empty.hidden = contacts.length > 0;
      this.#show(list, contacts.map((user) => lastKnown(this.app, user)));
      this.each(client.people(contacts, { signal: ending.signal }), (people) => this.#show(list, people.map((person) => keep(this.app, person))));
    };
    const read = async () => {
      const { contacts } = await client.request("getVisibility").catch(() => ({}));
      if (!contacts || this.signal.aborted) return false;
      this.app.contacts = contacts;
      show(contacts);
      return true;
    };
    if (this.app.contacts) show(this.app.contacts);
    this.signal.addEventListener("abort", () => ending.abort());
    let isRead = await read();
    let counted;
    this.each(client.me({ signal: this.signal }), async (own) => {
      if (own.contacts === counted && isRead) return;
      counted = own.contacts;
      isRead = await read();
    });
    this.each(client.connections({ signal: this.signal }), async ({ state }) => {
      if (state === "live" && !isRead) isRead = await read();
    });
    // "5 minutes ago" becomes 6.
    const timer = setInterval(() => this.#rows.forEach((row) => row.again()), 30_000);
    this.signal.addEventListener("abort", () => clearInterval(timer));
  }

  #show(list, people) {
    const wanted = new Set(people.map((person) => person.user));
    for (const [user, row] of this.#rows) {
      if (wanted.has(user)) continue;
      row.node.remove();
      this.#rows.delete(user);
    }
    const rank = { online: 0, busy: 1, away: 2 };
    const place = (person) => rank[person.presence?.status] ?? 3;
    const sorted = [...people].sort((a, b) => place(a) - place(b) || nameOf(a).localeCompare(nameOf(b)));
    arrange(list, sorted.map((person) => {
      const row = this.#rows.get(person.user) ?? this.#row(person.user);
      row.show(person);
      return row.node;
    }));
  }

  #row(user) {
    const avatar = h("presence-avatar");
    const name = h("strong", { dir: "auto" });
    const status = h("span", { class: "quiet", dir: "auto" });
    const talk = button("Talk");
    const remove = button("Remove", { class: "plain" });
    const node = h("li", { "data-user": user }, avatar, h("div", { class: "who" }, name, status), h("div", { class: "actions" }, talk, remove));
    const problem = (error) => (status.textContent = textOf(error));
    talk.addEventListener("click", () => busy(talk, undefined, async () => {
      const { id } = await this.app.messages.create([user]);
      location.hash = `/talk/${encodeURIComponent(id)}`;
    }).catch(problem));
    remove.addEventListener("click", () => busy(remove, undefined, () => this.app.client.request("removeContacts", { users: [user] })).catch(problem));
    let last;
    const row = {
      node,
      again: () => last && row.show(last),
      show: (person) => {
        last = person;
        avatar.show(nameOf(person), pictureOf(person), person.presence?.status);
        name.textContent = nameOf(person);
        status.textContent = describe(person, this.app.client.now());
        node.classList.toggle("old", !person.live);
        talk.setAttribute("aria-label", `Talk to ${nameOf(person)}`);
        remove.setAttribute("aria-label", `Remove ${nameOf(person)}`);
      },
    };
    this.#rows.set(user, row);
    return row;
  }

  #status() {
    const { client } = this.app;
    const status = field("Status", { name: "status" }, { tag: "select" });
    status.input.append(...STATUSES.map(([value, text]) => h("option", { value }, text)));
    const text = field("Status text", { name: "text", dir: "auto", maxlength: "140", autocomplete: "off" });
    const done = h("p", { class: "good", role: "status" });
    const made = form({ status, text }, "Set status", async () => {
      await client.setStatus(status.value, { text: text.value.trim() || null });
      done.textContent = "Status set";
    }, { more: [done] });
    made.addEventListener("input", () => (done.textContent = ""));
    this.each(client.me({ signal: this.signal }), (own) => {
      if (made.contains(document.activeElement) || !own.status) return;
      status.input.value = STATUSES.some(([value]) => value === own.status.status) ? own.status.status : "auto";
      text.input.value = own.status.text ?? "";
    });
    return made;
  }
}

customElements.define("people-screen", People);
