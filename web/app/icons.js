// Drawings for buttons and marks: lines of 1.75 on 24 by 24.
const DRAWINGS = {
  add: "M12 5v14M5 12h14",
  back: "M15 5l-7 7 7 7",
  bell: "M6 16V11a6 6 0 0 1 12 0v5l1.5 2h-15zM10 20.5h4",
  silent: "M6 16V11a6 6 0 0 1 12 0v5l1.5 2h-15zM10 20.5h4M4 4l16 16",
  block: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM6 6l12 12",
  box: "M4 5h16v4H4zM5.5 9v10h13V9M10 13h4",
  chat: "M12 4c5 0 9 3.2 9 7.3s-4 7.3-9 7.3c-1.1 0-2.2-.15-3.2-.4L4 20l1.3-3.6C3.9 15 3 13.2 3 11.3 3 7.2 7 4 12 4z",
  check: "M4 12.5l5 5L20 6.5",
  checks: "M1.5 12.5l5 5L17 6.5M11 17.5l.5.5L22.5 6.5",
  clock: "M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16zM12 8v4.5l3 1.5",
  close: "M6 6l12 12M18 6L6 18",
  copy: "M9 9h11v11H9zM15 9V4H4v11h5",
  device: "M3 5h18v11H3zM9 20h6M12 16v4",
  down: "M6 9l6 6 6-6",
  edit: "M4 20l1-4.5L16 4.5l3.5 3.5L8.5 19z",
  eye: "M2.5 12S6 5.5 12 5.5 21.5 12 21.5 12 18 18.5 12 18.5 2.5 12 2.5 12zM12 9a3 3 0 1 0 0 6 3 3 0 0 0 0-6z",
  failed: "M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16zM12 8v5M12 16v.01",
  file: "M6 3h8l4 4v14H6zM14 3v4h4",
  flag: "M6 21V4h11l-2 4 2 4H6",
  group: "M9 5a3.2 3.2 0 1 0 0 6.4A3.2 3.2 0 0 0 9 5zM3 19c.3-3.4 2.7-5.3 6-5.3s5.7 1.9 6 5.3M15.5 5.3a3.2 3.2 0 0 1 0 5.9M17.5 14.2c2 .8 3.3 2.5 3.5 4.8",
  info: "M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16zM12 11v5M12 8v.01",
  key: "M8 11a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM11 12l9-9M16 7l3 3",
  leave: "M10 4H5v16h5M14 8l4 4-4 4M8 12h10",
  link: "M10 14a4 4 0 0 0 6 .4l3-3a4 4 0 0 0-5.7-5.7L12 7M14 10a4 4 0 0 0-6-.4l-3 3a4 4 0 0 0 5.7 5.7L12 17",
  lock: "M6 11h12v9H6zM8.5 11V8a3.5 3.5 0 0 1 7 0v3",
  mood: "M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16zM9 10v.01M15 10v.01M8.5 14c1.8 2.3 5.2 2.3 7 0",
  more: "M12 5.5v.01M12 12v.01M12 18.5v.01",
  person: "M12 4a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM4.5 20c.4-4 3.5-6 7.5-6s7.1 2 7.5 6",
  send: "M4.5 4.5L20 12 4.5 19.5 7 12zM7 12h6",
  settings: "M4 7h9M17 7h3M4 17h3M11 17h9M15 5v4M9 15v4",
  attach: "M19 11.5l-7.6 7.6a4.5 4.5 0 0 1-6.4-6.4l8-8a3 3 0 0 1 4.3 4.3l-7.8 7.8a1.5 1.5 0 0 1-2.1-2.1l7-7",
  trash: "M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13",
};
// Logos of providers, as their rules for buttons require: paths, and their colours (none: that of the text).
const LOGOS = {
  apple: ["0 0 24 24", ["M12.152 6.896c-.948 0-2.415-1.078-3.96-1.04-2.04.027-3.91 1.183-4.961 3.014-2.117 3.675-.546 9.103 1.519 12.09 1.013 1.454 2.208 3.09 3.792 3.039 1.52-.065 2.09-.987 3.935-.987 1.831 0 2.35.987 3.96.948 1.637-.026 2.676-1.48 3.676-2.948 1.156-1.688 1.636-3.325 1.662-3.415-.039-.013-3.182-1.221-3.22-4.857-.026-3.04 2.48-4.494 2.597-4.559-1.429-2.09-3.623-2.324-4.39-2.376-2-.156-3.675 1.09-4.61 1.09zM15.53 3.83c.843-1.012 1.4-2.427 1.245-3.83-1.207.052-2.662.805-3.532 1.818-.78.896-1.454 2.338-1.273 3.714 1.338.104 2.715-.688 3.559-1.701"]],
  google: ["0 0 48 48",
    ["M24 9.5c3.54 0 6.71 1.22 9.21 3.6l6.85-6.85C35.9 2.38 30.47 0 24 0 14.62 0 6.51 5.38 2.56 13.22l7.98 6.19C12.43 13.72 17.74 9.5 24 9.5z", "#ea4335"],
    ["M46.98 24.55c0-1.57-.15-3.09-.38-4.55H24v9.02h12.94c-.58 2.96-2.26 5.48-4.78 7.18l7.73 6c4.51-4.18 7.09-10.36 7.09-17.65z", "#4285f4"],
    ["M10.53 28.59c-.48-1.45-.76-2.99-.76-4.59s.27-3.14.76-4.59l-7.98-6.19C.92 16.46 0 20.12 0 24c0 3.88.92 7.54 2.56 10.78l7.97-6.19z", "#fbbc05"],
    ["M24 48c6.48 0 11.93-2.13 15.89-5.81l-7.73-6c-2.15 1.45-4.92 2.3-8.16 2.3-6.26 0-11.57-4.22-13.47-9.91l-7.98 6.19C6.51 42.62 14.62 48 24 48z", "#34a853"]],
};
const SVG = "http://www.w3.org/2000/svg";

const svg = (name, attributes, ...content) => {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...content);
  return element;
};

/** One of the drawings. Its meaning is in the text beside it, or in the name of its button. */
export const icon = (name) => {
  const path = svg("path", { d: DRAWINGS[name], ...name === "more" && { "stroke-width": "3" } });
  return svg("svg", { viewBox: "0 0 24 24", class: "icon", "aria-hidden": "true" }, path);
};

/** The logo of a kind of providers, for its button; an empty text if there is none. */
export const logo = (kind) => {
  if (!LOGOS[kind]) return "";
  const [viewBox, ...paths] = LOGOS[kind];
  return svg(
    "svg", { viewBox, class: "logo", "aria-hidden": "true" }, ...paths.map(([d, fill = "currentColor"]) => svg("path", { d, fill })));
};
