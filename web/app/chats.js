// The conversations at the side, as they change, the form that begins a group, and what is there before one is chosen.
import { DRAFT, Screen, button, describe, field, form, h, nameOf, textOf } from "./parts.js";
import { icon } from "./icons.js";
import { Known, List, again, arrange, badge, oneStop, otherOf, pictureOf, skeletons } from "./known.js";

class Chats extends List {
  #rows = new Map();
  #all = [];
  #archived = false;

  render() {
    const { app } = this;
    const list = h("ul", { class: "people talks", "aria-label": "Conversations" }, ...skeletons());
    const settle = oneStop(list, "a.who");
    const empty = h("div", { class: "empty", hidden: true }, icon("chat"), h("p", {}, h("strong", {}, "None yet.")),
      h("p", { class: "quiet" }, "Give somebody your link, or add them by theirs."), h("a", { class: "button main", href: "/app#/people" }, "Find people"));
    const problem = h("p", { class: "bad", role: "alert" });
    const toggle = button("", { class: "plain wide", "aria-pressed": "false", hidden: true });
    const known = new Known(this, () => show());
    const show = () => {
      const archived = this.#all.filter((each) => each.archived);
      if (!archived.length) this.#archived = false;
      toggle.hidden = !archived.length;
      toggle.textContent = this.#archived ? "Back to conversations" : `Archived (${archived.length})`;
      toggle.setAttribute("aria-pressed", String(this.#archived));
      const shown = this.#archived ? archived : this.#all.filter((each) => !each.archived);
      empty.hidden = shown.length > 0;
      for (const id of this.#rows.keys()) if (!shown.some((each) => each.id === id)) this.#rows.delete(id);
      arrange(list, shown.map((each) => {
        if (!this.#rows.has(each.id)) this.#rows.set(each.id, row(app, known));
        return this.#rows.get(each.id)(each);
      }));
      this.mark();
      settle();
    };
    toggle.addEventListener("click", () => {
      this.#archived = !this.#archived;
      show();
    });
    const take = (conversations) => {
      this.#all = conversations;
      problem.textContent = "";
      known.want(conversations.flatMap(({ participants }) => participants));
      show();
    };
    again(app.client, () => app.messages.conversations({ signal: this.signal }), take, (error) => {
      list.replaceChildren();
      problem.textContent = error.code === "unknown_type" ? "This server has no conversations." : textOf(error);
    }, this.signal);
    const group = h("a", { class: "icon-button", href: "/app#/new", "aria-label": "New group", title: "New group" }, icon("add"));
    return [this.head("Chats", group), h("div", { class: "scrolled" }, list, empty, toggle, problem)];
  }
}

const sameDay = new Intl.DateTimeFormat(undefined, { hour: "numeric", minute: "2-digit" });
const sameWeek = new Intl.DateTimeFormat("en", { weekday: "long" });
const earlier = new Intl.DateTimeFormat(undefined, { dateStyle: "short" });
const DAY = 86_400_000;
const when = (time) => {
  const days = Math.round((new Date().setHours(0, 0, 0, 0) - new Date(time).setHours(0, 0, 0, 0)) / DAY);
  const text = days < 1 ? sameDay.format(time) : days < 2 ? "Yesterday" : (days < 7 ? sameWeek : earlier).format(time);
  return h("time", { datetime: new Date(time).toISOString() }, text);
};

/** A conversation in the list: a function that shows it, and returns its node. */
const row = (app, known) => {
  const avatar = h("presence-avatar");
  const title = h("strong", { dir: "auto" });
  const text = h("span", { class: "quiet line", dir: "auto" });
  const time = h("span", { class: "quiet" });
  const count = badge();
  const tag = h("span", { class: "tag", hidden: true }, "Request");
  const link = h("a", { class: "who", tabindex: "-1" }, title, text);
  const node = h("li", {}, avatar, link, h("div", { class: "when" }, time, count, tag));
  return (conversation) => {
    const other = otherOf(conversation, app.client.user);
    const person = other && known.person(other);
    const name = known.title(conversation);
    node.dataset.conversation = conversation.id;
    link.href = `/app#/talk/${encodeURIComponent(conversation.id)}`;
    avatar.show(name, person && pictureOf(person), person?.presence?.status, other ?? conversation.id);
    title.textContent = name;
    const draft = localStorage[`${DRAFT}${app.client.user} ${conversation.id}`];
    text.replaceChildren(...(draft && link.hash !== location.hash ? [h("span", { class: "draft" }, "Draft: "), draft]
      : [summary(conversation, known, app.client.user) + (conversation.muted ? " · muted" : "")]));
    time.replaceChildren(when(conversation.lastMessage?.at ?? conversation.createdAt));
    count.count(conversation.unread);
    node.classList.toggle("old", !conversation.live);
    tag.hidden = !conversation.request;
    count.hidden ||= !!conversation.request;
    node.classList.toggle("muted", !!conversation.muted);
    node.classList.toggle("unread", conversation.unread > 0);
    return node;
  };
};

const FILES = { image: "Picture", video: "Video", file: "File" };

const summary = ({ lastMessage, kind }, known, own) => {
  if (!lastMessage) return "No messages yet";
  const { from, text, deletedAt, attachments, status } = lastMessage;
  const files = attachments?.length > 1 ? `${attachments.length} attachments` : FILES[attachments?.[0].kind] ?? "";
  const said = deletedAt ? "Message deleted" : text || files;
  if (status === "failed") return `Not sent: ${said}`;
  return from === own || kind === "group" ? `${known.name(from).split(" ")[0]}: ${said}` : said;
};

class Group extends Screen {
  render() {
    const { client, messages, memory } = this.app;
    const name = field("Name", { name: "groupName", dir: "auto", maxlength: "100", autocomplete: "off" }, { hint: "Optional. With one person and no name, it is the conversation with them alone." });
    const choices = h("fieldset", {}, h("legend", {}, "Who"));
    const known = new Known(this, () => {
      for (const label of choices.querySelectorAll("label")) show(label);
    });
    const show = (label) => {
      const person = known.person(label.dataset.user);
      label.querySelector("presence-avatar").show(nameOf(person), pictureOf(person), person.presence?.status, person.user);
      const [called, how] = label.querySelector(".who").children;
      called.textContent = nameOf(person);
      how.textContent = describe(person, client.now());
    };
    const made = form({ name }, "Create", async (fail) => {
      const chosen = [...choices.querySelectorAll("input:checked")].map((input) => input.value);
      if (!chosen.length) return fail("name", "Please choose at least one person.");
      const { id } = await messages.create(chosen, { name: name.value.trim() || undefined });
      location.hash = `/talk/${encodeURIComponent(id)}`;
    });
    made.prepend(choices);
    const draw = (contacts) => {
      const chosen = new Set([...choices.querySelectorAll("input:checked")].map((input) => input.value));
      const boxes = contacts.map((user) => {
        const box = h("input", { type: "checkbox", name: "who", value: user, checked: chosen.has(user) });
        const label = h("label", { "data-user": user }, box, h("presence-avatar"),
          h("span", { class: "who" }, h("span", { dir: "auto" }), h("span", { class: "quiet", dir: "auto" })));
        show(label);
        return label;
      });
      choices.replaceChildren(choices.firstChild, ...(boxes.length ? boxes : [h("p", { class: "quiet" }, "Add people first, under People.")]));
      known.want(contacts);
    };
    draw(memory.contacts ?? []);
    client.request("getVisibility").then(({ contacts }) => this.signal.aborted || draw(contacts), () => {});
    return [bar(this, "New group", "/chats"), h("div", { class: "page" }, h("section", { class: "card" }, made))];
  }
}

/** The head of what is beside a list; where there is room for one of them only, with the way back. */
export const bar = (screen, text, back) => h("div", { class: "bar" },
  h("a", { class: "icon-button back", href: `/app#${back}`, "aria-label": "Back", title: "Back" }, icon("back")), screen.heading(text));

class Welcome extends Screen {
  render() {
    return [h("div", { class: "empty whole" }, icon("chat"), h("p", {}, "Choose a conversation, or begin one."),
      h("a", { class: "button", href: "/app#/people" }, "People"))];
  }
}

customElements.define("chats-list", Chats);
customElements.define("group-screen", Group);
customElements.define("welcome-screen", Welcome);
