// One message in a conversation.
import { busy, button, confirmed, h, hueOf, isComposing, split, textOf } from "./parts.js";
import { openReport } from "./dialogs.js";
import { attachmentOf } from "./files.js";
import { icon } from "./icons.js";
import { pictureOf } from "./known.js";
import { iconButton, openMenu, toast } from "./menu.js";

const STATUSES = { sending: "Sending…", sent: "Sent", delivered: "Delivered", read: "Read", failed: "Not sent" };
/** Between parts that may be on different lines: for screen readers alone. */
const dot = () => h("span", { class: "said" }, " · ");
const MARKS = { sending: "clock", sent: "check", delivered: "checks", read: "checks", failed: "failed" };

/** The reason of a refusal. */
const problemOf = (error) => {
  if (error.code === "too_large") return "it is too long";
  return error.code === "forbidden" ? "you cannot write here" : textOf(error).replace(/\.$/, "");
};

/** Characters of a message at most. */
const LONGEST = 5000;

/** Shows when the text gets too long, and then prevents sending it. */
export const limit = (input, count, send) => {
  const left = LONGEST - [...input.value].length;
  count.textContent = left < 200 ? `${left} characters left` : "";
  send.disabled = left < 0;
};

const clock = new Intl.DateTimeFormat(undefined, { hour: "numeric", minute: "2-digit" });
const wholeTime = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "short" });

