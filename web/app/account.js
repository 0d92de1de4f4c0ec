// The own account: its address and password, the user's data, and the end of both.
import { Screen, busy, button, confirmed, field, form, h, textOf } from "./parts.js";
import { page } from "./page.js";
import { passwordField } from "./signing.js";

/** All that the server has of the user, as a file. */
const exporting = (screen) => {
  const bar = h("progress", { max: "1", hidden: true, "aria-label": "Your data" });
  const done = h("p", { class: "good", role: "status" });
  const problem = h("p", { class: "bad", role: "alert" });
  const load = async () => {
    bar.removeAttribute("value");
    bar.hidden = false;
    try {
      const archive = await screen.app.people.export({ signal: screen.signal, progress: (share) => (bar.value = share) });
      const address = URL.createObjectURL(archive);
      h("a", { href: address, download: "presence-data.tar" }).click();
      // The browser has it by then.
      setTimeout(() => URL.revokeObjectURL(address), 60_000);
      done.textContent = "Your data is in the file presence-data.tar.";
    } finally {
      bar.hidden = true;
    }
  };
  const start = button("Download my data");
  start.addEventListener("click", () => {
    done.textContent = problem.textContent = "";
    busy(start, "Collecting…", load).catch((error) => {
      if (error.code === "cancelled") return;
      problem.textContent = error.code === "rate_limited" ? `You have downloaded it several times. Please try again in ${Math.ceil((error.retryAfter ?? 60_000) / 60_000)} minutes.` : textOf(error);
    });
  });
  return h("section", { class: "card" }, h("h2", {}, "Your data"),
    h("p", {}, "A file with your profile, your settings and lists, and all messages, pictures and files that you sent. It has nothing that others wrote."),
    bar, start, done, problem);
};

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
        for (const { input } of Object.values(inputs)) if (input.localName === "input") input.value = "";
      }, { more: [done], ...options });
      made.addEventListener("input", () => (done.textContent = ""));
      return made;
    };
    const email = { email: field("New email", { name: "email", type: "email", autocomplete: "email" }), password: now() };
    const change = { password: now(), newPassword: passwordField("New password", "new-password", { hint: "At least 8 characters, and none that is used often." }) };
    change.newPassword.input.name = "newPassword";
    const messages = field("What I wrote", { name: "messages" }, { tag: "select" });
    messages.input.append(h("option", { value: "keep" }, "Stays with those I wrote to"), h("option", { value: "delete" }, "Is deleted everywhere"));
    const end = { messages, password: now() };
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
      exporting(this),
      h("section", { class: "card" }, h("h2", {}, "Delete the account"),
        h("p", {}, "Your profile, your lists and your sessions go at once and for good. Download your data before, if you want to keep any of it."),
        part(end, "Delete my account", async () => {
          const question = messages.value === "delete" ? "Delete your account for good, with all that you wrote?" : "Delete your account for good?";
          if (!(await confirmed(question, "Delete"))) return false;
          await account.deleteAccount(end.password.value, { messages: messages.value });
        })));
  }
}

customElements.define("account-screen", Account);
