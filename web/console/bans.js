// Bans: the list of those that are not over, and the form that bans a person.
import { busy, button, field, form, h } from "/console/parts.js";
import { api, time } from "./api.js";

const DAY = 86_400_000;
const LENGTHS = [["1", "A day"], ["7", "A week"], ["30", "30 days"], ["", "No end"]];
const EVERYWHERE = "all";

const placeOf = (user, scope) => `${api.user(user, "ban")}?scope=${encodeURIComponent(scope)}`;

const scopeOf = (scope) => {
  const id = scope.slice("conversation:".length);
  return scope === EVERYWHERE ? "Everywhere" : h("a", { href: `#/conversation/${encodeURIComponent(id)}` }, `In ${id}`);
};

/** The bans that are not over, page by page: `node`, and `read` to read them anew. */
export const bansOf = (signal) => {
  const problem = h("p", { class: "bad", role: "alert" });
  const none = h("p", { class: "quiet", role: "status" }, "Reading…");
  const rows = h("tbody");
  const heads = ["User", "Where", "Reason", "Until", ""].map((text) => h("th", { scope: "col" }, text));
  const table = h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Bans", hidden: true }, h("table", {}, h("thead", {}, h("tr", {}, ...heads)), rows));
  const more = button("More", { hidden: true, onclick: () => read(next) });
  let next;
  const row = ({ user, scope, reason, until }) => {
    const end = button("End", { "aria-label": `End the ban of ${user}` });
    const node = h("tr", {}, h("th", { scope: "row" }, h("a", { href: `#/person/${encodeURIComponent(user)}` }, user)), h("td", {}, scopeOf(scope)),
      h("td", {}, reason), h("td", {}, until ? time(until) : "no end"), h("td", {}, end));
    end.addEventListener("click", () => busy(end, undefined, () => api.ask("DELETE", placeOf(user, scope))).then(() => read(), (error) => (problem.textContent = `The ban could not be ended: ${error.message}.`)));
    return node;
  };
  const read = async (after) => {
    try {
      const page = await api.ask("GET", `/v1/bans?limit=100${after ? `&after=${encodeURIComponent(after)}` : ""}`, { signal });
      problem.textContent = "";
      next = page.next;
      if (!after) rows.replaceChildren();
      rows.append(...page.bans.map(row));
      more.hidden = !next;
      table.hidden = !rows.children.length;
      none.textContent = table.hidden ? "Nobody is banned." : "";
    } catch (error) {
      if (!signal.aborted) problem.textContent = `Bans cannot be read: ${error.message}.`;
    }
  };
  read();
  return { node: h("section", { class: "bans", "aria-label": "Bans" }, h("h2", {}, "Bans"), problem, none, table, more), read };
};

/** The form that bans a person everywhere, and a button that ends it. */
export const banning = (user, done) => {
  const reason = field("Reason, for the user", { name: "banReason", maxlength: "200", autocomplete: "off" });
  const length = field("For", { name: "banLength" }, { tag: "select" });
  length.input.append(...LENGTHS.map(([value, text]) => h("option", { value }, text)));
  length.input.value = "7";
  const end = button("End the ban");
  const made = form({ reason, length }, "Ban everywhere", async (fail) => {
    const text = reason.value.trim();
    if (!text) return fail("reason", "Please enter a reason.");
    const days = Number(length.value);
    await api.ask("PUT", api.user(user, "ban"), { body: { reason: text, ...(days && { until: Date.now() + days * DAY }) } });
    reason.input.value = "";
    done(days ? `Banned until ${time(Date.now() + days * DAY)}.` : "Banned without an end.");
  }, { more: [end] });
  end.addEventListener("click", () => busy(end, undefined, () => api.ask("DELETE", placeOf(user, EVERYWHERE))).then(() => done("There is no ban everywhere now."), (error) => reason.fail(`It could not be done: ${error.message}.`)));
  return made;
};
