// Live trace: what happens to one user or conversation, as it reaches the server that answers. Without texts.
import { Screen, button, field, form, h, isID, placed } from "/console/parts.js";
import { api, every } from "./api.js";

/** Rows that are shown; of more the oldest go. */
const MOST = 100;
const KINDS = {
  presence: "Presence", profile: "Profile", status: "Status chosen", visibility: "Visibility", replaced: "Device replaced", disconnected: "Disconnected",
  revoked: "Tokens revoked", signedOut: "Signed out", account: "Account", deleted: "Account deleted", notifications: "Notifications",
  conversation: "Conversation", members: "Members", message: "Message", typing: "Typing", expired: "Old messages removed", lost: "Redis is lost", live: "Redis is back", other: "Other",
};
const clock = new Intl.DateTimeFormat("en", { hour: "2-digit", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 3, hour12: false });

export const traceLink = (kind, id) => `#/trace/${kind}/${encodeURIComponent(id)}`;

class TraceScreen extends Screen {
  render() {
    const kind = placed(2) === "conversation" ? "conversation" : "user";
    const id = isID(placed(3)) ? placed(3) : "";
    const whose = field("Events of a", { name: "kind" }, { tag: "select" });
    whose.input.append(h("option", { value: "user" }, "user"), h("option", { value: "conversation" }, "conversation"));
    whose.input.value = kind;
    const subject = field("Id", { name: "id", autocomplete: "off", autocapitalize: "none", spellcheck: "false", value: id });
    const look = form({ kind: whose, id: subject }, "Follow", (fail) => {
      const wanted = subject.value.trim();
      if (!isID(wanted)) return fail("id", "Please enter an id.");
      location.hash = traceLink(whose.value, wanted);
    });
    return [
      h("h1", { tabindex: "-1" }, "Live trace"),
      h("section", { class: "card", "aria-label": "Whose events" }, look,
        h("p", { class: "quiet" }, "Messages and typing in conversations are among a user's events. The server follows all events while this page is open, and stores none. The page shows the newest, without texts.")),
      ...(id ? [this.#events(kind, id)] : []),
    ];
  }

  #events(kind, id) {
    const count = h("p", { class: "quiet", role: "status" }, "Waiting for the first event…");
    const problem = h("p", { class: "bad", role: "alert" });
    const rows = h("tbody");
    const more = { trace: "", last: 0, shown: 0, lost: 0 };
    let isPaused = false;
    const read = every(500, this.signal, async () => {
      if (isPaused) return;
      try {
        const query = new URLSearchParams({ [kind]: id, trace: more.trace, after: more.last });
        const told = await api.ask("GET", `/v1/console/trace?${query}`, { signal: this.signal });
        problem.textContent = "";
        this.#add(rows, told.events);
        Object.assign(more, { trace: told.trace, last: told.last, shown: more.shown + told.events.length, lost: more.lost + told.lost });
        if (more.shown) count.textContent = `${more.shown} ${more.shown === 1 ? "event" : "events"}${more.lost ? `, and ${more.lost} too many to be kept` : ""}`;
      } catch (error) {
        if (!this.signal.aborted) problem.textContent = `The events cannot be read: ${error.message}.`;
      }
    });
    const pause = button("Pause", { "aria-pressed": "false" });
    pause.addEventListener("click", () => {
      isPaused = !isPaused;
      pause.setAttribute("aria-pressed", String(isPaused));
      if (!isPaused) read();
    });
    const clear = button("Clear", { onclick: () => rows.replaceChildren() });
    return h("section", { class: "card", "aria-label": "Events" }, h("h2", {}, `Events of the ${kind} `, h("code", {}, id)), count, problem,
      h("div", { class: "actions" }, pause, clear),
      h("div", { class: "scroll events", tabindex: "0", role: "region", "aria-label": "Events, the newest first" }, h("table", {},
        h("thead", {}, h("tr", {}, ...["Time", "Event", "Of", "What", "Version"].map((text) => h("th", { scope: "col", class: text === "Version" && "number" }, text)))), rows)));
  }

  #add(rows, events) {
    const made = events.map(({ at, kind, subject = "", about = "", version }) => h("tr", {}, h("td", {}, clock.format(at)), h("td", {}, KINDS[kind] ?? kind),
      h("td", {}, h("code", {}, subject)), h("td", { class: "what" }, about), h("td", { class: "number" }, version ? String(version) : "")));
    rows.prepend(...made.reverse());
    while (rows.childElementCount > MOST) rows.lastElementChild.remove();
  }
}

customElements.define("trace-screen", TraceScreen);
