// Reports: what users have reported, the decisions about it, and the bans that follow.
import { Screen, busy, button, h } from "/console/parts.js";
import { api, every, time } from "./api.js";
import { bansOf } from "./bans.js";
import { facts } from "./person.js";

const STATES = [["open", "Open"], ["accepted", "Accepted"], ["dismissed", "Dismissed"]];
const WEEK = 7 * 86_400_000;

class Reports extends Screen {
  #problem = h("p", { class: "bad", role: "alert" });
  #done = h("p", { class: "good", role: "status" });
  #none = h("p", { class: "quiet", role: "status" }, "Reading…");
  #list = h("div");
  #more = button("More", { hidden: true, onclick: () => this.#read(this.#next) });
  #cards = new Map();
  /** Ids that were decided here: an answer that is under way may still have them as open. */
  #decided = new Set();
  #state = "open";
  #bans;
  #next;

  render() {
    const states = h("select", { "aria-label": "State" }, ...STATES.map(([value, text]) => h("option", { value }, text)));
    states.addEventListener("change", () => {
      this.#state = states.value;
      this.#again();
    });
    every(15_000, this.signal, () => this.#read());
    return [h("h1", { tabindex: "-1" }, "Reports"), h("p", {}, states), this.#problem, this.#done, this.#none, this.#list, this.#more,
      (this.#bans = bansOf(this.signal)).node];
  }

  #again() {
    this.#cards.clear();
    this.#list.replaceChildren();
    return this.#read();
  }

  /** The first page, whose new reports are added to those that are shown; or the page after a report. */
  async #read(after = "") {
    const state = this.#state;
    try {
      const { reports, next } = await api.ask("GET", `/v1/reports?state=${state}&after=${encodeURIComponent(after)}`.replace("&after=&", "&").replace(/&after=$/, ""), { signal: this.signal });
      if (state !== this.#state) return;
      this.#problem.textContent = "";
      for (const report of reports) {
        if (this.#cards.has(report.id) || (state === "open" && this.#decided.has(report.id))) continue;
        const card = this.#card(report);
        this.#cards.set(report.id, card);
        this.#list.append(card);
      }
      if (after || this.#cards.size === reports.length) this.#next = next;
      this.#more.hidden = !this.#next;
      this.#none.textContent = this.#cards.size ? "" : state === "open" ? "No report waits for a decision." : "There is none.";
    } catch (error) {
      if (!this.signal.aborted) this.#problem.textContent = `Reports cannot be read: ${error.message}.`;
    }
  }

  #card(report) {
    const { id, by, user, conversation, reason, text, message, at, action, decidedAt } = report;
    const person = (name) => name && h("a", { href: `#/person/${encodeURIComponent(name)}` }, name);
    const acts = [["accept", "Accept"], ["dismiss", "Dismiss"], message && ["deleteMessage", "Delete message"], user && ["ban", "Ban for a week"]].filter(Boolean);
    const title = `${reason}: ${user ?? conversation}`;
    const card = h("section", { class: "card", "aria-label": title }, h("h2", {}, title),
      text && h("p", {}, text),
      message && h("blockquote", {}, message.text || (message.deletedAt ? "(deleted before the report)" : "(attachments)")),
      facts([["Reported", time(at)], ["By", person(by)], ["User", person(user)],
        ["Conversation", conversation && h("a", { href: `#/conversation/${encodeURIComponent(conversation)}` }, conversation)],
        ["Decision", action && `${action}, ${time(decidedAt)}`]]),
      h("div", { class: "actions" }, ...acts.map(([name, label]) => {
        const press = button(label, { "aria-label": `${label}: ${title}` });
        press.addEventListener("click", () => this.#decide(press, report, name, card));
        return press;
      })));
    return card;
  }

  async #decide(press, { id, reason }, action, card) {
    this.#done.textContent = this.#problem.textContent = "";
    const body = { action, ...(action === "ban" && { reason, until: Date.now() + WEEK }) };
    try {
      await busy(press, undefined, () => api.ask("POST", `/v1/reports/${encodeURIComponent(id)}`, { body }));
      this.#done.textContent = { accept: "Accepted.", dismiss: "Dismissed.", deleteMessage: "The message is deleted.", ban: "The user is banned for a week." }[action];
      this.#decided.add(id);
      this.#cards.delete(id);
      card.remove();
      this.#read();
      if (action === "ban") this.#bans.read();
    } catch (error) {
      this.#problem.textContent = `It could not be done: ${error.message}.`;
    }
  }
}

customElements.define("reports-screen", Reports);
