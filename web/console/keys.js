// Keys of backends: what there is, new ones, other secrets, and the end of one.
import { Screen, busy, button, field, form, h } from "/console/parts.js";
import { api, time } from "./api.js";
import { facts } from "./person.js";

const DAY = 86_400_000;

class Keys extends Screen {
  #problem = h("p", { class: "bad", role: "alert" });
  #done = h("p", { class: "good", role: "status" });
  #none = h("p", { class: "quiet", role: "status" }, "Reading…");
  #text = h("section", { class: "card", hidden: true, "aria-label": "The new key" });
  #make = h("section", { class: "card" });
  #list = h("div");

  render() {
    this.#read();
    return [h("h1", { tabindex: "-1" }, "Keys"), this.#problem, this.#done, this.#text, this.#none, this.#list, this.#make];
  }

  async #read() {
    try {
      const { keys, scopes } = await api.ask("GET", "/v1/console/keys", { signal: this.signal });
      this.#list.replaceChildren(...keys.map((key) => this.#card(key)));
      this.#none.textContent = keys.length ? "" : "No backend has a key.";
      if (!this.#make.firstChild) this.#make.replaceChildren(h("h2", {}, "Make a key"), this.#form(scopes));
    } catch (error) {
      if (!this.signal.aborted) this.#problem.textContent = `Keys cannot be read: ${error.message}.`;
    }
  }

  #card(key) {
    const { id, name, scopes, createdAt, expiresAt, rotatedAt, oldUntil } = key;
    const isOver = expiresAt <= Date.now();
    const rotate = button("New secret", { "aria-label": `New secret: ${name}` });
    rotate.addEventListener("click", () => this.#act(rotate, "POST", `/${id}/rotate`, { overlap: DAY }, `${name} has another secret. The one before works for one more day.`));
    const revoke = button("Revoke", { "aria-label": `Revoke: ${name}` });
    revoke.addEventListener("click", () => {
      if (confirm(`Revoke the key ${name}? Its backend can no longer call this server, from now on.`)) this.#act(revoke, "DELETE", `/${id}`, undefined, `${name} is revoked.`);
    });
    return h("section", { class: "card", "aria-label": name }, h("h2", {}, name),
      facts([["Scopes", scopes.join(", ")], ["Id", id], ["Made", time(createdAt)], [isOver ? "Expired" : "Expires", expiresAt && time(expiresAt)],
        ["New secret", rotatedAt && time(rotatedAt)], ["Old secret works until", oldUntil > Date.now() && time(oldUntil)]]),
      h("div", { class: "actions" }, !isOver && rotate, revoke));
  }

  #form(scopes) {
    const name = field("Name", { name: "name", autocomplete: "off", spellcheck: "false", maxlength: 64, required: true }, { hint: "a to z, 0 to 9, - . and _" });
    const days = field("Days until it expires", { name: "days", type: "number", min: 1, max: 3_650 }, { hint: "Empty: it is valid until it is revoked." });
    const boxes = scopes.map((scope) => h("label", {}, h("input", { type: "checkbox", name: "scope", value: scope }), ` ${scope}`));
    const made = form({ name, days }, "Make the key", async (fail) => {
      const wanted = boxes.map((box) => box.querySelector("input")).filter((box) => box.checked).map((box) => box.value);
      if (!wanted.length) throw Object.assign(new Error("Please choose what the key may do"), { code: "validation_failed" });
      try {
        const body = { name: name.value.trim(), scopes: wanted, ...(days.value && { expiresIn: Number(days.value) * DAY }) };
        this.#show(await api.ask("POST", "/v1/console/keys", { body }));
      } catch (error) {
        if (error.field === "name") return fail("name", `${error.message}.`);
        throw error;
      }
    });
    made.prepend(h("fieldset", {}, h("legend", {}, "It may do"), ...boxes));
    return made;
  }

  async #act(press, method, path, body, done) {
    this.#done.textContent = this.#problem.textContent = "";
    try {
      const answer = await busy(press, undefined, () => api.ask(method, `/v1/console/keys${path}`, { body }));
      this.#done.textContent = done;
      if (answer) this.#show(answer);
      else this.#read();
    } catch (error) {
      this.#problem.textContent = `It could not be done: ${error.message}.`;
    }
  }

  /** The text of a key is in no other answer: it is shown until the page is left. */
  #show({ key, secret }) {
    const text = h("code", { tabindex: "0" }, secret);
    const copy = button("Copy", { onclick: () => navigator.clipboard.writeText(secret).then(() => (this.#done.textContent = "Copied.")) });
    this.#text.replaceChildren(h("h2", {}, `The key ${key.name}`), h("p", {}, "Copy it now. It is not shown again."), h("pre", {}, text), h("div", { class: "actions" }, copy));
    this.#text.hidden = false;
    text.focus();
    this.#read();
  }
}

customElements.define("keys-screen", Keys);
