// Sign up, sign in, and the pages that links in mails lead to.
import { Screen, busy, button, field, form, h, split } from "./parts.js";
import { icon, logo } from "./icons.js";

const EMAIL = /^[^\s@]+@[^\s@]+$/;
const emailField = (more) => field("Email", { name: "email", type: "email", autocomplete: "email", required: true, ...more });
const checkEmail = (input, fail) => {
  if (EMAIL.test(input.value.trim())) return true;
  fail("email", "Please enter a valid email address.");
  return false;
};
const link = (text, to) => h("a", { href: `/app#${to}` }, text);

export const LONGEST_NAME = 50;

export const problemOfName = (name) => {
  if (!name.trim()) return "Display name cannot be empty";
  if (split(name.trim()).length > LONGEST_NAME) return "Display name must be 50 characters or less";
  return undefined;
};

/** The field of a display name: counted, and cut while it is typed. */
export const nameField = (value = "") => {
  const made = field("Display name", { name: "displayName", dir: "auto", autocomplete: "name", autocapitalize: "words", required: true });
  const count = h("p", { class: "count" });
  const show = () => {
    const parts = split(made.input.value);
    if (parts.length > LONGEST_NAME) made.input.value = parts.slice(0, LONGEST_NAME).join("");
    const length = Math.min(parts.length, LONGEST_NAME);
    count.textContent = `${length}/${LONGEST_NAME}`;
    count.classList.toggle("near", length > 45);
  };
  made.input.addEventListener("input", show);
  made.node.append(count);
  made.input.value = value;
  show();
  return Object.assign(made, {
    set(text) {
      made.input.value = text;
      show();
    },
  });
};

export const passwordField = (label, autocomplete, options) => {
  const made = field(label, { name: "password", type: "password", autocomplete, required: true }, options);
  const show = h("button", { type: "button", class: "icon-button reveal", "aria-label": "Show password", title: "Show password", "aria-pressed": "false" }, icon("eye"));
  show.addEventListener("click", () => {
    const isHidden = made.input.type === "password";
    made.input.type = isHidden ? "text" : "password";
    show.setAttribute("aria-pressed", String(isHidden));
  });
  made.node.insertBefore(h("div", { class: "password" }, made.input, show), made.node.children[1]);
  return made;
};

const CHOICE = { hint: "At least 8 characters, and none that is used often." };

/** The pages before the sign-in: the form, and beside it a preview. */
const card = (title, ...content) => [h("div", { class: "outside" },
  h("div", { class: "hero", "aria-hidden": "true" }, h("p", { class: "brand" }, h("img", { src: "/app/icon.svg", alt: "" }), "Presence"),
    h("p", { class: "claim" }, "Talk to people, and see who is here."),
    h("div", { class: "scene" }, h("span", {}, "Are you there?"), h("span", {}, "Just came online 👋"), h("span", {}, "On my way"))),
  h("section", { class: "card narrow" }, h("h1", { class: "title", tabindex: "-1" }, title), ...content))];

const GRANT_PROBLEMS = {
  access_denied: "You have cancelled the sign-in.",
  email_taken: "Your email address already has an account, which has not confirmed it. We have sent you a code: open the link of that email.",
  network: "Network error. Please check your connection.",
  provider_unavailable: "The provider cannot be reached now. Please try again later.",
  banned: "This account is banned.",
};

class SignIn extends Screen {
  render() {
    const providers = h("div", { class: "providers" });
    this.#showProviders(providers);
    const email = field("Email or username", { name: "email", autocomplete: "username", required: true, autocapitalize: "none" });
    const password = passwordField("Password", "current-password");
    const send = async (fail) => {
      if (!email.value.trim()) return fail("email", "Please enter your email or username.");
      if (!password.value) return fail("password", "Please enter your password.");
      await this.app.account.signIn(email.value.trim(), password.value);
    };
    const invited = this.app.isInvited && "Sign in to talk to the person who has sent you this link.";
    const notice = h("p", { class: "good", role: "status" }, this.app.takeNotice() || invited || "");
    return card(
      "Sign in", notice, form({ email, password }, "Sign in", send, { busyText: "Signing in…" }), providers,
      h("p", {}, link("Forgot your password?", "/forgot")), h("p", {}, "No account yet? ", link("Sign up", "/sign-up")),
    );
  }

  async #showProviders(row) {
    // Without a network there is nothing to sign in to.
    const server = await fetch("/v1/server").then((response) => response.json()).catch(() => null);
    for (const { name, kind, button: text, browser } of server?.signIn?.providers ?? []) {
      const signIn = () => this.app.account.signInWith(name, { to: "/app" });
      if (browser) row.append(h("button", { type: "button", class: `provider ${kind}`, onclick: signIn }, logo(kind), text));
    }
  }
}

/** Ends a sign-in at a provider's page. */
class Granted extends Screen {
  render() {
    const said = h("p", { role: "status" }, "Signing in…");
    this.#finish(this.app.takeGrant() ?? {}, said);
    return card("Sign in", said, h("p", {}, link("Sign in another way", "/sign-in")));
  }

