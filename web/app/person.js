// A person: who they are, how they are now, and what can be done about them.
import { STATUSES, Screen, busy, button, confirmed, h, isID, nameOf, placed, serverHas, textOf } from "./parts.js";
import { bar } from "./chats.js";
import { openAsk, openReport } from "./dialogs.js";
import { Known, pictureOf, presenceOf } from "./known.js";
import { toast } from "./menu.js";

/** Opens the conversation with a person. */
export const talkTo = async (app, user) => {
  const { id } = await app.messages.create([user]);
  location.hash = `/talk/${encodeURIComponent(id)}`;
};

/** Takes a person off the list, which can be taken back. */
export const removePerson = async ({ client }, user, name) => {
  await client.request("removeContacts", { users: [user] });
  toast(`${name} was removed.`, () => client.request("addContacts", { users: [user] }));
};

/** Follows the own lists, of contacts and of those who are blocked: whichever device changes them. */
export const followLists = ({ client }, signal, show) => {
  let counted;
  /** The connection since which they are known. */
  let isReadOf;
  const read = async () => {
    const lists = await client.request("getVisibility").catch(() => undefined);
    if (signal.aborted) return;
    if (lists) show(lists);
    else isReadOf = undefined;
  };
  const follow = async () => {
    for await (const { contacts, blocks } of client.me({ signal })) {
      const isFirst = counted === undefined;
      if (`${contacts} ${blocks}` === counted) continue;
      counted = `${contacts} ${blocks}`;
      if (!isFirst) read();
    }
  };
  // The server does not repeat changes that were missed without a connection.
  const again = async () => {
    for await (const { state, since } of client.connections({ signal })) {
      if (state !== "live" || isReadOf === since) continue;
      isReadOf = since;
      read();
    }
  };
  follow();
  again();
};

/** Blocks a person after a question, and gives whether they are blocked. */
export const blockPerson = async ({ client }, user, name) => {
  if (!(await confirmed(`Block ${name}? They cannot write to you, and see neither when you are online nor your profile.`, "Block"))) return false;
  await client.request("block", { users: [user] });
  return true;
};

/** The part of a page that shows a person: `node`, and `show` for them as they are. */
export const personCard = (app, user, signal, isTalk = false) => {
  const { client } = app;
  const avatar = h("presence-avatar", { class: "large" });
  const name = h("strong", { class: "name", dir: "auto" });
  const username = h("p", { class: "quiet" });
  const presence = h("p", { class: "quiet", dir: "auto" });
  const problem = h("p", { class: "bad", role: "alert" });
  let lists = { contacts: [], blocks: [] };
  let called = user;
  const act = (pressed, does) => pressed.addEventListener("click", () => {
    problem.textContent = "";
    busy(pressed, undefined, does).catch((error) => (problem.textContent = error.code === "forbidden" ? "You cannot talk to this person." : textOf(error)));
  });
  const has = (list) => lists[list].includes(user);
  const talk = button("Message", { class: "main" });
  const contact = button("");
  const ask = button("Ask to be a contact", { hidden: true });
  const block = button("", { class: "plain danger" });
  const report = button("Report", { class: "plain danger" });
  let asksContacts = false;
  act(talk, () => talkTo(app, user));
  act(contact, () => (has("contacts") ? removePerson(app, user, called) : client.request("addContacts", { users: [user] })));
  act(block, async () => {
    if (has("blocks")) return client.request("unblock", { users: [user] });
    await blockPerson(app, user, called);
  });
  ask.addEventListener("click", () => openAsk(app, user, called));
  report.addEventListener("click", () => openReport(app, `Report ${called}`, { user }, has("blocks") ? undefined : { user, name: called }));
  const label = () => {
    contact.textContent = has("contacts") ? "Remove" : "Add to people";
    contact.setAttribute("aria-label", has("contacts") ? `Remove ${called}` : `Add ${called} to people`);
    block.textContent = has("blocks") ? "Unblock" : "Block";
    block.setAttribute("aria-label", `${block.textContent} ${called}`);
    talk.setAttribute("aria-label", `Message to ${called}`);
    ask.hidden = contact.hidden || !asksContacts || has("contacts") || has("blocks");
    ask.setAttribute("aria-label", `Ask ${called} to be a contact`);
    report.setAttribute("aria-label", `Report ${called}`);
  };
  contact.hidden = block.hidden = true;
  followLists(app, signal, (now) => {
    lists = now;
    contact.hidden = block.hidden = false;
    label();
  });
  // The buttons come when the lists are known.
  serverHas("contactRequests").then((has) => ((asksContacts = has), contact.hidden || label()));
  label();
  return {
    node: h("div", { class: "person" }, avatar, name, username, presence, h("div", { class: "row" }, !isTalk && talk, contact, ask), h("div", { class: "row" }, block, report), problem),
    show: (person) => {
      called = nameOf(person);
      avatar.show(called, pictureOf(person, "photoURL"), person.presence?.status, user);
      name.textContent = called;
      username.textContent = person.profile?.username ? `@${person.profile.username}` : "";
      presence.textContent = presenceOf(person, client.now());
      label();
    },
  };
};

class Person extends Screen {
  render() {
    const user = placed(2);
    const card = personCard(this.app, user, this.signal);
    const known = new Known(this, () => card.show(known.person(user)));
    const heading = bar(this, "Person", "/people");
    card.show(known.person(user));
    if (isID(user)) known.want([user]);
    return [heading, h("div", { class: "page" }, h("section", { class: "card" }, card.node))];
  }
}
customElements.define("person-screen", Person);

/** The own status in a word, for the menu. */
export const ownStatus = ({ status }) => (status?.status === "invisible" ? "Invisible" : STATUSES[status?.status] ?? "Online") + (status?.text ? ` · ${status.text}` : "");
