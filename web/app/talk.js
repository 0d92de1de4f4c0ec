// A conversation: what was said, who types, and the text that is being written.
import { DRAFT, Known, Screen, arrange, busy, button, describe, h, isComposing, otherOf, pictureOf, placed, textOf } from "./parts.js";
import { detailsOf } from "./details.js";
import { limit, messageRow } from "./message.js";

/** From how many pixels of the end on somebody reads what is new. */
const NEAR = 60;
/** What is said of a file that is not taken, by the status of the answer. */
const REFUSALS = {
  403: "You are not in this conversation.", 404: "This server takes no files.", 413: "The file is too large.",
  422: "This file cannot be used.",
};

class Talk extends Screen {
  #id = "";
  #rows = new Map();
  #page = { messages: [] };
  #conversation = null;

  render() {
    this.#id = placed(2);
    const { app } = this;
    const { client, messages } = app;
    const id = this.#id;
    const known = new Known(this, () => this.#conversation && showHead());
    const avatar = h("presence-avatar");
    const title = h("h1", { tabindex: "-1", dir: "auto" }, "Conversation");
    const status = h("p", { class: "quiet" });
    const problem = h("p", { class: "bad", role: "alert" });
    const details = detailsOf({ app, conversation: id, known });
    const list = h("ol");
    const log = h("div", { class: "messages", role: "log", "aria-label": "Messages", "aria-relevant": "additions", tabindex: "0" }, list);
    const earlier = button("Earlier messages", { class: "plain", hidden: true });
    const empty = h("p", { class: "quiet", hidden: true }, "Nothing has been said yet.");
    const fresh = button("New messages", { class: "main fresh", hidden: true });
    const typing = h("p", { class: "typing", role: "status", "aria-live": "polite" });
    const composer = this.#composer();
    const content = h("div", { class: "talk-body" }, details.node, earlier, empty, h("div", { class: "frame" }, log, fresh), typing, composer);

    const isAtEnd = () => log.scrollHeight - log.scrollTop - log.clientHeight < NEAR;
    // Who is at the end stays there when the page gets narrow, a picture has come, or a text is edited.
    let isStaying = true;
    let top = 0;
    const toEnd = () => {
      isStaying = true;
      log.scrollTop = log.scrollHeight;
      top = log.scrollTop;
    };
    /** Also before rows are added or sizes change: a page that is busy hears of what was scrolled only afterwards. */
    const noteScroll = () => {
      // Only upwards: the browser itself scrolls down, to what gets the focus.
      isStaying = isAtEnd() || (isStaying && log.scrollTop >= top);
      top = log.scrollTop;
    };
    const sizes = new ResizeObserver(() => {
      noteScroll();
      if (isStaying) toEnd();
    });
    for (const each of [log, list]) sizes.observe(each);
    this.signal.addEventListener("abort", () => sizes.disconnect());
    const read = () => {
      if (document.hidden || !isAtEnd() || !this.#conversation?.unread) return;
      const last = this.#page.messages.findLast(({ seq }) => seq)?.seq;
      if (last) messages.read(id, last).catch(() => {});
    };
    const showHead = () => {
      const conversation = this.#conversation;
      const other = otherOf(conversation, client.user);
      const person = other && known.person(other);
      const name = known.title(conversation);
      title.textContent = name;
      app.entitle(name);
      avatar.show(name, person && pictureOf(person), person?.presence?.status);
      status.textContent = person ? describe(person, client.now()) : `${conversation.participants.length} people`;
      details.show(conversation);
      showPage();
    };
    const showPage = () => {
      const { messages: all, hasEarlier, live } = this.#page;
      noteScroll();
      const wasAtEnd = isAtEnd();
      const fromEnd = log.scrollHeight - log.scrollTop;
      const first = list.firstChild;
      const seen = list.lastChild?.dataset.message;
      const about = {
        isDirect: this.#conversation?.kind === "direct", isOwner: this.#conversation?.owner === client.user, isLive: live,
        today: new Date().toDateString(),
      };
      const ids = new Set(all.map((message) => message.id));
      for (const each of this.#rows.keys()) if (!ids.has(each)) this.#rows.delete(each);
      arrange(list, all.map((message) => {
        if (!this.#rows.has(message.id)) this.#rows.set(message.id, messageRow({ app, conversation: id, known }));
        const row = this.#rows.get(message.id);
        row.show(message, about);
        return row.node;
      }));
      earlier.hidden = !hasEarlier;
      empty.hidden = all.length > 0 || !live;
      const newest = all.at(-1);
      const isOwnNews = newest && newest.id !== seen && newest.from === client.user;
      if (wasAtEnd || isOwnNews) toEnd();
      // What is above was added: what is seen stays where it is.
      else if (list.firstChild !== first) top = log.scrollTop = log.scrollHeight - fromEnd;
      if (!wasAtEnd && newest && newest.id !== seen && seen && !isOwnNews) fresh.hidden = false;
      if (isAtEnd()) fresh.hidden = true;
      read();
    };

    fresh.addEventListener("click", () => {
      toEnd();
      log.focus();
    });
    let isReading = false;
    const readEarlier = async () => {
      if (isReading || !this.#page.hasEarlier) return;
      isReading = true;
      log.setAttribute("aria-busy", "true");
      try {
        await messages.earlier(id);
        problem.textContent = "";
      } catch (error) {
        problem.textContent = error.code === "unavailable" ? "Earlier messages cannot be read without a connection." : textOf(error);
      } finally {
        isReading = false;
        log.setAttribute("aria-busy", "false");
      }
    };
    earlier.addEventListener("click", readEarlier);
    log.addEventListener("scroll", () => {
      noteScroll();
      if (isAtEnd()) fresh.hidden = true;
      if (log.scrollTop < NEAR && log.scrollHeight > log.clientHeight) readEarlier();
      read();
    });
    document.addEventListener("visibilitychange", read, { signal: this.signal });

    this.each(messages.conversation(id, { signal: this.signal }), (conversation) => {
      content.hidden = !!conversation.removed;
      problem.textContent = conversation.removed ? "You are not in this conversation." : "";
      if (conversation.removed) return;
      this.#conversation = conversation;
      known.want(conversation.participants);
      showHead();
    });
    this.each(messages.messages(id, { signal: this.signal }), (page) => {
      this.#page = page;
      if (page.error && page.error.code !== "forbidden") problem.textContent = textOf(page.error);
      showPage();
    }).catch((error) => (problem.textContent = textOf(error)));
    this.each(client.typing(id, { signal: this.signal }), ({ users, more, live }) => {
      const names = live ? users.map((user) => known.name(user)) : [];
      if (live && more) names.push(`${more} more`);
      const all = new Intl.ListFormat("en").format(names);
      typing.textContent = names.length ? `${all} ${names.length > 1 ? "are" : "is"} typing…` : "";
    }).catch(() => {});
    return [h("section", { class: "card talk" }, h("div", { class: "talk-head" }, avatar, h("div", {}, title, status)), problem, content)];
  }

  /** The text that is written. It is kept in this tab until it is sent. */
  #composer() {
    const { client, messages } = this.app;
    const id = this.#id;
    const draft = DRAFT + id;
    const input = h("textarea", { name: "text", rows: "1", dir: "auto", "aria-label": "Message", placeholder: "Message", autocomplete: "off", "aria-describedby": "talk-problem" });
    const count = h("p", { class: "count near", role: "status" });
    const problem = h("p", { class: "bad", role: "alert", id: "talk-problem" });
    const send = button("Send", { type: "submit", class: "main" });
    const fit = () => {
      input.style.height = "auto";
      input.style.height = `${Math.min(input.scrollHeight + 2, 160)}px`;
      limit(input, count, send);
    };
    const keep = () => {
      if (input.value) sessionStorage[draft] = input.value;
      else sessionStorage.removeItem(draft);
    };
    input.value = sessionStorage[draft] ?? "";
    input.addEventListener("input", () => {
      problem.textContent = "";
      keep();
      fit();
      client.setTyping(id, input.value !== "");
    });
    input.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || isComposing(event)) return;
      event.preventDefault();
      composer.requestSubmit();
    });
    this.signal.addEventListener("abort", () => client.setTyping(id, false));
    const file = h("input", { type: "file", hidden: true, tabindex: "-1", "aria-label": "File" });
    const attach = button("Attach", { class: "attach", "aria-label": "Attach a file" });
    const cancel = button("Cancel", { class: "plain", "aria-label": "Cancel the upload", hidden: true });
    const retry = button("Try again", { class: "plain", "aria-label": "Try the upload again", hidden: true });
    let picked;
    let ending;
    attach.addEventListener("click", () => file.click());
    file.addEventListener("change", () => {
      if (!file.files.length) return;
      [picked] = file.files;
      file.value = "";
      upload();
    });
    cancel.addEventListener("click", () => ending.abort());
    retry.addEventListener("click", () => upload());
    const upload = () => busy(attach, "Uploading…", async () => {
      problem.textContent = "";
      retry.hidden = true;
      cancel.hidden = false;
      ending = new AbortController();
      const progress = (share) => (attach.textContent = `Uploading… ${Math.round(share * 100)}%`);
      try {
        const attachment = await messages.upload(id, picked, { progress, signal: ending.signal });
        await messages.send(id, "", { attachments: [attachment] });
      } catch (error) {
        if (error.code === "cancelled") return;
        problem.textContent = REFUSALS[error.status] ?? textOf(error);
        retry.hidden = error.status in REFUSALS;
      } finally {
        cancel.hidden = true;
      }
    });
    const composer = h("form", { class: "composer", novalidate: true }, input, attach, send, file, count,
      h("div", { class: "row" }, problem, cancel, retry));
    composer.addEventListener("submit", async (event) => {
      event.preventDefault();
      const text = input.value.trim();
      if (!text || send.disabled) return;
      input.value = "";
      fit();
      input.focus();
      try {
        // Until it is kept elsewhere it stays the draft: a page that is loaded again meanwhile still has it.
        await messages.send(id, text);
        keep();
      } catch (error) {
        // It is where it was, unless something else is there by now.
        input.value ||= text;
        keep();
        problem.textContent = error.code === "too_many" ? "Too many messages wait to be sent." : textOf(error);
        fit();
      }
    });
    requestAnimationFrame(fit);
    return composer;
  }
}

customElements.define("talk-screen", Talk);
