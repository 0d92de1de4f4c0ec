// A conversation: its head, its messages, who types, and the composer.
import { Screen, h, placed, textOf } from "./parts.js";
import { composerOf } from "./composer.js";
import { detailsOf } from "./details.js";
import { icon } from "./icons.js";
import { Known, otherOf, pictureOf, presenceOf } from "./known.js";
import { logOf } from "./log.js";
import { menuButton, toast } from "./menu.js";
import { strangerOf } from "./stranger.js";

/** Up to which message a person has read; `undefined` before the conversation is known. */
const readBy = (conversation, user) => conversation && (conversation.members?.find((member) => member.user === user)?.read ?? 0);

class Talk extends Screen {
  #id = "";
  #page = { messages: [] };
  #conversation = null;
  #input;

  render() {
    this.#id = placed(2);
    const { app } = this;
    const { client, messages } = app;
    const id = this.#id;
    const known = new Known(this, () => this.#conversation && showHead());
    const avatar = h("presence-avatar");
    const heading = h("h1", { tabindex: "-1", dir: "auto", class: "title" }, "Conversation");
    const status = h("p", { class: "quiet line", dir: "auto" });
    const typing = h("p", { class: "typing line", role: "status", "aria-live": "polite" });
    const problem = h("p", { class: "bad", role: "alert" });
    const details = detailsOf({ app, conversation: id, known, signal: this.signal });
    const composer = composerOf({ app, conversation: id, signal: this.signal });
    this.#input = composer.input;

    const read = (seq) => {
      if (!document.hidden) messages.read(id, seq).catch(() => {});
    };
    let isReading = false;
    const readEarlier = async (before = this.#page.messages[0]?.id) => {
      if (isReading || !this.#page.hasEarlier) return;
      isReading = true;
      log.node.setAttribute("aria-busy", "true");
      try {
        await messages.earlier(id, { before });
        problem.textContent = "";
      } catch (error) {
        problem.textContent = error.code === "unavailable" ? "Earlier messages cannot be read without a connection." : textOf(error);
      } finally {
        isReading = false;
        log.node.setAttribute("aria-busy", "false");
      }
    };
    const stranger = strangerOf({ app, known });
    const log = logOf({ app, conversation: id, known, read, readEarlier, signal: this.signal });
    const emptyText = h("p");
    const empty = h("div", { class: "empty", hidden: true }, icon("chat"), emptyText);

    const showHead = () => {
      const conversation = this.#conversation;
      const other = otherOf(conversation, client.user);
      const person = other && known.person(other);
      const name = known.title(conversation);
      heading.textContent = name;
      app.entitle(name);
      avatar.show(name, person && pictureOf(person), person?.presence?.status, other ?? id);
      status.textContent = person ? presenceOf(person, client.now()) : `${conversation.participants.length} people${conversation.live ? "" : " (as last known)"}`;
      composer.input.setAttribute("aria-label", `Message to ${name}`);
      details.show(conversation);
      stranger.show(conversation, other);
      showPage();
    };
    const showPage = () => {
      const { messages: all, hasEarlier, missingBefore, live } = this.#page;
      empty.hidden = all.length > 0 || (!live && client.connection.state !== "waiting");
      emptyText.textContent = live ? "Nothing has been said yet. Say hello!" : "What was said here is not known without a connection.";
      log.show(all, {
        isDirect: this.#conversation?.kind === "direct", isOwner: this.#conversation?.owner === client.user, isLive: live,
        unread: live ? this.#conversation?.unread : undefined, read: live ? readBy(this.#conversation, client.user) : undefined, hasEarlier, missingBefore,
      });
    };

    const open = () => details.open(more);
    const more = menuButton("more", "More", () => {
      const { muted, archived } = this.#conversation ?? {};
      const set = (act, text) => () => act().then(() => toast(text), (error) => toast(textOf(error)));
      return [
        ["Details", open, "info"],
        muted ? ["Unmute", set(() => messages.mute(id, false), "Unmuted."), "bell"] : ["Mute", set(() => messages.mute(id, true), "Muted."), "silent"],
        [archived ? "Take out of the archive" : "Archive", set(() => messages.archive(id, !archived), archived ? "It is among the chats again." : "Archived."), "box"],
        ["Close", () => (location.hash = "/chats"), "close"],
      ];
    });
    const back = h("a", { class: "icon-button back", href: "/app#/chats", "aria-label": "Back to chats", title: "Back" }, icon("back"));
    const about = h("div", { class: "about-talk" }, avatar, h("div", { class: "names" }, heading, typing, status));
    about.addEventListener("click", ({ target }) => target.closest("button") || !this.#conversation || open());
    const content = h("div", { class: "talk-body" }, h("div", { class: "frame" }, log.earlier, log.fresh, empty, log.said, log.node), stranger.node, composer.node);
    document.addEventListener("visibilitychange", () => log.tellRead(), { signal: this.signal });

    const take = (conversation) => {
      content.hidden = more.hidden = !!conversation.removed;
      problem.textContent = conversation.removed ? "You are not in this conversation." : "";
      if (conversation.removed) return;
      this.#conversation = conversation;
      known.want(conversation.participants);
      showHead();
    };
    showPage();
    this.each(messages.conversation(id, { signal: this.signal }), take);
    this.each(messages.messages(id, { signal: this.signal }), (page) => {
      this.#page = page;
      if (page.error && page.error.code !== "forbidden") problem.textContent = textOf(page.error);
      showPage();
    }).catch((error) => (problem.textContent = textOf(error)));
    this.each(client.connections({ signal: this.signal }), showPage);
    this.each(client.typing(id, { signal: this.signal }), ({ users, more: others, live }) => {
      const names = live ? users.map((user) => known.name(user)) : [];
      if (live && others) names.push(`${others} more`);
      const all = new Intl.ListFormat("en").format(names);
      const isDirect = this.#conversation?.kind === "direct";
      const who = `${all} ${names.length > 1 ? "are" : "is"} `;
      typing.replaceChildren(...(names.length ? [h("span", { class: isDirect && "said" }, who), "typing…"] : []));
    }).catch(() => {});
    // "5 minutes ago" becomes 6.
    const timer = setInterval(() => this.#conversation && showHead(), 30_000);
    this.signal.addEventListener("abort", () => clearInterval(timer));
    const section = h("section", { class: "talk" }, h("div", { class: "bar talk-head" }, back, about, more), problem, content, details.node);
    composer.takeFiles(section);
    return [section];
  }

  /** The first focus: with a keyboard, a user who opens a conversation can write at once. */
  get first() {
    return matchMedia("(pointer: coarse)").matches ? undefined : this.#input;
  }
}

customElements.define("talk-screen", Talk);
