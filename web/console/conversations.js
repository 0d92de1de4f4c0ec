// Conversations: those of a user, and one with its members and how far each of them is. Texts are not shown.
import { Screen, field, form, h, isID, placed } from "/console/parts.js";
import { amount, api, every, time } from "./api.js";
import { personLink } from "./people.js";
import { facts, table } from "./person.js";
import { traceLink } from "./trace.js";

const link = (id) => `#/conversation/${encodeURIComponent(id)}`;
const people = (users) => (users.length > 4 ? `${users.slice(0, 3).join(", ")} and ${amount(users.length - 3)} others` : users.join(", "));

class Conversations extends Screen {
  render() {
    const user = placed(2);
    const one = (name, label, value, to) => {
      const id = field(label, { name, autocomplete: "off", autocapitalize: "none", spellcheck: "false", value });
      return form({ [name]: id }, "Look", (fail) => {
        const wanted = id.value.trim();
        if (!isID(wanted)) return fail(name, "Please enter an id.");
        location.hash = to(wanted);
      });
    };
    return [
      h("h1", { tabindex: "-1" }, "Conversations"),
      h("div", { class: "columns" },
        h("section", { class: "card", "aria-label": "By a user" }, one("user", "The conversations of a user", user, (id) => `#/conversations/${encodeURIComponent(id)}`)),
        h("section", { class: "card", "aria-label": "By its id" }, one("conversation", "One conversation by its id", "", link)),
        ...(user ? [this.#list(user)] : [])),
    ];
  }

  #list(user) {
    const count = h("p", { class: "quiet", role: "status" }, "Reading…");
    const problem = h("p", { class: "bad", role: "alert" });
    const rows = h("div");
    let shown;
    every(5_000, this.signal, async () => {
      try {
        const { conversations, more } = await api.ask("GET", `/v1/console/conversations?user=${encodeURIComponent(user)}`, { signal: this.signal });
        problem.textContent = "";
        count.textContent = conversations.length ? `${amount(conversations.length)} ${conversations.length === 1 ? "conversation" : "conversations"}${more ? ", the newest; there are more" : ""}` : "This user is in no conversation.";
        const key = JSON.stringify(conversations);
        if (key === shown) return;
        shown = key;
        rows.replaceChildren(...(conversations.length ? [table("Conversations", ["Conversation", "Members", "Messages", "Unread", "Last message"], conversations.map((each) => [
          h("a", { href: link(each.id) }, each.name ?? each.id), people(each.participants), amount(each.last), `${amount(each.unread)}${each.muted ? ", muted" : ""}${each.archived ? ", archived" : ""}`,
          each.lastMessageAt ? time(each.lastMessageAt) : "none",
        ]))] : []));
      } catch (error) {
        if (!this.signal.aborted) problem.textContent = `The conversations cannot be read: ${error.message}.`;
      }
    });
    return h("section", { class: "card whole", "aria-label": "Conversations" }, h("h2", {}, "Conversations of ", h("a", { href: personLink(user) }, user)), count, problem, rows);
  }
}

class Conversation extends Screen {
  render() {
    const id = placed(2);
    const title = h("h1", { tabindex: "-1" }, id);
    const problem = h("p", { class: "bad", role: "alert" });
    const about = h("div", {}, h("p", { class: "quiet" }, "Reading…"));
    const members = h("div");
    const messages = h("div");
    /** A server may have no messages (disabledFeatures). */
    const none = (error) => {
      if (error.status !== 404) throw error;
      return { messages: [] };
    };
    let shown;
    every(2_000, this.signal, async () => {
      const path = `/v1/conversations/${encodeURIComponent(id)}`;
      try {
        const [{ conversation }, page] = await Promise.all([api.ask("GET", path, { signal: this.signal }), api.ask("GET", `${path}/messages?limit=20`, { signal: this.signal }).catch(none)]);
        problem.textContent = "";
        const key = JSON.stringify([conversation, page.messages]);
        if (key === shown) return;
        shown = key;
        title.textContent = conversation.name ?? id;
        const { kind, owner, createdAt, first, last, version } = conversation;
        about.replaceChildren(facts([["Id", h("code", {}, id)], ["Kind", kind], ["Owner", owner && h("a", { href: personLink(owner) }, owner)], ["Made", time(createdAt)],
          ["Messages", `${amount(last)}${first > 1 ? `, kept from number ${amount(first)} on` : ""}`], ["Version", String(version)]]));
        members.replaceChildren(table("Members", ["Member", "Delivered", "Read", "Behind by"], conversation.members.map(({ user, delivered, read }) =>
          [h("a", { href: personLink(user) }, user), amount(delivered), read === undefined ? "hidden" : amount(read), amount(Math.max(0, last - Math.max(delivered, first - 1)))])));
        messages.replaceChildren(page.messages.length ? table("Messages", ["Number", "From", "At", "Length", ""], [...page.messages].reverse().map((each) =>
          [amount(each.seq), h("a", { href: personLink(each.from) }, each.from), time(each.at), `${amount([...each.text].length)} characters`,
            each.deletedAt ? "deleted" : each.editedAt ? "edited" : ""])) : h("p", { class: "quiet" }, "None."));
      } catch (error) {
        if (!this.signal.aborted) problem.textContent = error.status === 404 ? "There is no such conversation." : `This conversation cannot be read: ${error.message}.`;
      }
    });
    const card = (name, part, ...more) => h("section", { class: part === messages ? "card whole" : "card", "aria-label": name }, h("h2", {}, name), part, ...more);
    return [h("p", {}, h("a", { href: "#/conversations" }, "Conversations")), title, problem,
      h("div", { class: "columns" }, card("Conversation", about, h("p", {}, h("a", { href: traceLink("conversation", id) }, "Follow its events"))),
        card("Members", members), card("The newest messages", messages, h("p", { class: "quiet" }, "Texts are not shown here.")))];
  }
}

customElements.define("conversations-screen", Conversations);
customElements.define("conversation-screen", Conversation);
