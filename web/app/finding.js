// Finding people by their names, to add them.
import { busy, button, field, form, h, isUsername, nameOf, serverHas, textOf } from "./parts.js";
import { openAsk } from "./dialogs.js";
import { pictureOf } from "./known.js";

/** In ms, after the last key, until the directory is searched. */
const TYPED = 400;
/** In bytes: the directory takes no shorter text. */
const SHORTEST = 2;

const typed = (field) => field.value.trim().replace(/^@/, "");
const sizeOf = (text) => new TextEncoder().encode(text).length;

/** The parts of a page with which people are found: by username, and where the server has a directory while a name is typed. */
export const finderOf = (screen) => {
  const { app } = screen;
  const { client, people } = app;
  const username = field("Add by username", { name: "wanted", autocomplete: "off", autocapitalize: "none", spellcheck: "false" });
  const found = h("ul", { class: "found", "aria-label": "Found" });
  const count = h("p", { class: "said", role: "status" });
  let hasDirectory = false;
  let asksContacts = false;
  let timer;

  const clear = () => {
    clearTimeout(timer);
    found.replaceChildren();
    count.textContent = "";
  };
  const end = () => {
    clear();
    username.input.value = "";
    username.input.focus();
  };
  const row = (person, wanted) => {
    const { user, profile } = person;
    const name = profile?.displayName ?? (profile ? nameOf(person) : `@${wanted}`);
    const called = profile?.username ?? (profile ? undefined : wanted);
    const isKnown = app.memory.contacts?.includes(user);
    const avatar = h("presence-avatar");
    const line = h("span", { class: "quiet line", dir: "auto" }, called ? `@${called}` : "", isKnown && " · already added");
    const add = button("Add", { class: "main", "aria-label": `Add ${name} to people`, hidden: isKnown });
    add.addEventListener("click", () => busy(add, undefined, () => client.request("addContacts", { users: [user] })).then(end, (error) => (line.textContent = textOf(error))));
    const ask = button("Ask", { "aria-label": `Ask ${name} to be a contact`, hidden: !asksContacts, onclick: () => openAsk(app, user, name) });
    avatar.show(name, pictureOf(person), undefined, user);
    return h("li", { "data-found": user }, avatar, h("span", { class: "who" }, h("strong", { dir: "auto" }, name), line), add, ask);
  };
  const show = (all, wanted) => {
    const others = all.filter(({ user }) => user !== client.own.user);
    found.replaceChildren(...others.map((person) => row(person, wanted)));
    count.textContent = others.length === 1 ? "1 person found" : `${others.length} people found`;
    return others.length;
  };
  /** Whether the text is still there for which was asked. */
  const isStill = (wanted) => !screen.signal.aborted && typed(username) === wanted;

  const search = async (wanted) => {
    const all = sizeOf(wanted) < SHORTEST ? [] : await people.search(wanted, { limit: 20 });
    return isStill(wanted) ? show(all, wanted) : undefined;
  };
  const find = form({ wanted: username }, "Find", async (fail) => {
    clear();
    const wanted = typed(username);
    if (!isUsername(wanted) && !hasDirectory) return fail("wanted", "Please enter a username: 3 to 30 letters, digits, dots and underscores.");
    const person = isUsername(wanted) ? await people.find(wanted) : null;
    // The page was left, or another name is there by now.
    if (!isStill(wanted)) return;
    if (person?.user === client.own.user) return fail("wanted", "This is you.");
    const number = person ? show([person], wanted) : hasDirectory ? await search(wanted) : 0;
    if (number === 0) {
      return fail("wanted", hasDirectory ? `Nobody is found as ${wanted}. Ask them how it is spelt, or for their link.`
        : `Nobody can be found as @${wanted}. Ask them how it is spelt, or for their link.`);
    }
    found.querySelector("button:not([hidden])")?.focus();
  });
  find.classList.add("inline");
  const look = () => {
    clear();
    const wanted = typed(username);
    if (!hasDirectory || sizeOf(wanted) < SHORTEST) return;
    timer = setTimeout(() => search(wanted).catch((error) => isStill(wanted) && username.fail(textOf(error))), TYPED);
  };
  username.input.addEventListener("input", look);
  screen.signal.addEventListener("abort", clear);
  const learn = async () => {
    [hasDirectory, asksContacts] = await Promise.all([serverHas("directory"), serverHas("contactRequests")]);
    if (!hasDirectory || screen.signal.aborted) return;
    username.node.querySelector("label").textContent = "Find people by name or username";
    // The user may have typed meanwhile.
    if (!found.children.length) look();
  };
  learn();
  return [find, count, found];
};
