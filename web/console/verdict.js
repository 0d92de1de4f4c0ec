// The line on top of the overview: whether all is well, and if not, what is wrong and where the runbook has it.
import { h } from "/console/parts.js";
import { faults, runbookLink, soon } from "./alerts.js";
import { amount, duration } from "./api.js";

export class Verdict {
  #text = h("div", { class: "verdict-text" });
  #facts = h("p", { class: "quiet" });
  #key;
  node = h("section", { class: "overall", role: "status", "aria-label": "Whether all is well" }, this.#text, this.#facts);

  /**
   * A value beyond its bound is a fault once its alert is; until then its tile alone has the time that is left.
   *
   * @param known `error`: why the numbers cannot be read; `live`: shards of this server that reach Redis; `tiles` with the limit of
   * each; `servers` and `people`: servers by their leases, and users with sessions, `undefined` while they are not known; `doctor`.
   */
  show({ error, live, tiles, servers, people, doctor, version, now }) {
    this.#put(error ? [{ alert: "PresenceNoServer", text: `The numbers cannot be read: ${error.message}`, left: 0 }]
      : live === undefined ? [] : [...faults(tiles, live).filter(({ left, isSeen }) => left === 0 || isSeen), ...this.#gone(servers), ...this.#found(doctor)], live === undefined && !error);
    const running = servers?.filter(({ state }) => state === "live").length;
    const facts = [
      people !== undefined && `${amount(people)} ${people === 1 ? "user" : "users"} here`,
      servers && `${running} of ${servers.length} ${servers.length === 1 ? "shard" : "shards"} of all servers live`,
      doctor?.state === "done" && `doctor: ${doctor.report.findings.length || "nothing"} wrong, ${duration(now - doctor.at)} ago`,
      version && `version ${version}`,
    ];
    const shown = facts.filter(Boolean).join(" · ");
    if (this.#facts.textContent !== shown) this.#facts.textContent = shown;
  }

  /** Shards whose server died: another one ends their sessions. */
  #gone(servers = []) {
    const gone = servers.filter(({ state }) => state !== "live").map(({ name }) => name);
    return gone.length ? [{ text: `No longer renewed by its server: ${gone.join(", ")}. Another server ends its sessions`, left: 0, isNear: true }] : [];
  }

  #found(doctor) {
    const count = doctor?.state === "done" ? doctor.report.findings.length : 0;
    return count ? [{ text: `The doctor found ${count === 1 ? "a fault" : `${count} kinds of faults`} in Redis`, left: 0, isNear: true, link: h("a", { href: "#/doctor" }, "Findings") }] : [];
  }

  #put(found, isUnknown) {
    const rows = found.map(({ alert, text, left, isNear, link }) => ({
      kind: left > 0 || isNear ? "near" : "bad", alert, link, text: left > 0 ? `${text}: ${soon(left)}.` : `${text}.`,
    }));
    const kind = isUnknown ? "" : rows.some((row) => row.kind === "bad") ? "bad" : rows.length ? "near" : "good";
    const key = JSON.stringify([kind, rows.map((row) => [row.kind, row.text])]);
    if (key === this.#key) return;
    this.#key = key;
    this.node.dataset.kind = kind;
    this.#text.replaceChildren(...(rows.length ? rows.map((row) => h("p", { class: row.kind }, row.text, " ",
      row.alert ? h("a", { href: runbookLink(row.alert) }, `What to do: ${row.alert}`) : row.link)) : [h("p", { class: kind }, isUnknown ? "Reading…" : "All is well.")]));
  }
}
