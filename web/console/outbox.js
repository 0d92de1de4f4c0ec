// Outbox: the mails of development, which lie in the data directory while no mail server is set.
import { Screen, h } from "/console/parts.js";
import { api, every } from "./api.js";

class Outbox extends Screen {
  render() {
    const list = h("ul", { class: "people", "aria-label": "Mails" });
    const none = h("p", { class: "quiet", role: "status" }, "Reading…");
    const problem = h("p", { class: "bad", role: "alert" });
    let shown;
    every(3_000, this.signal, async () => {
      try {
        const { mails } = await api.ask("GET", "/v1/console/outbox", { signal: this.signal });
        problem.textContent = "";
        none.textContent = mails.length ? "" : "There are no mails. With a mail server (mail.url), none are kept here.";
        const key = mails.map(({ file }) => file).join();
        if (key === shown) return;
        shown = key;
        list.replaceChildren(...mails.reverse().map((mail) => this.#row(mail)));
      } catch (error) {
        if (!this.signal.aborted) problem.textContent = `The outbox cannot be read: ${error.message}.`;
      }
    });
    return [h("h1", { tabindex: "-1" }, "Outbox"), h("section", { class: "card", "aria-label": "Outbox" }, problem, none, list)];
  }

  #row({ to, subject, date, link }) {
    // Opened in a tab of its own, which gets nothing of this one.
    return h("li", {}, h("div", { class: "who" }, h("strong", {}, subject), h("span", { class: "quiet" }, `to ${to} · ${date}`)),
      link && h("a", { href: link, target: "_blank", rel: "noopener noreferrer", "aria-label": `Open the link of the mail to ${to}` }, "Open the link"));
  }
}

customElements.define("outbox-screen", Outbox);
