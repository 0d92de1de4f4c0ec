// The pages of the settings: their frame, and choices that are saved when they are made.
import { field, h, textOf } from "./parts.js";
import { bar } from "./chats.js";
import { toast } from "./menu.js";

/** A page of the settings. */
export const page = (screen, name, ...content) => [bar(screen, name, "/settings"), h("div", { class: "page" }, ...content)];

/** A choice that is saved when it is made. */
export const choice = (label, name, values, hint, save) => {
  const made = field(label, { name }, { tag: "select", hint });
  made.input.append(...values.map(([value, text]) => h("option", { value }, text)));
  made.input.addEventListener("change", () => save(made.value).then(() => toast("Saved."), (error) => made.fail(textOf(error))));
  return made;
};
