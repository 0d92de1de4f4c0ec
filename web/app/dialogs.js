// Dialogs with a form: to report something, and to send a contact request.
import { button, field, form, h } from "./parts.js";
import { toast } from "./menu.js";

/** Opens a form over the page. It is closed by Escape, by its button, or when it is done; the focus then returns. */
const openForm = (title, inputs, action, submit, more = []) => {
  document.querySelector("dialog")?.close();
  const heading = h("h2", { id: "dialog-title" }, title);
  const done = async (fail) => {
    // An input that was refused keeps the dialog open.
    let isRefused = false;
    await submit((...fault) => {
      isRefused = true;
      fail(...fault);
    });
    if (!isRefused) node.close();
  };
  const made = form(inputs, action, done);
  const problem = made.querySelector(":scope > [role=alert]");
  problem.before(...more);
  made.append(h("div", { class: "row" }, made.querySelector("[type=submit]"), button("Cancel", { onclick: () => node.close() })));
  const node = h("dialog", { class: "card", "aria-labelledby": "dialog-title" }, heading, made);
  node.addEventListener("close", () => node.remove());
  document.body.append(node);
  node.showModal();
};

const REASONS = [["spam", "Spam or advertising"], ["insults", "Insults or threats"], ["hate", "Hate"], ["sexual", "Sexual content"],
  ["violence", "Violence, or somebody is in danger"], ["impersonation", "Somebody pretends to be another person"], ["other", "Something else"]];

/** Asks for the reason, and reports a user, a conversation or a message to the operators. `person` may be blocked as well. */
export const openReport = (app, title, what, person) => {
  const reason = field("Reason", { name: "reason" }, { tag: "select" });
  reason.input.append(...REASONS.map(([value, text]) => h("option", { value }, text)));
  const text = field("What happened?", { name: "reportText", rows: "3", dir: "auto", maxlength: "2000" }, { tag: "textarea", hint: "Optional. Only the operators of this server read it." });
  const block = h("input", { type: "checkbox", name: "block" });
  const label = person && h("label", { class: "check" }, block, h("span", {}, `Block ${person.name}, too`));
  openForm(title, { reason, text }, "Report", async () => {
    await app.people.report({ ...what, reason: reason.value, text: text.value.trim() || undefined });
    if (block.checked) await app.client.request("block", { users: [person.user] });
    toast(block.checked ? `Reported, and ${person.name} is blocked.` : "Reported. The operators of this server look at it.");
  }, label ? [label] : []);
};

/** Asks a person to be a contact. */
export const openAsk = (app, user, name) => {
  const text = field("Message", { name: "askText", dir: "auto", maxlength: "140", autocomplete: "off" }, { hint: "Optional: how you know each other." });
  openForm(`Ask ${name} to be a contact?`, { text }, "Send", async () => {
    await app.people.ask(user, { text: text.value.trim() || undefined });
    toast("Your request is sent. Once it is accepted, each of you is among the people of the other.");
  });
};
