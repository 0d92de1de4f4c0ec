// The conversations, as they change, and the form that begins a group.
import { Known, Screen, again, arrange, badge, button, clock, field, form, h, otherOf, pictureOf, skeletons, textOf } from "./parts.js";

class Conversations extends Screen {
  #rows = new Map();
  #all = [];
  #archived = false;

  render() {
    const { app } = this;
    const list = h("ul", { class: "people talks", "aria-label": "Conversations" }, ...skeletons());
    const empty = h("p", { class: "quiet", hidden: true });
    const problem = h("p", { class: "bad", role: "alert" });
    const toggle = button("", { class: "plain", "aria-pressed": "false", hidden: true });
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
    };
    toggle.addEventListener("click", () => {
      this.#archived = !this.#archived;
      show();
    });
    again(app.client, () => app.messages.conversations({ signal: this.signal }), (conversations) => {
      this.#all = conversations;
      problem.textContent = "";
      empty.replaceChildren("None yet. ", h("a", { href: "/app#/people" }, "Choose somebody to talk to."));
      known.want(conversations.flatMap(({ participants }) => participants));
      show();
    }, (error) => {
      list.replaceChildren();
      problem.textContent = error.code === "unknown_type" ? "This server has no conversations." : textOf(error);
    }, this.signal);
    return [
      h("section", { class: "card" }, h("h1", { tabindex: "-1" }, "Conversations"), list, empty, toggle, problem),
      newGroup(this),
    ];
  }
}

/** A conversation in the list: a function that shows it, and returns its node. */
const row = (app, known) => {
  const avatar = h("presence-avatar");
  const title = h("strong", { dir: "auto" });
  const text = h("span", { class: "quiet line", dir: "auto" });
  const when = h("span", { class: "quiet" });
  const count = badge();
  const link = h("a", { class: "who" }, title, text);
  const node = h("li", {}, avatar, link, h("div", { class: "when" }, when, count));
  return (conversation) => {
    const other = otherOf(conversation, app.client.user);
    const person = other && known.person(other);
    const name = known.title(conversation);
    node.dataset.conversation = conversation.id;
    link.href = `/app#/talk/${encodeURIComponent(conversation.id)}`;
    avatar.show(name, person && pictureOf(person), person?.presence?.status);
    title.textContent = name;
    text.textContent = summary(conversation, known, app.client.user) + (conversation.muted ? " · muted" : "");
    when.replaceChildren(clock(conversation.lastMessage?.at ?? conversation.createdAt));
    count.count(conversation.unread);
    node.classList.toggle("old", !conversation.live);
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

const newGroup = (screen) => {
  const { client, messages } = screen.app;
  const name = field("Name", { name: "groupName", dir: "auto", maxlength: "100", autocomplete: "off" }, { hint: "Optional. With one person and no name, it is the conversation with them alone." });
  const choices = h("fieldset", {}, h("legend", {}, "Who"));
  const known = new Known(screen, () => {
    for (const label of choices.querySelectorAll("label")) label.lastChild.textContent = known.name(label.dataset.user);
  });
  const made = form({ name }, "Create", async (fail) => {
    const chosen = [...choices.querySelectorAll("input:checked")].map((input) => input.value);
    if (!chosen.length) return fail("name", "Please choose at least one person.");
    const { id } = await messages.create(chosen, { name: name.value.trim() || undefined });
    location.hash = `/talk/${encodeURIComponent(id)}`;
  });
  made.prepend(choices);
  const node = h("details", { class: "card" }, h("summary", {}, "New group"), made);
  node.addEventListener("toggle", async () => {
    if (!node.open) return;
    const { contacts } = await client.request("getVisibility").catch(() => ({ contacts: [] }));
    const chosen = new Set([...choices.querySelectorAll("input:checked")].map((input) => input.value));
    const boxes = contacts.map((user) => {
      const box = h("input", { type: "checkbox", name: "who", value: user, checked: chosen.has(user) });
      return h("label", { "data-user": user }, box, h("span", { dir: "auto" }, known.name(user)));
    });
    choices.replaceChildren(choices.firstChild, ...(boxes.length ? boxes : [h("p", { class: "quiet" }, "Add people first, under People.")]));
    known.want(contacts);
  });
  return node;
};

customElements.define("conversations-screen", Conversations);
