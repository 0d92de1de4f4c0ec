// People at the side, as they come and go, and the own link, by which others find one.
import { Screen, busy, button, field, form, h, isID, nameOf, textOf } from "./parts.js";
import { bar } from "./chats.js";
import { finderOf } from "./finding.js";
import { icon } from "./icons.js";
import { List, arrange, keep, lastKnown, oneStop, pictureOf, presenceOf, skeletons } from "./known.js";
import { iconButton } from "./menu.js";
import { followLists, talkTo } from "./person.js";
import { codeOf } from "./qr.js";
import { requestsOf } from "./requests.js";

/** The link by which others find a user. */
const linkOf = (user) => `${location.origin}/app#/add/${encodeURIComponent(user)}`;

/** An id, or a link that has one. */
const idIn = (text) => {
  const [, id] = /#\/add\/([^/]+)$/.exec(text) ?? [];
  try {
    return id ? decodeURIComponent(id) : text;
  } catch {
    return text;
  }
};

class People extends List {
  #rows = new Map();
  #settle = () => {};

  render() {
    const { client } = this.app;
    const list = h("ul", { class: "people talks", "aria-label": "People" }, ...skeletons());
    this.#settle = oneStop(list, "a.who");
    // Until it is known, the list does not claim to be empty.
    const empty = h("div", { class: "empty", hidden: true }, icon("group"), h("p", {}, h("strong", {}, "Nobody yet.")),
      h("p", { class: "quiet" }, "Add somebody by their link or id, or give them yours."));
    const user = field("Add a person by their link or id", { name: "users", autocomplete: "off", autocapitalize: "none", spellcheck: "false" });
    const add = form({ users: user }, "Add", async (fail) => {
      const id = idIn(user.value.trim());
      if (!isID(id)) return fail("users", "Please enter an id, such as u-7hq2cdefgh, or a link.");
      if (id === client.own.user) return fail("users", "This is you.");
      // A name, an address or a slip would be added as a user who never answers.
      const [{ presence, profile }] = await client.get([id]);
      if (!profile && !presence.version) {
        return fail("users", "Nobody has this id. Ask them for their link: it is under People, not their name or email address.");
      }
      await client.request("addContacts", { users: [id] });
      user.input.value = "";
    });
    add.classList.add("inline");
    this.#followContacts(list, empty);
    const invite = h("a", { class: "icon-button", href: "/app#/invite", "aria-label": "Your link", title: "Your link" }, icon("link"));
    return [this.head("People", invite), h("div", { class: "scrolled" }, requestsOf(this), ...finderOf(this), add, list, empty)];
  }

  /** The lists are the server's: whichever device changes them, all follow. */
  #followContacts(list, empty) {
    const { client, memory } = this.app;
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
    if (memory.contacts) show(memory.contacts);
    this.signal.addEventListener("abort", () => ending.abort());
    followLists(this.app, this.signal, ({ contacts }) => {
      memory.know(contacts);
      show(contacts);
    });
    // "5 minutes ago" becomes 6.
    const timer = setInterval(() => this.#rows.forEach((row) => row.again()), 30_000);
    this.signal.addEventListener("abort", () => clearInterval(timer));
  }

  #show(list, people) {
    const wanted = new Set(people.map((person) => person.user));
    for (const user of this.#rows.keys()) if (!wanted.has(user)) this.#rows.delete(user);
    const rank = { online: 0, busy: 1, away: 2 };
    const place = (person) => rank[person.presence?.status] ?? 3;
    const sorted = [...people].sort((a, b) => place(a) - place(b) || nameOf(a).localeCompare(nameOf(b)));
    arrange(list, sorted.map((person) => {
      const row = this.#rows.get(person.user) ?? this.#row(person.user);
      row.show(person);
      return row.node;
    }));
    this.mark();
    this.#settle();
  }

  #row(user) {
    const avatar = h("presence-avatar");
    const name = h("strong", { dir: "auto" });
    const status = h("span", { class: "quiet line", dir: "auto" });
    const talk = iconButton("chat", "Talk", { class: "icon-button over", tabindex: "-1" });
    const link = h("a", { class: "who", tabindex: "-1", href: `/app#/person/${encodeURIComponent(user)}` }, name, status);
    const node = h("li", { "data-user": user }, avatar, link, talk);
    talk.addEventListener("click", () => busy(talk, undefined, () => talkTo(this.app, user)).catch((error) => (status.textContent = textOf(error))));
    let last;
    const row = {
      node,
      again: () => last && row.show(last),
      show: (person) => {
        last = person;
        avatar.show(nameOf(person), pictureOf(person), person.presence?.status, user);
        name.textContent = nameOf(person);
        status.textContent = presenceOf(person, this.app.client.now());
        node.classList.toggle("old", !person.live);
        talk.setAttribute("aria-label", `Talk to ${nameOf(person)}`);
      },
    };
    this.#rows.set(user, row);
    return row;
  }
}

class Invite extends Screen {
  render() {
    const { user } = this.app.client;
    const link = linkOf(user);
    const me = h("code", { class: "id" }, user);
    const shown = h("code", { class: "link" }, link);
    const copied = h("p", { class: "good", role: "status" });
    const copy = (node, what, style) => button("Copy", { class: style, "aria-label": `Copy your ${what}`, onclick: async () => {
      try {
        await navigator.clipboard.writeText(node.textContent);
        copied.textContent = "Copied";
      } catch {
        // A browser has no clipboard for plain http pages of other machines: the keys copy what is chosen.
        getSelection().selectAllChildren(node);
      }
    } });
    const share = navigator.share && button("Share…", { class: "main", onclick: () => navigator.share({ title: "Presence", url: link }).catch(() => {}) });
    const code = codeOf(link);
    return [
      bar(this, "Your link", "/people"),
      h("div", { class: "page" }, h("section", { class: "card invite" },
        code && h("div", { class: "code", role: "img", "aria-label": "QR code of your link" }, code),
        h("p", {}, "Who opens this link, or scans it with a camera, can start a conversation with you."),
        h("p", {}, shown), h("div", { class: "row" }, share, copy(shown, "link")), copied,
        h("p", { class: "own quiet" }, "Your id: ", me, copy(me, "id", "plain small")))),
    ];
  }
}

customElements.define("people-list", People);
customElements.define("invite-screen", Invite);
