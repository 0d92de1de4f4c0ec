// Webhooks: each endpoint with what waits for it and what went wrong last.
import { Screen, busy, button, h } from "/console/parts.js";
import { amount, api, duration, every, time } from "./api.js";
import { facts } from "./person.js";

class Webhooks extends Screen {
  #problem = h("p", { class: "bad", role: "alert" });
  #done = h("p", { class: "good", role: "status" });
  #again = () => {};

  render() {
    const none = h("p", { class: "quiet", role: "status" }, "Reading…");
    const list = h("div", { class: "columns" });
    const cards = new Map();
    this.#again = every(5_000, this.signal, async () => {
      try {
        const { endpoints } = await api.ask("GET", "/v1/console/webhooks", { signal: this.signal });
        this.#problem.textContent = "";
        none.textContent = endpoints.length ? "" : "No endpoint receives events. The setting webhooks names them.";
        for (const endpoint of endpoints) {
          let card = cards.get(endpoint.id);
          if (!card) {
            card = this.#card(endpoint);
            cards.set(endpoint.id, card);
            list.append(card.node);
          }
          card.show(endpoint);
        }
      } catch (error) {
        if (!this.signal.aborted) this.#problem.textContent = `Webhooks cannot be read: ${error.message}.`;
      }
    });
    return [h("h1", { tabindex: "-1" }, "Webhooks"), this.#problem, this.#done, none, list];
  }

  #card({ id, url }) {
    const state = h("p", {});
    const told = h("div");
    const retry = button("Try all now", { "aria-label": `Try all that waits for ${url} now` });
    retry.addEventListener("click", async () => {
      this.#done.textContent = this.#problem.textContent = "";
      try {
        const { events } = await busy(retry, undefined, () => api.ask("POST", `/v1/console/webhooks/${id}/retry`));
        this.#done.textContent = `${amount(events)} ${events === 1 ? "event is" : "events are"} tried now.`;
        this.#again();
      } catch (error) {
        this.#problem.textContent = `They cannot be tried: ${error.message}.`;
      }
    });
    return {
      node: h("section", { class: "card", "aria-label": url }, h("h2", { class: "url" }, url), state, told, h("div", { class: "actions" }, retry)),
      show({ events, queued, oldest, sent, failed, givenUp, dropped, lastFailure, lastFailureAt, offSince }) {
        const text = offSince ? `Off since ${time(offSince)}: it answered 410, so it is not called any more.` : queued ? `${amount(queued)} wait.` : "Nothing waits.";
        if (state.textContent !== text) state.textContent = text;
        state.className = offSince ? "bad" : queued ? "" : "good";
        told.replaceChildren(facts([
          ["Oldest that waits", oldest && `of ${duration(Date.now() - oldest)} ago`], ["Sent", amount(sent)], ["Failed tries", amount(failed)], ["Given up", amount(givenUp)],
          ["Dropped", amount(dropped)], ["Last failure", lastFailure && `${lastFailure} (${time(lastFailureAt)})`], ["Events", events.join(", ")],
        ]));
      },
    };
  }
}

customElements.define("webhooks-screen", Webhooks);
