// A line of the last minutes with its scale, the bound that a promise sets, and the value under the pointer.
import { h } from "/console/parts.js";
import { beyond, soon } from "./alerts.js";
import { LENGTH, amount, duration } from "./api.js";

const HEIGHT = 80;
/** In px: room for the words of the axes. */
const [ABOVE, BELOW] = [14, 16];

/** Drawn anew when it is given points, when its width changes, when the colours do, and when the pointer moves. */
class Spark extends HTMLElement {
  #canvas = h("canvas", { "aria-hidden": "true" });
  #label = h("output", { class: "at", hidden: true, "aria-live": "off" });
  #points = [];
  #bound;
  #unit = amount;
  /** The pointer's place, in px from the left; undefined: it is elsewhere. */
  #pointer;
  #resized = new ResizeObserver(() => this.#draw());
  #dark = matchMedia("(prefers-color-scheme: dark)");
  #recolour = () => this.#draw();

  constructor() {
    super();
    this.addEventListener("pointermove", ({ offsetX }) => this.#point(offsetX));
    this.addEventListener("pointerleave", () => this.#point(undefined));
  }

  connectedCallback() {
    this.replaceChildren(this.#canvas, this.#label);
    this.#resized.observe(this);
    this.#dark.addEventListener("change", this.#recolour);
  }

  disconnectedCallback() {
    this.#resized.disconnect();
    this.#dark.removeEventListener("change", this.#recolour);
  }

  show(points, bound, unit = amount) {
    this.#points = points;
    this.#bound = bound;
    this.#unit = unit;
    this.#draw();
  }

  #point(x) {
    this.#pointer = x;
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
    const colour = (name) => style.getPropertyValue(`--${name}`);
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, width, HEIGHT);
    const values = this.#points.map(([, value]) => value ?? 0);
    // A bound far above the values would leave a flat line: then only the line is shown.
    const highest = Math.max(...values, 1e-9);
    const isNear = this.#bound > 0 && highest > this.#bound / 20;
    const top = Math.max(highest, isNear ? this.#bound : 0);
    const y = (value) => HEIGHT - BELOW - 1.5 - (value / top) * (HEIGHT - ABOVE - BELOW - 4);
    const last = this.#points.at(-1)?.[0] ?? 0;
    // At first a minute, later as much as there is.
    const span = Math.max(60_000, Math.min(LENGTH * 1_000, last - (this.#points[0]?.[0] ?? last)));
    const x = (at) => width - 2 - ((last - at) / span) * (width - 4);
    const line = (name, ...ends) => {
      pen.strokeStyle = colour(name);
      pen.beginPath();
      for (const [place, [left, height]] of ends.entries()) place ? pen.lineTo(left, height) : pen.moveTo(left, height);
      pen.stroke();
    };
    pen.lineWidth = 1;
    line("line", [0, y(0)], [width, y(0)]);
    line("line", [0, y(top)], [width, y(top)]);
    if (isNear) {
      pen.setLineDash([4, 4]);
      line("bad", [0, y(this.#bound)], [width, y(this.#bound)]);
      pen.setLineDash([]);
    }
    pen.font = `11px ${style.fontFamily}`;
    pen.fillStyle = colour("quiet");
    pen.textBaseline = "alphabetic";
    const write = (text, place, height, align) => {
      pen.textAlign = align;
      pen.fillText(text, place, height);
    };
    write(`${Math.round(span / 60_000)} min ago`, 0, HEIGHT - 3, "left");
    write("now", width, HEIGHT - 3, "right");
    if (values.some((value) => value > 0) || isNear) write(this.#unit(top), 0, ABOVE - 4, "left");
    this.#trace(pen, colour("accent"), x, y);
    this.#mark(pen, colour, x, y, width, last);
  }

  #trace(pen, colour, x, y) {
    pen.lineWidth = 1.5;
    pen.strokeStyle = colour;
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

  /** The value that is nearest to the pointer. */
  #mark(pen, colour, x, y, width, last) {
    this.#label.hidden = this.#pointer === undefined || !this.#points.length;
    if (this.#label.hidden) return;
    const [at, value] = this.#points.reduce((near, each) => (Math.abs(x(each[0]) - this.#pointer) < Math.abs(x(near[0]) - this.#pointer) ? each : near));
    const time = last - at < 500 ? "now" : `${duration(last - at)} ago`;
    this.#label.textContent = `${value === null ? "nothing measured" : this.#unit(value)} · ${time}`;
    this.#label.classList.toggle("left", x(at) > width / 2);
    pen.lineWidth = 1;
    pen.strokeStyle = colour("edge");
    pen.beginPath();
    pen.moveTo(x(at), ABOVE);
    pen.lineTo(x(at), HEIGHT - BELOW);
    pen.stroke();
    if (value === null) return;
    pen.fillStyle = colour("accent");
    pen.beginPath();
    pen.arc(x(at), y(value), 3, 0, 2 * Math.PI);
    pen.fill();
  }
}
customElements.define("presence-spark", Spark);

/** A number with its line: what it is, what it should be, and whether it is so. */
export const tile = (name, { unit = String, bound, boundText, about, seconds = 0, link, alarm = (value, bound) => value > bound } = {}) => {
  const value = h("p", { class: "value" }, "–");
  const verdict = h("p", { class: "verdict" });
  const line = h("presence-spark");
  const node = h("section", { class: "tile", "aria-label": name }, h("h2", {}, name), value, line, verdict, h("p", { class: "about" }, about, link && " ", link && h("a", { href: link }, `Alert: ${link.split("/").at(-1)}.`)));
  const say = (text, kind = "") => {
    if (verdict.textContent !== text) verdict.textContent = text;
    verdict.classList.toggle("bad", kind === "bad");
    verdict.classList.toggle("near", kind === "near");
    node.classList.toggle("alarm", kind === "bad");
  };
  return {
    node,
    /** A value that is not known or was not measured gets no verdict. */
    show(points, limit = bound) {
      const last = points.at(-1)?.[1] ?? null;
      value.textContent = last === null ? "–" : unit(last);
      line.show(points, limit, unit);
      if (limit === undefined || last === null) return say("");
      const text = boundText?.(limit, last) ?? `at most ${unit(limit)}`;
      const time = beyond(points, (number) => alarm(number, limit));
      if (time === undefined) return say(`Within its bound: ${text}`);
      const left = seconds - Math.floor(time / 1_000);
      if (left <= 0) return say(`Not within its bound: ${text}`, "bad");
      say(`Beyond its bound, ${text}: ${soon(left * 1_000)}`, "near");
    },
  };
};
