// The text that is being written, with the files beside it: chosen, dropped or pasted, and sent together.
import { DRAFT, busy, h, isComposing, textOf } from "./parts.js";
import { size, smaller } from "./files.js";
import { icon } from "./icons.js";
import { limit } from "./message.js";
import { iconButton } from "./menu.js";

/** The text for a refused file, by the status of the answer. */
const REFUSALS = {
  403: "You are not in this conversation.", 404: "This server takes no files.", 413: "The file is too large.",
  422: "This file cannot be used.",
};
/** Of one message. */
const MOST_FILES = 10;
/** In pixels. */
const HIGHEST = 160;

/** A part of the page: `node`, its `input`, and `takeFiles`, which lets a part of the page take what is dropped on it. */
export const composerOf = ({ app, conversation, signal }) => {
  const { client, messages } = app;
  const draft = `${DRAFT}${client.user} ${conversation}`;
  const input = h("textarea", { name: "text", rows: "1", dir: "auto", "aria-label": "Message", placeholder: "Message", autocomplete: "off", "aria-describedby": "talk-problem" });
  const count = h("p", { class: "count near", role: "status" });
  const problem = h("p", { class: "bad", role: "alert", id: "talk-problem" });
  const send = iconButton("send", "Send", { type: "submit", class: "icon-button main" });
  const attach = iconButton("attach", "Attach a file", { class: "icon-button attach" });
  const file = h("input", { type: "file", multiple: true, hidden: true, tabindex: "-1", "aria-label": "File" });
  const tray = h("ul", { class: "tray", "aria-label": "Files to send", hidden: true });
  const bar = h("progress", { max: "1", value: "0", hidden: true, "aria-label": "Upload" });
  const cancel = h("button", { type: "button", class: "plain small", "aria-label": "Cancel the upload", hidden: true }, "Cancel");
  const retry = h("button", { type: "submit", class: "plain small", "aria-label": "Try the upload again", hidden: true }, "Try again");
  const below = h("div", { class: "row below" }, bar, problem, cancel, retry);
  const node = h("form", { class: "composer", novalidate: true }, tray, input, attach, send, file, count, below);
  let files = [];
  let ending;

  const fit = () => {
    input.style.height = "auto";
    input.style.height = `${Math.min(input.scrollHeight + 2, HIGHEST)}px`;
    limit(input, count, send);
    node.classList.toggle("ready", files.length > 0 || input.value.trim() !== "");
  };
  const keep = () => {
    if (input.value) localStorage[draft] = input.value;
    else localStorage.removeItem(draft);
  };
  input.value = localStorage[draft] ?? "";
  // Another tab that has sent its text in this conversation took the draft away.
  addEventListener("pagehide", () => input.value && keep(), { signal });
  input.addEventListener("input", () => {
    problem.textContent = "";
    keep();
    fit();
    client.setTyping(conversation, input.value !== "");
  });
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || isComposing(event)) return;
    event.preventDefault();
    node.requestSubmit();
  });
  signal.addEventListener("abort", () => {
    client.setTyping(conversation, false);
    ending?.abort();
    for (const { shown } of files) URL.revokeObjectURL(shown);
  });

  const drop = (which) => {
    for (const { shown, node: row } of which) {
      URL.revokeObjectURL(shown);
      row.remove();
    }
    files = files.filter((each) => !which.includes(each));
    tray.hidden = !files.length;
    retry.hidden = true;
    fit();
  };
  const add = async (chosen) => {
    problem.textContent = "";
    retry.hidden = true;
    for (const original of chosen) {
      if (files.length >= MOST_FILES) return (problem.textContent = `A message has ${MOST_FILES} files at most.`);
      const picked = await smaller(original);
      if (signal.aborted) return;
      const isImage = picked.type.startsWith("image/");
      const made = { file: picked, shown: isImage ? URL.createObjectURL(picked) : "" };
      const remove = iconButton("close", `Remove ${picked.name}`, { class: "icon-button", onclick: () => drop([made]) });
      made.node = h("li", {}, isImage ? h("img", { src: made.shown, alt: "" }) : icon("file"),
        h("span", { class: "file-name", dir: "auto" }, picked.name), h("span", { class: "file-size" }, size(picked.size)), remove);
      files.push(made);
      tray.append(made.node);
      tray.hidden = false;
      fit();
    }
    input.focus();
  };
  attach.addEventListener("click", () => file.click());
  file.addEventListener("change", () => {
    const chosen = [...file.files];
    file.value = "";
    add(chosen);
  });
  input.addEventListener("paste", (event) => {
    const pasted = [...event.clipboardData.files];
    // A text that was copied with its picture, as from a table, is a text.
    if (!pasted.length || event.clipboardData.types.includes("text/plain")) return;
    event.preventDefault();
    add(pasted);
  });
  const takeFiles = (place) => {
    const hasFiles = ({ dataTransfer }) => dataTransfer.types.includes("Files");
    place.addEventListener("dragover", (event) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      place.classList.add("over");
    });
    for (const name of ["dragleave", "drop"]) place.addEventListener(name, () => place.classList.remove("over"));
    place.addEventListener("drop", (event) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      add([...event.dataTransfer.files]);
    });
  };

  cancel.addEventListener("click", () => ending.abort());
  /** All files that are to be sent, or `undefined` when that did not work. */
  const upload = () => busy(attach, undefined, async () => {
    const sending = [...files];
    cancel.hidden = bar.hidden = false;
    send.disabled = true;
    ending = new AbortController();
    try {
      for (const [place, each] of sending.entries()) {
        const progress = (share) => (bar.value = (place + share) / sending.length);
        each.attachment ??= await messages.upload(conversation, each.file, { progress, signal: ending.signal });
      }
      return sending;
    } catch (error) {
      if (error.code === "cancelled") return void drop(sending);
      problem.textContent = REFUSALS[error.status] ?? textOf(error);
      // It would be refused again.
      if (error.status in REFUSALS) drop(sending.filter(({ attachment }) => !attachment));
      else retry.hidden = false;
    } finally {
      cancel.hidden = bar.hidden = true;
      send.disabled = false;
      fit();
    }
  });
  const submit = async () => {
    problem.textContent = "";
    retry.hidden = true;
    const sent = files.length ? await upload() : [];
    if (!sent || signal.aborted) return;
    const text = input.value.trim();
    const attachments = sent.map(({ attachment }) => attachment);
    input.value = "";
    drop(sent);
    input.focus();
    try {
      // Until it is kept elsewhere it stays the draft: a page that is loaded again meanwhile still has it.
      await messages.send(conversation, text, attachments.length ? { attachments } : {});
      keep();
    } catch (error) {
      // It is where it was, unless something else is there by now.
      input.value ||= text;
      keep();
      problem.textContent = error.code === "too_many" ? "Too many messages wait to be sent." : textOf(error);
      fit();
    }
  };
  node.addEventListener("submit", (event) => {
    event.preventDefault();
    if (!send.disabled && (files.length || input.value.trim())) submit();
  });
  requestAnimationFrame(fit);
  return { node, input, takeFiles };
};
