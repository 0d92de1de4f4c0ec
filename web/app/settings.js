// All settings, page by page, with a list of the pages at the side.
import { Screen, ago, busy, button, field, form, h, nameOf, serverHas, textOf } from "./parts.js";
import { icon } from "./icons.js";
import { Known, List, arrange, pictureOf } from "./known.js";
import { toast } from "./menu.js";
import { notifying } from "./notifications.js";
import { choice, page } from "./page.js";
import { followLists, ownStatus } from "./person.js";
import "./account.js";

const PAGES = [
  ["Profile", "/profile", "person", "Name, username and picture"], ["Status", "/status", "mood"],
  ["Privacy", "/privacy", "lock", "Who sees what, and who is blocked"], ["Notifications", "/notifications", "bell", "What you are notified of, and when"],
  ["Account", "/account", "key", "Address, password, your data, deletion"],
  ["Devices", "/devices", "device", "Where you are signed in"], ["Your link", "/invite", "link", "How others find you"],
];

class Settings extends List {
  render() {
    const { app } = this;
    const notes = {};
    const face = h("presence-avatar");
    const rows = PAGES.map(([text, to, drawing, about = ""]) => {
      notes[text] = h("span", { class: "quiet line", dir: "auto" }, about);
      const picture = to === "/profile" ? face : h("span", { class: "disc" }, icon(drawing));
      return h("li", {}, picture, h("a", { class: "who", href: `/app#${to}` }, h("strong", {}, text), notes[text]));
    });
    this.each(app.own({ signal: this.signal }), ({ profile }) => {
      const name = profile?.displayName ?? app.client.user;
      face.show(name, pictureOf({ profile }), undefined, app.client.user);
      notes.Profile.textContent = name;
    });
    const leave = button("Sign out", { class: "plain danger" });
    leave.prepend(icon("leave"));
    const problem = h("p", { class: "bad", role: "alert" });
    leave.addEventListener("click", () => app.signOut().catch((error) => (problem.textContent = textOf(error))));
    this.each(app.client.me({ signal: this.signal }), (own) => (notes.Status.textContent = ownStatus(own)));
    return [this.head("Settings"), h("div", { class: "scrolled" }, h("ul", { class: "people talks" }, ...rows), leave, problem)];
  }
}

class Status extends Screen {
  render() {
    const { client } = this.app;
    const status = field("Status", { name: "status" }, { tag: "select" });
    const statuses = [["auto", "Online"], ["busy", "Busy"], ["invisible", "Invisible"]];
    status.input.append(...statuses.map(([value, text]) => h("option", { value }, text)));
    const text = field("Status text", { name: "text", dir: "auto", maxlength: "140", autocomplete: "off", placeholder: "In a meeting" });
    const done = h("p", { class: "good", role: "status" });
    const made = form({ status, text }, "Set status", async () => {
      await client.setStatus(status.value, { text: text.value.trim() || null });
      done.textContent = "Status set";
    }, { more: [done] });
    made.addEventListener("input", () => (done.textContent = ""));
    this.each(client.me({ signal: this.signal }), (own) => {
      if (made.contains(document.activeElement) || !own.status) return;
      status.input.value = statuses.some(([value]) => value === own.status.status) ? own.status.status : "auto";
      text.input.value = own.status.text ?? "";
    });
    return page(this, "Status", h("section", { class: "card" }, made));
  }
}

const AUDIENCES = [["everyone", "Everybody"], ["contacts", "The people I have added"], ["nobody", "Nobody"]];

