// Elements over the page that close by themselves: menus, and notes of actions.
import { button, h, textOf } from "./parts.js";
import { icon } from "./icons.js";

/** In ms: how long a note stays. */
const STAY = 8_000;
/** In pixels, from the edges of the window. */
const EDGE = 8;

/** A button that shows a drawing; its name is for screen readers, and for the pointer. */
export const iconButton = (drawing, name, attributes = {}) => {
  const made = h("button", { type: "button", class: "icon-button", "aria-label": name, title: name, ...attributes }, icon(drawing));
  return made;
};

/**
 * Opens a menu beside a button, or where a pointer is. `items` are `[text, act, drawing]`. The browser closes it with Escape, or a
 * press elsewhere, and gives the focus back.
 */
export const openMenu = (anchor, items, at) => {
  const node = h("div", { class: "menu", role: "menu", popover: "auto", tabindex: "-1", "aria-label": anchor.ariaLabel ?? "Actions" });
  for (const [text, act, drawing] of items) {
    const choose = () => {
      node.hidePopover();
      act();
    };
    node.append(h("button", { type: "button", role: "menuitem", tabindex: "-1", onclick: choose }, icon(drawing), text));
  }
  const move = (event) => {
    const all = [...node.children];
    const here = all.indexOf(document.activeElement);
    const to = { ArrowDown: here + 1, ArrowUp: here < 0 ? -1 : here - 1, Home: 0, End: -1 }[event.key];
    if (event.key === "Tab") node.hidePopover();
    if (to === undefined && event.key !== "Tab") return;
    event.preventDefault();
    all.at(to % all.length)?.focus();
  };
  node.addEventListener("keydown", move);
  node.addEventListener("toggle", ({ newState }) => {
    if (newState !== "closed") return;
    anchor.setAttribute("aria-expanded", "false");
    node.remove();
  });
  document.body.append(node);
  const isByKeyboard = anchor.matches(":focus-visible");
  node.showPopover();
  anchor.setAttribute("aria-expanded", "true");
  const { left, right, bottom, top } = at ? { left: at.x, right: at.x, top: at.y, bottom: at.y } : anchor.getBoundingClientRect();
  const { offsetWidth: width, offsetHeight: height } = node;
  const x = left + width + EDGE < innerWidth && (at || left < innerWidth / 2) ? left : right - width;
  const y = bottom + height + EDGE < innerHeight ? bottom + 4 : top - height - 4;
  node.style.left = `${Math.max(EDGE, x)}px`;
  node.style.top = `${Math.max(EDGE, y)}px`;
  (isByKeyboard ? node.firstChild : node).focus();
  return node;
};

/** A button with a menu, which is made when it opens. */
export const menuButton = (drawing, name, items) => {
  const made = iconButton(drawing, name, { "aria-haspopup": "menu", "aria-expanded": "false" });
  made.addEventListener("click", () => openMenu(made, items()));
  return made;
};

// It is there before its text: a region that comes with one is not read.
const notes = h("div", { class: "notes", role: "status" });
document.body.append(notes);

/** A note of an action, for some seconds, with a button that takes it back if `undo` can. */
export const toast = (text, undo) => {
  const node = h("div", { class: "note" }, h("span", {}, text));
  let timer = setTimeout(() => node.remove(), STAY);
  const act = () => {
    clearTimeout(timer);
    node.remove();
    undo().catch((error) => toast(textOf(error)));
  };
  if (undo) node.append(button("Undo", { class: "plain", onclick: act }));
  // A user who is about to press it has the time.
  node.addEventListener("focusin", () => clearTimeout(timer));
  node.addEventListener("focusout", () => (timer = setTimeout(() => node.remove(), STAY)));
  notes.replaceChildren(node);
};
