// A conversation that a stranger has begun: what it is, and what can be done about it.
import { busy, button, h, textOf } from "./parts.js";
import { openReport } from "./dialogs.js";
import { toast } from "./menu.js";
import { blockPerson } from "./person.js";

/** A part of a conversation's page: `node`, and `show` for the conversation as it is. */
export const strangerOf = ({ app, known }) => {
  let other;
  let id;
  const name = () => known.name(other);
  const text = h("p", { dir: "auto" });
  const act = (label, style, does) => {
    const pressed = button(label, { class: style });
    pressed.addEventListener("click", () => busy(pressed, undefined, does).catch((error) => toast(textOf(error))));
    return pressed;
  };
  const leave = (said) => {
    toast(said);
    location.hash = "/chats";
  };
  const accept = act("Accept", "main", () => app.people.answer(other, true));
  const refuse = act("Refuse", "", async () => {
    const called = name();
    await app.people.answer(other, false);
    leave(`The conversation is in the archive. ${called} is not told.`);
  });
  const block = act("Block", "plain danger", async () => {
    const called = name();
    if (await blockPerson(app, other, called)) leave(`${called} is blocked.`);
  });
  const report = button("Report", { class: "plain danger", onclick: () => openReport(app, `Report ${name()}`, { user: other, conversation: id }, { user: other, name: name() }) });
  const node = h("section", { class: "stranger", "aria-label": "Request", hidden: true }, text, h("div", { class: "row" }, accept, refuse, block, report));
  return {
    node,
    show(conversation, user) {
      node.hidden = !conversation.request || !user;
      if (node.hidden) return;
      other = user;
      id = conversation.id;
      text.textContent = `${name()} is not among your people. Until you accept or answer, they see neither that you have read this nor that you are writing.`;
      for (const each of [accept, refuse, block, report]) each.setAttribute("aria-label", `${each.textContent} ${name()}`);
    },
  };
};
