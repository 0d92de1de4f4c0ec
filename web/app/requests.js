// Contact requests: a part of the list of people.
import { ago, busy, button, h, textOf } from "./parts.js";
import { arrange } from "./known.js";
import { toast } from "./menu.js";

/** The requests that wait for an answer, with a heading; hidden while there is none. */
export const requestsOf = (screen) => {
  const { client, people } = screen.app;
  const list = h("ul", { class: "people talks requests", "aria-labelledby": "requests-title" });
  const node = h("section", { hidden: true }, h("h2", { id: "requests-title", class: "part" }, "Contact requests"), list);
  const rows = new Map();
  const row = ({ user, displayName, text, at }) => {
    const name = displayName ?? user;
    const act = (label, accept, said) => {
      const pressed = button(label, { class: accept ? "main small" : "small", "aria-label": `${label} ${name}` });
      pressed.addEventListener("click", () => busy(pressed, undefined, () => people.answer(user, accept)).then(() => toast(said), (error) => {
        // Another device was first.
        if (error.code !== "not_found") toast(textOf(error));
      }));
      return pressed;
    };
    const avatar = h("presence-avatar").show(name, undefined, undefined, user);
    const link = h("a", { class: "who", href: `/app#/person/${encodeURIComponent(user)}` }, h("strong", { dir: "auto" }, name),
      h("span", { class: "quiet line", dir: "auto" }, text ?? ago(at, client.now())));
    return h("li", { "data-request": user }, avatar, link,
      h("div", { class: "row over" }, act("Accept", true, `${name} is among your people now.`), act("Refuse", false, `${name} is not told that you refused.`)));
  };
  screen.each(people.requests({ signal: screen.signal }), (requests) => {
    const hadFocus = list.contains(document.activeElement);
    const keys = requests.map((request) => JSON.stringify(request));
    for (const key of rows.keys()) if (!keys.includes(key)) rows.delete(key);
    arrange(list, requests.map((request, place) => {
      const key = keys[place];
      if (!rows.has(key)) rows.set(key, row(request));
      return rows.get(key);
    }));
    node.hidden = !requests.length;
    // The row that had it was answered.
    if (hadFocus && !list.contains(document.activeElement)) (list.querySelector("button") ?? screen.querySelector(".title"))?.focus();
  });
  return node;
};
