// One message in a conversation.
import { busy, button, clock, confirmed, fileAt, fileHere, h, isComposing, split, textOf } from "./parts.js";

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

/**
 * A message: `node`, and `show` for what has changed of it. What somebody edits is left alone meanwhile, and so is a row of which
 * nothing has changed: there may be thousands.
 */
export const messageRow = ({ app, conversation, known }) => {
  const who = h("strong", { class: "from", dir: "auto" });
  const said = h("span", { class: "said" });
  const text = h("p", { class: "text", dir: "auto" });
  const files = h("ul", { class: "files", hidden: true });
  const meta = h("p", { class: "meta" });
  const actions = h("div", { class: "row changes" });
  const about = h("div", { class: "about" }, meta, actions);
  const bubble = h("div", { class: "bubble" }, said, who, text, files, about);
  const node = h("li", {}, bubble);
  let shown = {};
  let drawn;
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
      editing = drawn = null;
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
      if (isComposing(event)) return;
      if (event.key === "Escape") end();
      if (event.key === "Enter" && !event.shiftKey) (event.preventDefault(), editing.requestSubmit());
    });
    text.hidden = actions.hidden = true;
    bubble.insertBefore(editing, about);
    input.focus();
  };

  const remove = async () => {
    if (await confirmed("Delete this message for everybody?", "Delete")) await app.messages.delete(conversation, shown.id);
  };

  const attachment = ({ kind, url, thumbnailURL, sizeBytes }) => {
    const place = fileAt(url);
    if (!place) return h("li", {}, kind);
    const link = h("a", { href: place, target: "_blank", rel: "noopener noreferrer" });
    const named = () => link.replaceChildren(`Open the ${kind}`, sizeBytes ? ` (${size(sizeBytes)})` : "");
    // A picture that cannot be had is a link like any other.
    const draw = (src) => link.replaceChildren(h("img", { src, alt: "Picture", loading: "lazy", referrerpolicy: "no-referrer", onerror: named }));
    const here = fileHere(thumbnailURL) ?? fileHere(url);
    if (kind === "image" && here) draw(here);
    else named();
    const node = h("li", {}, link);
    if (kind === "image" && !here) {
      // Another host learns who looks, from where, and when.
      const load = button(`Show the picture from ${new URL(place).host}`, { class: "plain small" });
      load.addEventListener("click", () => {
        load.remove();
        draw(fileAt(thumbnailURL) ?? place);
      });
      node.append(load);
    }
    return node;
  };

  const show = (message, about = shown.in ?? {}) => {
    const { isDirect, isOwner, isLive } = about;
    const isOwn = message.from === app.client.user;
    const before = shown;
    shown = { ...message, in: about };
    const drawing = JSON.stringify([shown, [message.from, ...(message.readBy ?? [])].map((user) => known.name(user))]);
    if (drawn === drawing && !editing) return;
    drawn = drawing;
    node.dataset.message = message.id;
    node.className = isOwn ? "mine" : "theirs";
    node.classList.toggle("failed", message.status === "failed");
    who.textContent = isDirect || isOwn ? "" : known.name(message.from);
    // In words what side and colour say.
    said.textContent = isDirect || isOwn ? `${known.name(message.from)}: ` : "";
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
      const short = () => split(shown.text.slice(0, 200)).slice(0, 30).join("");
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
    if (!status || (message.deletedAt && !["sending", "failed"].includes(status))) return parts;
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
