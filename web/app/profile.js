// The first form after sign-up, and the profile.
import { Screen, button, busy, field, form, h, textOf } from "./parts.js";
import { bar } from "./chats.js";
import { smaller } from "./files.js";
import { pictureOf } from "./known.js";
import { nameField, problemOfName } from "./signing.js";

/** Pixels of a side: a face is shown small. */
const LONGEST = 1_024;
const MOST_BYTES = 5 * 1024 * 1024;
const USERNAME = /^(?!\.)(?!.*\.\.)[A-Za-z0-9._]{3,30}(?<!\.)$/;

/** The picture: chosen, uploaded with its progress, cancelled, removed. */
const photoPart = (app, changed) => {
  const avatar = h("presence-avatar", { class: "large" });
  const problem = h("p", { class: "bad", role: "alert" });
  const said = h("p", { class: "hint", role: "status" });
  const bar = h("progress", { max: "1", value: "0", hidden: true, "aria-label": "Upload" });
  const file = h("input", { type: "file", accept: "image/jpeg,image/png", hidden: true, tabindex: "-1" });
  const choose = button("Change photo", { "aria-label": "Profile picture: choose a photo" });
  const remove = button("Remove photo", { class: "plain", hidden: true });
  const cancel = button("Cancel", { class: "plain", hidden: true });
  const retry = button("Try again", { class: "plain", hidden: true });
  let ending = null;
  let last = null;
  let known = { name: "?" };
  let chosen;
  /** The chosen picture is shown at once, until it is the user's picture or is none after all. */
  const draw = (picture) => {
    if (chosen) URL.revokeObjectURL(chosen);
    chosen = picture && URL.createObjectURL(picture);
    avatar.show(known.name, chosen ?? known.url, undefined, app.client.user);
  };
  const set = (isUploading) => {
    for (const each of [choose, remove]) each.disabled = isUploading;
    bar.hidden = cancel.hidden = !isUploading;
    changed(isUploading);
  };
  const upload = async (chosenFile) => {
    last = chosenFile;
    problem.textContent = said.textContent = "";
    retry.hidden = true;
    const picture = await smaller(chosenFile, LONGEST);
    if (!["image/jpeg", "image/png"].includes(picture.type)) {
      return (problem.textContent = "This file cannot be used. Please choose a JPEG or PNG picture.");
    }
    if (picture.size > MOST_BYTES) return (problem.textContent = "Image is too large. Maximum size is 5MB.");
    ending = new AbortController();
    set(true);
    draw(picture);
    try {
      const { profile } = await app.account.setPhoto(picture, {
        signal: ending.signal,
        progress: (share) => {
          bar.value = share;
          said.textContent = `Uploading... ${Math.round(share * 100)}%`;
        },
      });
      known.url = pictureOf({ profile }, "photoURL");
      said.textContent = "Photo saved";
    } catch (error) {
      said.textContent = "";
      if (error.code === "cancelled") said.textContent = "Upload cancelled";
      else if (error.status === 404) problem.textContent = "This server takes no photos.";
      else {
        problem.textContent = textOf(error, "Failed to upload image");
        // The same picture would be refused again.
        retry.hidden = error.status >= 400 && error.status < 500 && error.status !== 429;
      }
    } finally {
      draw();
      set(false);
    }
  };
  choose.addEventListener("click", () => file.click());
  file.addEventListener("change", () => {
    if (file.files[0]) upload(file.files[0]);
    file.value = "";
  });
  cancel.addEventListener("click", () => ending.abort());
  retry.addEventListener("click", () => upload(last));
  remove.addEventListener("click", async () => {
    problem.textContent = "";
    try {
      await busy(remove, undefined, () => app.account.removePhoto());
    } catch (error) {
      problem.textContent = error.status === 404 ? "This server takes no photos." : textOf(error);
    }
  });
  const node = h(
    "div", { class: "photo", role: "group", "aria-label": "Profile picture" }, avatar, file,
    h("div", {}, h("div", { class: "row" }, choose, remove, cancel, retry), bar, said, problem),
  );
  return {
    node,
    show(name, profile) {
      known = { name: name || "?", url: pictureOf({ profile }, "photoURL") };
      if (!chosen) avatar.show(known.name, known.url, undefined, app.client.user);
      remove.hidden = !profile?.photoURL;
    },
    cancel: () => ending?.abort(),
  };
};

class Setup extends Screen {
  render() {
    const name = nameField();
    const photo = photoPart(this.app, (isUploading) => (save.disabled = isUploading));
    const skip = button("Skip for now", { class: "plain", "aria-label": "Skip profile setup" });
    const problem = h("p", { class: "bad", role: "alert" });
    let typed = false;
    name.input.addEventListener("input", () => (typed = true));
    const done = async (changes) => {
      skip.disabled = true;
      try {
        await this.app.account.update({ ...changes, setupCompleted: true });
      } finally {
        skip.disabled = false;
      }
    };
    const send = async (fail) => {
      const wrong = problemOfName(name.value);
      if (wrong) return fail("displayName", wrong);
      await done({ displayName: name.value.trim() });
    };
    skip.addEventListener("click", async () => {
      problem.textContent = "";
      photo.cancel();
      try {
        await busy(skip, undefined, () => done({}));
      } catch (error) {
        problem.textContent = textOf(error, "Failed to save profile. Please try again.");
      }
    });
    const options = { busyText: "Saving…", otherwise: "Failed to save profile. Please try again.", more: [skip, problem] };
    const made = form({ displayName: name }, "Continue", send, options);
    const save = made.querySelector("[type=submit]");
    this.each(this.app.own({ signal: this.signal }), ({ profile }) => {
      if (!typed) name.set(profile?.displayName ?? "");
      photo.show(name.value, profile);
    });
    return [
      h("div", { class: "outside" }, h("section", { class: "card narrow" }, this.heading("Set up your profile"),
        h("p", {}, "How others see you. You can change it at any time."), photo.node, made,
        button("Sign out", { class: "plain", onclick: () => this.app.signOut() }))),
    ];
  }
}

