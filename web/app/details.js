// The settings of a conversation: muted, archived, its name, and its members.
import { busy, button, confirmed, field, form, h, isID, nameOf, textOf } from "./parts.js";
import { openReport } from "./dialogs.js";
import { arrange, otherOf, pictureOf } from "./known.js";
import { iconButton } from "./menu.js";
import { personCard } from "./person.js";

const HOUR = 3_600_000;
const MUTES = [["no", "No"], ["hour", "For an hour"], ["day", "For 8 hours"], ["yes", "Until I change it"]];
const LENGTHS = { no: false, hour: HOUR, day: 8 * HOUR, yes: true };

/** A part of the page over the conversation: `node`, `open`, and `show` for the conversation as it is. */
export const detailsOf = ({ app, conversation, known, signal }) => {
  const { messages, client } = app;
  const problem = h("p", { class: "bad", role: "alert" });
  const done = h("p", { class: "good", role: "status" });
  const attempt = async (pressed, act, text) => {
    problem.textContent = done.textContent = "";
    try {
      await (pressed ? busy(pressed, undefined, act) : act());
      done.textContent = text;
    } catch (error) {
      problem.textContent = error.code === "too_many" ? "There is no room for more people." : textOf(error);
    }
  };

  const mute = field("Muted", { name: "mute" }, { tag: "select" });
  mute.input.append(...MUTES.map(([value, text]) => h("option", { value }, text)));
  mute.input.addEventListener("change", () => attempt(undefined, () => messages.mute(conversation, LENGTHS[mute.value]), "Saved"));
  const archive = button("Archive");
  archive.addEventListener("click", () => attempt(archive, () => messages.archive(conversation, !shown.archived), "Saved")
    .then(() => label()));

  const name = field("Name of the group", { name: "name", dir: "auto", maxlength: "100", autocomplete: "off" });
  let typed = false;
  name.input.addEventListener("input", () => (typed = true));
  const rename = form({ name }, "Rename", async () => {
    await messages.rename(conversation, name.value.trim());
    typed = false;
  });
  const members = h("ul", { class: "people", "aria-label": "People in this group" });
  const user = field("Add a person by their id", { name: "member", autocomplete: "off", autocapitalize: "none", spellcheck: "false" });
  const add = form({ user }, "Add", async (fail) => {
    const id = user.value.trim();
    if (!isID(id)) return fail("user", "Please enter an id, such as u-7hq2cdefgh.");
    try {
      await messages.changeMembers(conversation, { add: [id] });
      user.input.value = "";
    } catch (error) {
      fail("user", error.code === "too_many" ? "There is no room for more people."
        : error.code === "forbidden" ? "This person cannot be added." : textOf(error));
    }
  });
  const leave = button("Leave the group", { class: "plain danger" });
  leave.addEventListener("click", async () => {
    if (!(await confirmed("Leave this group? You will not see it any more.", "Leave"))) return;
    await attempt(leave, () => messages.leave(conversation), "");
    if (!problem.textContent) location.hash = "/chats";
  });
  const report = button("Report the group", { class: "plain danger" });
  report.addEventListener("click", () => openReport(app, "Report this group", { conversation }));
  const group = h("div", { hidden: true }, rename, h("h3", {}, "People"), members, add, h("div", { class: "row" }, leave, report));
  const person = h("div");
  let card;
  const heading = h("h2", { tabindex: "-1" }, "Details");
  const close = iconButton("close", "Close the details");
  const node = h("aside", { class: "details", "aria-label": "Details", hidden: true }, h("div", { class: "bar" }, heading, close),
    h("div", { class: "scrolled" }, person, h("div", { class: "field-row" }, mute.node, archive), group, done, problem));
  let opener;
  const end = () => {
    node.hidden = true;
    opener?.focus();
  };
  close.addEventListener("click", end);
  node.addEventListener("keydown", (event) => event.key === "Escape" && end());

  let shown = {};
  const label = () => (archive.textContent = shown.archived ? "Take out of the archive" : "Archive");
  const rows = new Map();
  const row = (id) => {
    const avatar = h("presence-avatar");
    const called = h("strong", { dir: "auto" });
    const remove = button("Remove", { class: "plain" });
    remove.addEventListener("click", () => attempt(remove, () => messages.changeMembers(conversation, { remove: [id] }), "Removed"));
    const made = { node: h("li", {}, avatar, h("span", { class: "who" }, called), remove), show: () => {
      const person = known.person(id);
      avatar.show(nameOf(person), pictureOf(person), person.presence?.status, id);
      called.textContent = known.name(id) + (shown.owner === id ? " (owner)" : "");
      remove.hidden = id === client.user || shown.owner !== client.user;
      remove.setAttribute("aria-label", `Remove ${known.name(id)}`);
    } };
    rows.set(id, made);
    return made;
  };

  return {
    node,
    open(from) {
      opener = from;
      node.hidden = false;
      heading.focus();
    },
    show(now) {
      shown = now;
      label();
      const other = otherOf(now, client.user);
      if (other && !card) {
        card = personCard(app, other, signal, true);
        person.append(card.node);
      }
      card?.show(known.person(other));
      const isTimed = now.muted && now.mutedUntil;
      const left = isTimed ? now.mutedUntil - client.now() : 0;
      // The server's time is known to some milliseconds: an hour that has just begun is not longer than one.
      const wanted = !now.muted ? "no" : !isTimed ? "yes" : left > 2 * HOUR ? "day" : "hour";
      if (document.activeElement !== mute.input) mute.input.value = wanted;
      group.hidden = now.kind !== "group";
      if (!typed && document.activeElement !== name.input) name.input.value = now.name ?? "";
      for (const id of rows.keys()) if (!now.participants.includes(id)) rows.delete(id);
      arrange(members, now.members.map(({ user: id }) => {
        const made = rows.get(id) ?? row(id);
        made.show();
        return made.node;
      }));
    },
  };
};