const LINK = /(?:https?:\/\/|www\.)[^\s<>"]+/g;
/** Characters of the sentence around an address. */
const BEHIND = ".,:;!?'”’»";
/** A longer one is no link: to check it takes the square of its length. */
const LONGEST_ADDRESS = 2_000;

/** The length of an address without the characters of the sentence behind it. */
const lengthOf = (found) => {
  let extra = found.split(")").length - found.split("(").length;
  let end = found.length;
  for (;;) {
    if (BEHIND.includes(found[end - 1])) end--;
    // A bracket that was opened before the address does not belong to it.
    else if (found[end - 1] === ")" && extra-- > 0) end--;
    else return end;
  }
};

/** A text with its addresses as links. No request is made to their hosts until a user follows them. */
export const linked = (text) => {
  const parts = [];
  let at = 0;
  for (const { 0: found, index } of text.matchAll(LINK)) {
    const address = found.slice(0, lengthOf(found));
    const href = address.startsWith("www.") ? `https://${address}` : address;
    if (href.length > LONGEST_ADDRESS || !URL.canParse(href)) continue;
    parts.push(text.slice(at, index), h("a", { href, target: "_blank", rel: "noopener noreferrer nofollow" }, address));
    at = index + address.length;
  }
  return [...parts, text.slice(at)];
};

/** Whether a text is up to three emoji and nothing else: they are shown large. */
const isPicture = (text) => text.length < 60 && /^[\p{Extended_Pictographic}\p{RI}\u200d\ufe0f\u{1f3fb}-\u{1f3ff}\s]+$/u.test(text) && split(text.replace(/\s/g, "")).length <= 3;

const COMPARED = ["version", "status", "text", "seq", "at", "editedAt", "deletedAt"];
const same = (one, other) => COMPARED.every((name) => one[name] === other[name]) && one.readBy?.length === other.readBy?.length
  && one.error?.code === other.error?.code;

/**
 * A message: `node`, and `show` for what has changed of it. A row that is being edited stays as it is, and
 * so does an unchanged row: there are hundreds.
 */
export const messageRow = ({ app, conversation, known }) => {
  const avatar = h("presence-avatar", { hidden: true });
  const who = h("strong", { class: "from", dir: "auto", hidden: true });
  const said = h("span", { class: "said" });
  const text = h("p", { class: "text", dir: "auto" });
  const files = h("ul", { class: "files", hidden: true });
  const meta = h("p", { class: "meta" });
  const failed = h("div", { class: "row", hidden: true });
  const line = h("div", { class: "said-line" }, text, meta);
  const bubble = h("div", { class: "bubble" }, said, who, files, line);
  const node = h("li", { tabindex: "-1" }, avatar, bubble);
  let shown = {};
  let drawn = {};
  let editing = null;
  /** Made when the pointer is on the row: most are only read. */
  let more;

  const problem = (error) => toast(textOf(error));
  const act = (label, does) => {
    const made = button(label, { class: "plain small" });
    made.addEventListener("click", () => busy(made, undefined, does).catch(problem));
    return made;
  };

  const edit = () => {
    const input = h("textarea", { "aria-label": "Text of the message", rows: "3", dir: "auto" });
    const count = h("p", { class: "count near", role: "status" });
    const done = button("Save", { type: "submit", class: "main" });
    const fit = () => limit(input, count, done);
    input.value = shown.text;
    const end = () => {
      editing.remove();
      editing = null;
      drawn = {};
      show(shown, shown.in);
      node.focus();
    };
    const save = async () => {
      if (done.disabled) return;
      const wanted = input.value.trim();
      if (wanted && wanted !== shown.text) await app.messages.edit(conversation, shown.id, wanted);
      end();
    };
    editing = h("form", { class: "editing", novalidate: true }, input, count, h("div", { class: "row" },
      done, button("Cancel", { class: "plain", onclick: end })));
    editing.addEventListener("submit", (event) => {
      event.preventDefault();
      save().catch(problem);
    });
    input.addEventListener("input", fit);
    fit();
    input.addEventListener("keydown", (event) => {
      if (isComposing(event)) return;
      if (event.key === "Escape") end();
      if (event.key === "Enter" && !event.shiftKey) (event.preventDefault(), editing.requestSubmit());
    });
    text.hidden = true;
    more?.remove();
    bubble.insertBefore(editing, line);
    input.focus();
  };

  const remove = async () => {
    if (await confirmed("Delete this message for everybody?", "Delete")) await app.messages.delete(conversation, shown.id);
  };

  const report = () => {
    const { from, id } = shown;
    const name = known.name(from);
    openReport(app, `Report this message of ${name}`, { conversation, message: id }, { user: from, name });
  };

  const actions = () => {
    const { isOwner } = shown.in;
    const isOwn = shown.from === app.client.user;
    const can = [];
    if (shown.text && navigator.clipboard) can.push(["Copy", () => navigator.clipboard.writeText(shown.text).then(() => toast("Copied."), problem), "copy"]);
    if (shown.status === "failed" || shown.deletedAt) return can;
    if (isOwn) can.push(["Edit", edit, "edit"]);
    if (isOwn || isOwner) can.push(["Delete", () => remove().catch(problem), "trash"]);
    if (!isOwn) can.push(["Report", report, "flag"]);
    return can;
  };
  const open = (at) => {
    const items = editing ? [] : actions();
    if (items.length) openMenu(at ? node : more ?? node, items, at);
  };
  node.addEventListener("pointerenter", () => {
    more ??= iconButton("down", "Actions", { class: "more", tabindex: "-1", "aria-haspopup": "menu", "aria-expanded": "false", onclick: () => open() });
    if (!editing && actions().length) bubble.append(more);
    else more.remove();
  });
  node.addEventListener("keydown", (event) => {
    if (event.target !== node || !["Enter", " "].includes(event.key)) return;
    event.preventDefault();
    open();
  });
  // The menu of the browser stays for what is chosen, for links and for what is typed.
  bubble.addEventListener("contextmenu", (event) => {
    if (event.target.closest("a, textarea") || !getSelection().isCollapsed || !actions().length) return;
    event.preventDefault();
    open({ x: event.clientX, y: event.clientY });
  });

  const show = (message, about) => {
    const { isDirect, isFirst, isLive } = about;
    const isOwn = message.from === app.client.user;
    const name = known.name(message.from);
    shown = { ...message, in: about };
    const key = [isFirst, isDirect, message.status === "sending" && isLive, name].join();
    if (same(drawn, message) && drawn.key === key && !editing) return;
    const before = drawn;
    drawn = { ...message, key };
    node.dataset.message = message.id;
    node.className = [isOwn ? "mine" : "theirs", isFirst && "first", message.status === "failed" && "failed"].filter(Boolean).join(" ");
    const isNamed = !isDirect && !isOwn;
    avatar.hidden = !isNamed;
    if (isNamed && isFirst) avatar.show(name, pictureOf(known.person(message.from)), undefined, message.from);
    who.hidden = !isNamed || !isFirst;
    who.textContent = who.hidden ? "" : name;
    if (!who.hidden) who.style.setProperty("--hue", hueOf(message.from));
    // In words: the meaning of side, colour and group.
    said.textContent = who.hidden ? `${name}: ` : "";
    if (before.text !== message.text || before.deletedAt !== message.deletedAt) {
      text.replaceChildren(...(message.deletedAt ? ["Message deleted"] : linked(message.text)));
      text.classList.toggle("gone", !!message.deletedAt);
      text.classList.toggle("large", isPicture(message.text));
    }
    const addresses = (message.attachments ?? []).map(({ url }) => url).join();
    if (files.dataset.addresses !== addresses) {
      files.dataset.addresses = addresses;
      files.replaceChildren(...(message.attachments ?? []).map(attachmentOf));
      files.hidden = !message.attachments?.length;
    }
    bubble.classList.toggle("pictured", !!message.attachments?.some(({ kind }) => kind === "image"));
    bubble.classList.toggle("bare", message.attachments?.at(-1)?.kind === "image" && !message.text && !message.deletedAt && message.status !== "failed");
    meta.replaceChildren(...told(message, isDirect, isLive));
    const isFailed = message.status === "failed";
    if (isFailed && !failed.isConnected) {
      failed.replaceChildren(act("Try again", () => app.messages.retry(shown.id)), act("Discard", () => app.messages.discard(shown.id)));
      bubble.append(failed);
    } else if (!isFailed) failed.remove();
    failed.hidden = !isFailed;
    text.hidden = !!editing || !text.textContent;
    node.setAttribute("aria-label", [name, text.hidden ? files.textContent || (files.hidden ? "" : "Picture") : text.textContent, meta.textContent].join(", "));
    if (editing && message.deletedAt) (editing.remove(), (editing = null), (text.hidden = false));
  };

  const told = (message, isDirect, isLive) => {
    const parts = [];
    if (message.priority) parts.push(h("span", { class: "important" }, ["Important", message.priority.reason].filter(Boolean).join(": ")), dot());
    if (message.editedAt && !message.deletedAt) parts.push("edited", dot());
    parts.push(h("time", { datetime: new Date(message.at).toISOString(), title: wholeTime.format(message.at) }, clock.format(message.at)));
    const { status } = message;
    if (!status || (message.deletedAt && !["sending", "failed"].includes(status))) return parts;
    let how = STATUSES[status];
    if (status === "sending" && !isLive) how = "Waits for a connection";
    if (status === "failed") how = `${message.seq ? "Not changed" : "Not sent"}: ${problemOf(message.error)}`;
    if (!isDirect && ["sent", "delivered"].includes(status) && message.readBy?.length) {
      how = `Read by ${new Intl.ListFormat("en").format(message.readBy.map((user) => known.name(user)))}`;
    }
    // Beside a well-known mark, the word is for screen readers only.
    const isPlain = how === STATUSES[status];
    const word = h("span", { class: isPlain && "said" }, how);
    return [...parts, h("span", { class: "status", "data-status": status, title: how }, isPlain ? " " : dot(), word, icon(MARKS[status]))];
  };

  return { node, show };
};