class ProfileScreen extends Screen {
  #saved = { displayName: "", username: "" };
  #changed = () => false;

  /** Whether something was typed that is not saved. */
  get hasChanges() {
    return this.#changed();
  }

  render() {
    const displayName = nameField();
    const username = field("Username", { name: "username", autocomplete: "off", autocapitalize: "none", spellcheck: "false", maxlength: "30" },
      { hint: "Optional. 3-30 characters: letters, numbers, periods, and underscores." });
    const availability = h("p", { class: "hint", role: "status" });
    username.node.append(availability);
    const done = h("p", { class: "good", role: "status" });
    const inputs = { displayName, username };
    let uploading = false;
    let isKnown = false;
    this.#changed = () => Object.keys(inputs).some((name) => inputs[name].value.trim() !== this.#saved[name]);

    const send = async (fail) => {
      const wrong = problemOfName(displayName.value);
      if (wrong) return fail("displayName", wrong);
      const wanted = username.value.trim();
      if (wanted && !USERNAME.test(wanted)) return fail("username", textOf({ reason: "invalid_username" }));
      // The username first: it is what may be refused.
      if (wanted !== this.#saved.username) {
        await (wanted ? this.app.account.setUsername(wanted) : this.app.account.removeUsername());
        this.#saved.username = wanted;
      }
      const name = displayName.value.trim();
      if (name !== this.#saved.displayName) await this.app.account.update({ displayName: name });
      this.#saved.displayName = name;
      displayName.set(name);
      availability.textContent = "";
      done.textContent = "Profile Updated";
    };
    const made = form(inputs, "Save", send, {
      busyText: "Saving…", otherwise: "Failed to save profile. Please try again.", more: [done], after: () => update(),
    });
    const save = made.querySelector("[type=submit]");
    const update = () => (save.disabled = uploading || !isKnown || !this.hasChanges);
    const photo = photoPart(this.app, (isUploading) => {
      uploading = isUploading;
      update();
    });
    made.addEventListener("input", () => {
      done.textContent = "";
      update();
    });
    this.#followUsername(username, availability);
    // Without a connection it may take a while: empty fields would look as if nothing were there.
    for (const { input } of Object.values(inputs)) input.placeholder = "Loading…";
    update();

    this.each(this.app.own({ signal: this.signal }), ({ profile, account }) => {
      const now = { displayName: profile?.displayName ?? "", username: account?.username ?? "" };
      for (const { input } of Object.values(inputs)) input.placeholder = "";
      isKnown = true;
      for (const [name, value] of Object.entries(now)) {
        // Unsaved fields stay; the rest follows.
        if (inputs[name].value.trim() !== this.#saved[name]) continue;
        if (inputs[name].set) inputs[name].set(value);
        else inputs[name].input.value = value;
      }
      this.#saved = now;
      photo.show(now.displayName, profile);
      update();
    });
    addEventListener("beforeunload", (event) => this.hasChanges && event.preventDefault(), { signal: this.signal });
    return [bar(this, "Profile", "/settings"), h("div", { class: "page" }, h("section", { class: "card" }, photo.node, made))];
  }

  /** Half a second after the last key, once. */
  #followUsername(username, availability) {
    let timer;
    let asked = 0;
    username.input.addEventListener("input", () => {
      clearTimeout(timer);
      const number = ++asked;
      const wanted = username.value.trim();
      availability.className = "hint";
      availability.textContent = "";
      if (!wanted || wanted === this.#saved.username) return;
      timer = setTimeout(async () => {
        if (!USERNAME.test(wanted)) {
          availability.className = "bad";
          availability.textContent = textOf({ reason: "invalid_username" });
          return;
        }
        availability.textContent = "Checking availability…";
        let text = "Available";
        let isGood = true;
        try {
          const answer = await this.app.account.checkUsername(wanted);
          if (!answer.available && answer.reason !== "yours") {
            isGood = false;
            text = textOf({ reason: { taken: "username_taken", reserved: "reserved_username" }[answer.reason] ?? "invalid_username" });
          }
        } catch (error) {
          isGood = false;
          text = error.status === 404 ? "This server has no usernames." : "Failed to check availability.";
        }
        // An answer for a name that was typed over is dropped.
        if (number !== asked || this.signal.aborted) return;
        availability.className = isGood ? "good" : "bad";
        availability.textContent = text;
      }, 500);
    });
  }
}

customElements.define("setup-screen", Setup);
customElements.define("profile-screen", ProfileScreen);