class Privacy extends Screen {
  render() {
    const { client } = this.app;
    const set = (name) => (value) => client.request("setVisibility", { visibility: { [name]: value } });
    const choices = {
      presence: choice("Who sees when I am here, and my profile", "presence", AUDIENCES, "", set("presence")),
      findable: choice("Who finds me by my username", "findable", AUDIENCES, "", set("findable")),
      lastSeen: choice("Who sees when I was here last", "lastSeen", AUDIENCES, "You do not see it of people who cannot see yours.", set("lastSeen")),
      receipts: choice("Who sees what I have read", "receipts", [["everyone", "Everybody"], ["nobody", "Nobody"]], "With “Nobody”, you do not see what others have read.", set("receipts")),
    };
    const from = choice("Who may begin a conversation with me", "from", [["everyone", "Everybody"], ["contacts", "The people I have added"]],
      "Others send a request: they see neither what you have read nor that you type until you accept.",
      (value) => client.request("setVisibility", { conversations: { from: value } }));
    from.node.hidden = true;
    serverHas("contactRequests").then((has) => (from.node.hidden = !has));
    this.each(client.me({ signal: this.signal }), ({ visibility, conversations }) => {
      if (document.activeElement !== from.input) from.input.value = (conversations?.from ?? "everyone") === "everyone" ? "everyone" : "contacts";
      for (const [name, { input }] of Object.entries(choices)) {
        if (visibility && document.activeElement !== input) input.value = visibility[name] ?? "everyone";
      }
    });
    const list = h("ul", { class: "people", "aria-label": "Blocked people" });
    const empty = h("p", { class: "quiet" }, "Nobody is blocked. Open a person's page to block them.");
    let blocked = [];
    const known = new Known(this, () => show());
    const rows = new Map();
    const row = (user) => {
      const avatar = h("presence-avatar");
      const name = h("strong", { dir: "auto" });
      const end = button("Unblock");
      end.addEventListener("click", () => busy(end, undefined, () => client.request("unblock", { users: [user] })).catch((error) => toast(textOf(error))));
      const node = h("li", {}, avatar, h("span", { class: "who" }, name), end);
      return () => {
        const called = nameOf(known.person(user));
        avatar.show(called, pictureOf(known.person(user)), undefined, user);
        name.textContent = called;
        end.setAttribute("aria-label", `Unblock ${called}`);
        return node;
      };
    };
    const show = () => {
      empty.hidden = blocked.length > 0;
      arrange(list, blocked.map((user) => {
        if (!rows.has(user)) rows.set(user, row(user));
        return rows.get(user)();
      }));
    };
    followLists(this.app, this.signal, ({ blocks }) => {
      blocked = blocks;
      known.want(blocks);
      show();
    });
    return page(this, "Privacy", h("section", { class: "card" }, h("div", { class: "form" }, ...[...Object.values(choices), from].map(({ node }) => node))),
      h("section", { class: "card" }, h("h2", {}, "Blocked people"), list, empty));
  }
}

const KINDS = { web: "Browser", phone: "Phone", tablet: "Tablet", desktop: "Computer", bot: "Bot" };

class Devices extends Screen {
  render() {
    const { account } = this.app;
    const list = h("ul", { class: "people", "aria-label": "Devices" });
    const problem = h("p", { class: "bad", role: "alert" });
    const fail = (error) => (problem.textContent = textOf(error));
    const read = async () => {
      const sessions = await account.sessions();
      if (this.signal.aborted) return;
      problem.textContent = "";
      list.replaceChildren(...sessions.sort((a, b) => b.current - a.current || b.lastUsedAt - a.lastUsedAt).map(row));
    };
    const row = ({ id, kind, name, lastUsedAt, current }) => {
      const called = name || KINDS[kind] || "Device";
      const end = button("Sign out", { "aria-label": `Sign out ${called}` });
      end.addEventListener("click", () => busy(end, undefined, () => account.endSession(id)).then(read).catch(fail));
      const used = current ? "This device" : `Last used ${ago(lastUsedAt, this.app.client.now())}`;
      return h("li", {}, h("span", { class: "disc" }, icon("device")), h("span", { class: "who" }, h("strong", { dir: "auto" }, called), h("span", { class: "quiet" }, used)), !current && end);
    };
    read().catch(fail);
    const all = button("Sign out on all devices", { class: "plain danger" });
    all.addEventListener("click", () => busy(all, undefined, () => this.app.signOut({ everywhere: true })).catch(fail));
    return page(this, "Devices", notifying(this), h("section", { class: "card" }, list, problem, all));
  }
}

customElements.define("settings-list", Settings);
customElements.define("status-screen", Status);
customElements.define("privacy-screen", Privacy);
customElements.define("devices-screen", Devices);
