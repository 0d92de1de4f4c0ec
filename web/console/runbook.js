// Runbook: the paragraph of an alert in docs/operations.md, of the version that the server is of.
import { Screen, h, placed } from "/console/parts.js";

/** The lines under a heading of the third level. */
const section = (text, name) => {
  const lines = text.split("\n");
  const start = lines.indexOf(`### ${name}`);
  if (start < 0) return undefined;
  const end = lines.findIndex((line, place) => place > start && /^##/.test(line));
  return lines.slice(start + 1, end < 0 ? lines.length : end);
};

/** Code, bold and the text of links: the document has no other marks within a paragraph. */
const inline = (text) => text.split(/(`[^`]+`|\*\*[^*]+\*\*|\[[^\]]+\]\([^)]+\))/).filter(Boolean).map((part) => {
  if (part.startsWith("`")) return h("code", {}, part.slice(1, -1));
  if (part.startsWith("**")) return h("strong", {}, part.slice(2, -2));
  const [, shown, address] = /^\[([^\]]+)\]\(([^)]+)\)$/.exec(part) ?? [];
  if (!shown) return part;
  const [, alert] = /^#(presence\w+)$/.exec(address) ?? [];
  return alert ? h("a", { href: `#/runbook/${shown}` }, shown) : h("em", {}, shown);
});

/** Paragraphs, lists and indented code. */
const render = (lines) => {
  const made = [];
  for (const line of lines) {
    const last = made.at(-1);
    if (!line.trim()) made.push(null);
    else if (/^\s*- /.test(line)) {
      const item = h("li", {}, ...inline(line.replace(/^\s*- /, "")));
      if (last?.tagName === "UL") last.append(item);
      else made.push(h("ul", {}, item));
    } else if (/^ {4}/.test(line)) {
      if (last?.tagName === "PRE") last.firstChild.append(`\n${line.slice(4)}`);
      else made.push(h("pre", {}, h("code", {}, line.slice(4))));
    } else made.push(h("p", {}, ...inline(line)));
  }
  return made.filter(Boolean);
};

class Runbook extends Screen {
  render() {
    const name = /^\w+$/.test(placed(2)) ? placed(2) : "";
    const content = h("div", { role: "status" }, "Reading…");
    this.#read(content, name);
    return [
      h("p", {}, h("a", { href: "#/overview" }, "Overview")), h("h1", { tabindex: "-1" }, name || "Runbook"),
      h("section", { class: "card runbook", "aria-label": "What to do" }, content, h("p", { class: "quiet" }, "From this server's own operations.md, “Alerts”.")),
    ];
  }

  async #read(content, name) {
    try {
      const answer = await fetch("/console/operations.md", { signal: this.signal });
      if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
      const found = section(await answer.text(), name);
      content.replaceChildren(...(found ? render(found) : ["There is no alert with this name."]));
    } catch (error) {
      if (!this.signal.aborted) content.replaceChildren(h("p", { class: "bad" }, `The document cannot be read: ${error.message}.`));
    }
  }
}

customElements.define("runbook-screen", Runbook);
