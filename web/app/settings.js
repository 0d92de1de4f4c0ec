// All settings, page by page, with a list of the pages at the side.
import { Screen, ago, busy, button, confirmed, field, form, h, nameOf, textOf } from "./parts.js";
import { bar } from "./chats.js";
import { icon } from "./icons.js";
import { Known, List, arrange, pictureOf } from "./known.js";
import { toast } from "./menu.js";
import { followLists, ownStatus } from "./person.js";
import { passwordField } from "./signing.js";

const PAGES = [
  ["Profile", "/profile", "person", "Name, username and picture"], ["Status", "/status", "mood"],
  ["Privacy", "/privacy", "lock", "Who sees what, and who is blocked"], ["Account", "/account", "key", "Address, password, deletion"],
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

/** A page of the settings. */
const page = (screen, name, ...content) => [bar(screen, name, "/settings"), h("div", { class: "page" }, ...content)];

/** A choice that is saved when it is made. */
const choice = (label, name, values, hint, save) => {
  const made = field(label, { name }, { tag: "select", hint });
  made.input.append(...values.map(([value, text]) => h("option", { value }, text)));
  made.input.addEventListener("change", () => save(made.value).then(() => toast("Saved."), (error) => made.fail(textOf(error))));
  return made;
};

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
    this.each(client.me({ signal: this.signal }), ({ visibility }) => {
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
    return page(this, "Privacy", h("section", { class: "card" }, h("div", { class: "form" }, ...Object.values(choices).map(({ node }) => node))),
      h("section", { class: "card" }, h("h2", {}, "Blocked people"), list, empty));
  }
}

class Account extends Screen {
  render() {
    const { app } = this;
    const { account } = app;
    const address = h("strong");
    const state = h("p", { class: "quiet" });
    this.each(app.own({ signal: this.signal }), ({ account: own }) => {
      address.textContent = own?.email ?? "";
      state.textContent = own?.emailVerified ? "Confirmed" : "Not confirmed yet: follow the link in our email.";
    });
    address.textContent = account.state?.account?.email ?? "";
    const now = () => passwordField("Your password", "current-password");
    const part = (inputs, action, act, options) => {
      const done = h("p", { class: "good", role: "status" });
      const made = form(inputs, action, async (fail) => {
        for (const [name, { value }] of Object.entries(inputs)) if (!value) return fail(name, "Please fill in this field.");
        try {
          const outcome = await act();
          // Cancelled: the fields keep their values.
          if (outcome === false) return;
          done.textContent = outcome ?? "";
        } catch (error) {
          if (error.reason !== "invalid_credentials") throw error;
          return fail("password", "This is not your password.");
        }
        for (const { input } of Object.values(inputs)) input.value = "";
      }, { more: [done], ...options });
      made.addEventListener("input", () => (done.textContent = ""));
      return made;
    };
    const email = { email: field("New email", { name: "email", type: "email", autocomplete: "email" }), password: now() };
    const change = { password: now(), newPassword: passwordField("New password", "new-password", { hint: "At least 8 characters, and none that is used often." }) };
    change.newPassword.input.name = "newPassword";
    const end = { password: now() };
    return page(this, "Account",
      h("section", { class: "card" }, h("h2", {}, "Email"), h("p", {}, "Signed in as ", address), state,
        part(email, "Change email", async () => {
          await account.changeEmail(email.password.value, email.email.value.trim());
          return "Please follow the link in the email that we have sent to the new address.";
        }, { busyText: "Sending…" })),
      h("section", { class: "card" }, h("h2", {}, "Password"), part(change, "Change password", async () => {
        await account.changePassword(change.password.value, change.newPassword.value);
        return "Your password is changed. Other devices are signed out.";
      }, { busyText: "Saving…" })),
      h("section", { class: "card" }, h("h2", {}, "Delete the account"),
        h("p", {}, "Your profile, your lists and your sessions go at once and for good. What you wrote stays with those you wrote to."),
        part(end, "Delete my account", async () => {
          if (!(await confirmed("Delete your account for good?", "Delete"))) return false;
          await account.deleteAccount(end.password.value);
        })));
  }
}

const KINDS = { web: "Browser", phone: "Phone", tablet: "Tablet", desktop: "Computer", bot: "Bot" };

/** Whether this browser shows messages while the app is closed. The browser asks the user after the press alone. */
const notifying = (screen) => {
  const { push, url } = screen.app.client;
  const state = h("p", { class: "quiet", role: "status" });
  const problem = h("p", { class: "bad", role: "alert" });
  const toggle = button("");
  const card = h("section", { class: "card", hidden: true }, h("h2", {}, "Notifications"), state, problem);
  const show = async () => {
    const isOn = await push.enabled();
    state.textContent = isOn ? "This browser shows new messages while Presence is closed." : "This browser shows nothing while Presence is closed.";
    toggle.textContent = isOn ? "Turn off" : "Turn on";
    toggle.onclick = () => {
      problem.textContent = "";
      // The press is known to the browser only now.
      const change = isOn ? push.disable() : push.enable();
      busy(toggle, undefined, () => change).then(show).catch((error) => {
        problem.textContent = error.code === "forbidden" ? "This browser does not allow notifications of this page. You can change that in its settings." : textOf(error);
      });
    };
  };
  const offer = async () => {
    if (!push.supported) return;
    const server = await (await fetch(`${url}/v1/server`)).json();
    if (!server.push?.vapidKey) return;
    await show();
    problem.before(toggle);
    card.hidden = false;
  };
  offer().catch(() => {});
  return card;
};

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
customElements.define("account-screen", Account);
customElements.define("devices-screen", Devices);
