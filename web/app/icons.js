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
const SVG = "http://www.w3.org/2000/svg";

/** One of the drawings. Its meaning is in the text beside it, or in the name of its button. */
export const icon = (name) => {
  const drawing = document.createElementNS(SVG, "svg");
  const path = document.createElementNS(SVG, "path");
  for (const [key, value] of [["viewBox", "0 0 24 24"], ["class", "icon"], ["aria-hidden", "true"]]) drawing.setAttribute(key, value);
  path.setAttribute("d", DRAWINGS[name]);
  if (name === "more") path.setAttribute("stroke-width", "3");
  drawing.append(path);
  return drawing;
};
