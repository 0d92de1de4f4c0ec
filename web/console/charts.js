// A line of the last minutes, with the bound that a promise sets.
import { h } from "/console/parts.js";
import { LENGTH, duration } from "./api.js";

const HEIGHT = 64;

/** Drawn anew when it is given points, when its width changes, and when the colours do. */
class Spark extends HTMLElement {
  #canvas = h("canvas", { "aria-hidden": "true" });
  #points = [];
  #bound;
  #resized = new ResizeObserver(() => this.#draw());
  #dark = matchMedia("(prefers-color-scheme: dark)");
  #recolour = () => this.#draw();

  connectedCallback() {
    this.replaceChildren(this.#canvas);
    this.#resized.observe(this);
    this.#dark.addEventListener("change", this.#recolour);
  }

  disconnectedCallback() {
    this.#resized.disconnect();
    this.#dark.removeEventListener("change", this.#recolour);
  }

  show(points, bound) {
    this.#points = points;
    this.#bound = bound;
    this.#draw();
  }

  #draw() {
    const width = Math.floor(this.clientWidth);
    if (!width) return;
    const scale = devicePixelRatio || 1;
    const canvas = this.#canvas;
    if (canvas.width !== width * scale) canvas.width = width * scale;
    if (canvas.height !== HEIGHT * scale) canvas.height = HEIGHT * scale;
    const pen = canvas.getContext("2d");
    const style = getComputedStyle(this);
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, width, HEIGHT);
    const values = this.#points.map(([, value]) => value ?? 0);
    // A bound far above what is would leave a flat line: then only the line is shown.
    const highest = Math.max(...values, 1e-9);
    const isNear = this.#bound !== undefined && highest > this.#bound / 20;
    const top = Math.max(highest, isNear ? this.#bound : 0) * 1.1;
    const y = (value) => HEIGHT - 2 - (value / top) * (HEIGHT - 6);
    const last = this.#points.at(-1)?.[0] ?? 0;
    // At first a minute, later as much as there is.
    const span = Math.max(60_000, Math.min(LENGTH * 1_000, last - (this.#points[0]?.[0] ?? last)));
    const x = (at) => width - 2 - ((last - at) / span) * (width - 4);
    pen.lineWidth = 1;
    pen.strokeStyle = style.getPropertyValue("--line");
    pen.beginPath();
    pen.moveTo(0, HEIGHT - 1.5);
    pen.lineTo(width, HEIGHT - 1.5);
    pen.stroke();
    if (isNear) {
      pen.strokeStyle = style.getPropertyValue("--bad");
      pen.setLineDash([4, 4]);
      pen.beginPath();
      pen.moveTo(0, y(this.#bound));
      pen.lineTo(width, y(this.#bound));
      pen.stroke();
      pen.setLineDash([]);
    }
    pen.lineWidth = 1.5;
    pen.strokeStyle = style.getPropertyValue("--accent");
    pen.beginPath();
    let isDrawing = false;
    for (const [at, value] of this.#points) {
      if (value === null) {
        isDrawing = false;
        continue;
      }
      if (isDrawing) pen.lineTo(x(at), y(value));
      else pen.moveTo(x(at), y(value));
      isDrawing = true;
    }
    pen.stroke();
  }
}
customElements.define("presence-spark", Spark);

/** A number with its line: what it is, what it should be, and whether it is so. */
export const tile = (name, { unit = String, bound, boundText, about, seconds = 0, alarm = (value, bound) => value > bound } = {}) => {
  const value = h("p", { class: "value" }, "–");
  const verdict = h("p", { class: "verdict" });
  const line = h("presence-spark");
  const node = h("section", { class: "tile", "aria-label": name }, h("h2", {}, name), value, line, verdict, h("p", { class: "about" }, about));
  const say = (text, kind = "") => {
    if (verdict.textContent !== text) verdict.textContent = text;
    verdict.classList.toggle("bad", kind === "bad");
    verdict.classList.toggle("near", kind === "near");
    node.classList.toggle("alarm", kind === "bad");
  };
  /** For how many ms it has been beyond its limit by now. */
  const beyond = (points, limit) => {
    const within = points.findLastIndex(([, number]) => number !== null && !alarm(number, limit));
    return points.at(-1)[0] - (points[within + 1] ?? points.at(-1))[0];
  };
  return {
    node,
    /** Of what is not known, or of what nothing was measured, nothing is said. */
    show(points, limit = bound) {
      const last = points.at(-1)?.[1] ?? null;
      value.textContent = last === null ? "–" : unit(last);
      if (points.length) line.show(points, limit);
      if (limit === undefined || last === null) return say("");
      const text = boundText?.(limit, last) ?? `at most ${unit(limit)}`;
      if (!alarm(last, limit)) return say(`Within its bound: ${text}`);
      const left = seconds - Math.floor(beyond(points, limit) / 1_000);
      if (left <= 0) return say(`Not within its bound: ${text}`, "bad");
      say(`Beyond its bound, ${text}: an alert in ${duration(left * 1_000)}, unless it ends`, "near");
    },
  };
};