  async #finish({ code, error }, said) {
    let problem = error;
    try {
      if (code) return await this.app.account.finishSignIn(code);
    } catch (failure) {
      problem = failure.reason ?? failure.code;
    }
    said.className = "bad";
    said.textContent = GRANT_PROBLEMS[problem] ?? "The sign-in did not work. Please try again.";
  }
}

class SignUp extends Screen {
  render() {
    const displayName = nameField();
    displayName.hint.textContent = "What others see. You can change it later.";
    const email = emailField();
    const password = passwordField("Password", "new-password", CHOICE);
    const send = async (fail) => {
      const problem = problemOfName(displayName.value);
      if (problem) return fail("displayName", problem);
      if (!checkEmail(email, fail)) return;
      if (!password.value) return fail("password", "Please choose a password.");
      const who = { email: email.value.trim(), password: password.value, displayName: displayName.value.trim() };
      // Where the server hides whether an address has an account, the next step is in a mail.
      if (await this.app.account.signUp(who)) return;
      this.app.tell("Please follow the link in the email that we have sent you, then sign in.");
      location.hash = "/sign-in";
    };
    return card(
      "Sign up", form({ displayName, email, password }, "Sign up", send, { busyText: "Signing up…" }),
      h("p", {}, "You have an account? ", link("Sign in", "/sign-in")),
    );
  }
}

class Forgot extends Screen {
  render() {
    const email = emailField();
    const done = h("p", { class: "good", role: "status" });
    email.input.addEventListener("input", () => (done.textContent = ""));
    const send = async (fail) => {
      if (!checkEmail(email, fail)) return;
      await this.app.account.forgotPassword(email.value.trim());
      done.textContent = "Password reset email sent!";
    };
    return card(
      "Reset your password", h("p", {}, "We send you a link with which you choose a new password."),
      form({ email }, "Send the link", send, { busyText: "Sending…", otherwise: "Failed to send reset email." }), done,
      h("p", {}, link("Back to sign in", "/sign-in")),
    );
  }
}

class Reset extends Screen {
  render() {
    const password = passwordField("New password", "new-password", CHOICE);
    const send = async (fail) => {
      if (!password.value) return fail("password", "Please choose a password.");
      await this.app.account.resetPassword(this.app.mailToken, password.value);
      this.app.tell("Your password is changed. Please sign in with it.");
      this.app.leaveMail("/sign-in");
    };
    return card(
      "Choose a new password", form({ password }, "Save the password", send, { busyText: "Saving…" }),
      h("p", {}, link("Ask for another link", "/forgot")),
    );
  }
}

class Verify extends Screen {
  render() {
    const said = h("p", { role: "status" });
    // Not when the page is shown: programs that look into mails open links too, and run scripts.
    const confirm = button("Confirm my email address", { class: "main" });
    confirm.addEventListener("click", () => busy(confirm, "Confirming…", async () => {
      said.className = said.textContent = "";
      try {
        await this.app.account.verifyEmail(this.app.mailToken);
        said.textContent = "Your email address is confirmed. Thank you!";
      } catch (error) {
        if (error.code === "network" || error.status >= 500) {
          said.className = "bad";
          said.textContent = "Network error. Please check your connection.";
          return;
        }
        const known = await this.app.account.me().catch(() => undefined);
        said.textContent = known?.account.emailVerified ? "Your email address is confirmed already."
          : "This link was used before, or is no longer valid. If you have confirmed your address with it, all is well. If not, resetting your password confirms it as well.";
      }
      confirm.hidden = true;
    }));
    return card("Confirm your email", h("p", {}, confirm), said, h("p", {}, link("Continue", "/people")));
  }
}

class SignInByLink extends Screen {
  render() {
    const problem = h("p", { class: "bad", role: "status" });
    // Not when the page is shown: programs that look into mails open links too, and the link works once.
    const enter = button("Sign in", { class: "main" });
    enter.addEventListener("click", () => busy(enter, "Signing in…", async () => {
      problem.textContent = "";
      try {
        await this.app.account.signInByMail(this.app.mailAddress, this.app.mailToken);
        this.app.leaveMail("/chats");
      } catch (error) {
        problem.textContent = error.code === "network" || error.status >= 500 ? "Network error. Please check your connection."
          : "This link was used before, or is no longer valid.";
      }
    }));
    return card("Sign in", h("p", {}, `As ${this.app.mailAddress}`), h("p", {}, enter), problem, h("p", {}, link("Sign in with a password", "/sign-in")));
  }
}

customElements.define("link-screen", SignInByLink);
customElements.define("sign-in-screen", SignIn);
customElements.define("granted-screen", Granted);
customElements.define("sign-up-screen", SignUp);
customElements.define("forgot-screen", Forgot);
customElements.define("reset-screen", Reset);
customElements.define("verify-screen", Verify);
