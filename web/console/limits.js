// Limits met: how often each was met, and how fast now.
import { Screen, h } from "/console/parts.js";
import { amount, numbers } from "./api.js";

const START = 'presence_limit_met_total{limit="';

class Limits extends Screen {
  render() {
    const problem = h("p", { class: "bad", role: "alert" });
    const rows = h("tbody");
    const none = h("p", { class: "quiet" });
    const list = h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Limits met", hidden: true });
    const kept = new Map();
    numbers.follow(this.signal, (error) => {
      problem.textContent = error ? `The numbers cannot be read: ${error.message}.` : "";
      const { samples } = numbers.last ?? {};
      if (!samples) return;
      const limits = [...samples].filter(([key]) => key.startsWith(START)).map(([key, total]) => ({ name: key.slice(START.length, -2), key, total }));
      const rate = ({ key }) => numbers.series((sample, before) => before && Math.max(0, (sample.samples.get(key) - before.samples.get(key)) / ((sample.at - before.at) / 1_000)), `limit ${key}`);
      const met = limits.filter(({ total }) => total > 0).sort((a, b) => b.total - a.total);
      none.textContent = met.length ? `${limits.length - met.length} other limits were not met.` : `None of the ${limits.length} limits was met since the server started.`;
      list.hidden = !met.length;
      for (const each of met) {
        let row = kept.get(each.name);
        if (!row) {
          row = { total: h("td", { class: "number" }), now: h("td", { class: "number" }), line: h("presence-spark") };
          row.node = h("tr", {}, h("th", { scope: "row" }, h("code", {}, each.name)), row.total, row.now, h("td", { class: "wide" }, row.line));
          kept.set(each.name, row);
          rows.append(row.node);
        }
        row.total.textContent = amount(each.total);
        const points = rate(each);
        row.now.textContent = `${amount(points.at(-1)?.[1] ?? 0)}/s`;
        row.line.show(points);
      }
    });
    list.append(h("table", {}, h("thead", {}, h("tr", {}, ...["Limit", "Times", "Now", "Last minutes"].map((text) => h("th", { scope: "col" }, text)))), rows));
    return [
      h("h1", { tabindex: "-1" }, "Limits met"), problem,
      h("section", { class: "card", "aria-label": "Limits" },
        list, none, h("p", { class: "quiet" }, "Requests that the server that answers has refused since it started, by limit. The document on security explains each.")),
    ];
  }
}

customElements.define("limits-screen", Limits);
