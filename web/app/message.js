// One message in a conversation.
import { busy, button, clock, fileAt, h, textOf } from "./parts.js";

const STATUSES = { sending: "Sending…", sent: "Sent", delivered: "Delivered", read: "Read", failed: "Not sent" };

const amounts = (unit) => new Intl.NumberFormat("en", { style: "unit", unit, maximumFractionDigits: 0 });
const [kilobytes, megabytes] = [amounts("kilobyte"), amounts("megabyte")];
const size = (bytes) => (bytes < 1e6 ? kilobytes.format(Math.ceil(bytes / 1e3)) : megabytes.format(bytes / 1e6));

/** What is wrong with one that was refused. */
const problemOf = (error) => {
  if (error.code === "too_large") return "it is too long";
  return error.code === "forbidden" ? "you cannot write here" : textOf(error).replace(/\.$/, "");
};

/** Characters of a message at most. */
const LONGEST = 5000;

/** Says when the text gets too long, and then keeps it from being sent. */
export const limit = (input, count, send) => {
  const left = LONGEST - [...input.value].length;
  count.textContent = left < 200 ? `${left} characters left` : "";
  send.disabled = left < 0;
};

/** A message: `node`, and `show` for what has changed of it. What somebody edits is left alone meanwhile. */
export const messageRow = ({ app, conversation, known }) => {
  const who = h("strong", { class: "from", dir: "auto" });
  const text = h("p", { class: "text", dir: "auto" });
  const files = h("ul", { class: "files", hidden: true });
  const meta = h("p", { class: "meta" });
  const actions = h("div", { class: "row changes" });
  const about = h("div", { class: "about" }, meta, actions);
  const bubble = h("div", { class: "bubble" }, who, text, files, about);
  const node = h("li", {}, bubble);
  let shown = {};
  let editing = null;

  const problem = (error) => (meta.textContent = textOf(error));
  const act = (label, does, name) => {
    const made = button(label, { class: "plain small", "aria-label": name });
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
      show(shown);
      actions.querySelector("button")?.focus();
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
      if (event.key === "Escape") end();
      if (event.key === "Enter" && !event.shiftKey && !event.isComposing) (event.preventDefault(), editing.requestSubmit());
    });
    text.hidden = actions.hidden = true;
    bubble.insertBefore(editing, about);
    input.focus();
  };

  const remove = async () => {
    if (confirm("Delete this message for everybody?")) await app.messages.delete(conversation, shown.id);
  };

  const attachment = ({ kind, url, thumbnailURL, sizeBytes }) => {
    const place = fileAt(url);
    if (!place) return h("li", {}, kind);
    const link = h("a", { href: place, target: "_blank", rel: "noopener noreferrer" });
    const named = () => link.replaceChildren(`Open the ${kind}`, sizeBytes ? ` (${size(sizeBytes)})` : "");
    const source = fileAt(thumbnailURL) ?? place;
    // A picture that cannot be had is a link like any other.
    if (kind === "image") link.append(h("img", { src: source, alt: "Picture", loading: "lazy", referrerpolicy: "no-referrer", onerror: named }));
    else named();
    return h("li", {}, link);
  };

  const show = (message, { isDirect, isOwner, isLive } = shown.in ?? {}) => {
    const isOwn = message.from === app.client.user;
    const before = shown;
    shown = { ...message, in: { isDirect, isOwner, isLive } };
    node.dataset.message = message.id;
    node.className = isOwn ? "mine" : "theirs";
    node.classList.toggle("failed", message.status === "failed");
    who.textContent = isDirect || isOwn ? "" : known.name(message.from);
    text.textContent = message.deletedAt ? "Message deleted" : message.text;
    text.classList.toggle("gone", !!message.deletedAt);
    if (JSON.stringify(before.attachments) !== JSON.stringify(message.attachments)) {
      files.replaceChildren(...(message.attachments ?? []).map(attachment));
      files.hidden = !message.attachments?.length;
    }
    meta.replaceChildren(...told(message, isDirect, isLive));
    const can = message.deletedAt || !message.status && !isOwn && !isOwner ? "" : message.status === "failed" ? "failed"
      : `${isOwn ? "edit" : ""}${isOwn || isOwner ? "delete" : ""}`;
    if (actions.dataset.can !== can) {
      actions.dataset.can = can;
      const short = () => shown.text.slice(0, 30);
      const made = [];
      if (can === "failed") {
        made.push(act("Try again", () => app.messages.retry(shown.id)), act("Discard", () => app.messages.discard(shown.id)));
      }
      if (can.includes("edit")) made.push(act("Edit", async () => edit(), `Edit “${short()}”`));
      if (can.includes("delete")) made.push(act("Delete", remove, `Delete “${short()}”`));
      actions.replaceChildren(...made);
    }
    text.hidden = !!editing || (!text.textContent && !files.hidden);
    actions.hidden = !!editing || !can;
    if (editing && message.deletedAt) (editing.remove(), (editing = null), (text.hidden = false));
  };

  const told = (message, isDirect, isLive) => {
    const parts = [clock(message.at)];
    if (message.priority) parts.push(` · ${["Important", message.priority.reason].filter(Boolean).join(": ")}`);
    if (message.editedAt && !message.deletedAt) parts.push(" · edited");
    const { status } = message;
    if (!status) return parts;
    let said = STATUSES[status];
    if (status === "sending" && !isLive) said = "Waits for a connection";
    if (status === "failed") said = `${message.seq ? "Not changed" : "Not sent"}: ${problemOf(message.error)}`;
    if (!isDirect && ["sent", "delivered"].includes(status) && message.readBy?.length) {
      said = `Read by ${new Intl.ListFormat("en").format(message.readBy.map((user) => known.name(user)))}`;
    }
    return [...parts, h("span", { class: status === "failed" ? "bad" : "status" }, ` · ${said}`)];
  };

  return { node, show };
};
