// Doctor: compares what Redis holds with the servers' leases.
import { Screen, busy, button, h } from "/console/parts.js";
import { amount, api, time } from "./api.js";

class Doctor extends Screen {
  #state = h("p", { role: "status" });
  #problem = h("p", { class: "bad", role: "alert" });
  #report = h("div");

  render() {
    const run = button("Examine", { class: "main" });
    run.addEventListener("click", async () => {
      this.#problem.textContent = "";
      this.#state.textContent = "All keys are checked twice; this takes some seconds.";
      try {
        this.#show(await busy(run, "Examining…", () => this.#examine()));
      } catch (error) {
        if (this.signal.aborted) return;
        this.#state.textContent = "";
        this.#problem.textContent = `It could not look: ${error.message}.`;
      }
    });
    api.ask("GET", "/v1/console/doctor", { signal: this.signal }).then((told) => this.#show(told), () => {});
    return [
      h("h1", { tabindex: "-1" }, "Doctor"),
      h("section", { class: "card", "aria-label": "Doctor" },
        h("p", {}, "Compares the data in Redis with the servers' leases. It changes nothing: ", h("code", {}, "presenced doctor --repair"), " clears what can be cleared safely."),
        run, this.#state, this.#problem, this.#report),
    ];
  }

  /** An examination may last longer than a call: then its report is asked for. */
  async #examine() {
    const path = "/v1/console/doctor";
    let told = await api.ask("POST", path, { signal: this.signal }).catch((error) => {
      if (error.status === 503) return { state: "running" };
      throw error;
    });
    while (told.state === "running") {
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      told = await api.ask("GET", path, { signal: this.signal });
    }
    return told;
  }

  #show({ state, at, report, reason }) {
    if (this.signal.aborted || state === "none" || state === "running") return;
    if (state === "failed") {
      this.#state.textContent = "";
      this.#problem.textContent = `It could not look: ${reason}.`;
      return;
    }
    const { findings, whole } = report;
    const kinds = findings.length;
    this.#state.textContent = `${time(at)}: ${kinds ? `${kinds} ${kinds === 1 ? "thing is" : "things are"} wrong` : "nothing is wrong"}${whole ? "" : ", and there is more than one run reports"}.`;
    this.#state.className = kinds ? "bad" : "good";
    const found = findings.map(({ count, explanation, subjects, repair }) => h("li", {}, h("strong", {}, `${amount(count)} × ${explanation}`),
      h("p", { class: "quiet" }, subjects.join(", ")), repair && h("p", { class: "quiet" }, `Repair: ${repair}`)));
    this.#report.replaceChildren(...(kinds ? [h("ul", {}, ...found)] : []),
      h("p", { class: "quiet" }, [["users", "users"], ["sessions", "sessions"], ["conversations", "conversations"], ["keys", "keys"], ["unknownKeys", "keys of others"]]
        .map(([name, text]) => `${amount(report[name])} ${text}`).join(" · ")));
  }
}

customElements.define("doctor-screen", Doctor);
