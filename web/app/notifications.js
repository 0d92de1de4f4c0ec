// Notifications: whether this browser shows them, and what the user is notified of, and when, on all devices.
import { Screen, busy, button, field, form, h, textOf } from "./parts.js";
import { again } from "./known.js";
import { toast } from "./menu.js";
import { choice, page } from "./page.js";

/** Whether this browser shows messages while the app is closed. The browser asks the user after the press alone. */
export const notifying = (screen) => {
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

/** Monday is 1, and the fifth of January 2026. */
const DAYS = [1, 2, 3, 4, 5, 6, 7];
const dayName = (day, weekday) => new Intl.DateTimeFormat("en", { weekday, timeZone: "UTC" }).format(Date.UTC(2026, 0, 4 + day));
const ownZone = () => Intl.DateTimeFormat().resolvedOptions().timeZone;
const NIGHT = { from: "22:00", to: "07:00", days: DAYS, allow: [] };

const box = (text, attributes = {}) => {
  const input = h("input", { type: "checkbox", ...attributes });
  return { input, node: h("label", { class: "check" }, input, h("span", {}, text)) };
};

/** The kinds of notifications: a row for each, with two choices. */
const kindsOf = (kinds, save) => {
  const rows = kinds.map(({ kind, name }) => {
    const boxes = { inbox: box("In the app", { name: `inbox ${kind}` }), push: box("As a push", { name: `push ${kind}` }) };
    const node = h("fieldset", { class: "kind" }, h("legend", {}, name), boxes.inbox.node, boxes.push.node);
    // A kind without a place in the list is not pushed either.
    const fit = () => (boxes.push.input.disabled = !boxes.inbox.input.checked);
    const change = () => {
      fit();
      save({ [kind]: { inbox: boxes.inbox.input.checked, push: boxes.push.input.checked } });
    };
    for (const { input } of Object.values(boxes)) input.addEventListener("change", change);
    return { node, show: (all) => {
      for (const [place, { input }] of Object.entries(boxes)) input.checked = all[kind]?.[place] ?? true;
      fit();
    } };
  });
  const node = h("section", { class: "card", hidden: !rows.length }, h("h2", {}, "Kinds of notifications"), ...rows.map((row) => row.node));
  return { node, show: (all) => rows.forEach((row) => row.show(all)) };
};

/** The quiet hours: a form, because a half of them means nothing. */
const quietOf = (save) => {
  const isOn = box("Quiet hours", { name: "quiet" });
  const from = field("From", { name: "quietFrom", type: "time", required: true });
  const to = field("To", { name: "quietTo", type: "time", required: true });
  const days = DAYS.map((day) => ({ day, ...box(dayName(day, "short"), { name: `day ${day}`, "aria-label": dayName(day, "long") }) }));
  const zones = h("datalist", { id: "zones" }, ...(Intl.supportedValuesOf?.("timeZone") ?? []).map((zone) => h("option", { value: zone })));
  const timezone = field("Time zone", { name: "quietZone", list: "zones", autocomplete: "off", autocapitalize: "none", spellcheck: "false", maxlength: "64" });
  const here = button("", { class: "plain small", hidden: true, onclick: () => {
    timezone.input.value = ownZone();
    fit();
  } });
  const urgent = box("Urgent notifications come through", { name: "urgent" });
  const done = h("p", { class: "good", role: "status" });
  let isDirty = false;
  const parts = h("div", { class: "form" });
  const fit = () => {
    parts.hidden = !isOn.input.checked;
    here.textContent = `Use ${ownZone()}, the time zone of this device`;
    here.hidden = timezone.value === ownZone();
  };
  const put = (quiet) => {
    isOn.input.checked = !!quiet;
    const shown = quiet ?? { ...NIGHT, timezone: ownZone() };
    [from.input.value, to.input.value, timezone.input.value] = [shown.from, shown.to, shown.timezone];
    for (const { day, input } of days) input.checked = shown.days.includes(day);
    urgent.input.checked = shown.allow.includes("urgent");
    fit();
  };
  const read = (fail) => {
    if (!isOn.input.checked) return null;
    const chosen = days.filter(({ input }) => input.checked).map(({ day }) => day);
    for (const [name, { value }] of Object.entries({ "quiet.from": from, "quiet.to": to, "quiet.timezone": timezone })) {
      if (!value.trim()) return fail(name, "Please fill in this field.");
    }
    if (!chosen.length) return fail("quiet.to", "Please choose at least one night.");
    return { timezone: timezone.value.trim(), from: from.value, to: to.value, days: chosen, allow: urgent.input.checked ? ["urgent"] : [] };
  };
  const made = form({ "quiet.from": from, "quiet.to": to, "quiet.timezone": timezone }, "Save", async (fail) => {
    const quiet = read(fail);
    if (quiet === undefined) return;
    try {
      await save(quiet);
    } catch (error) {
      if (error.field === "quiet.timezone") return fail(error.field, "This server does not know this time zone.");
      throw error;
    }
    isDirty = false;
    done.textContent = "Saved";
  }, { more: [done] });
  // The form has put its fields above its button.
  parts.append(h("div", { class: "field-row" }, from.node, to.node),
    h("fieldset", { class: "days" }, h("legend", {}, "Nights that begin on"), ...days.map(({ node }) => node)), timezone.node, zones, here, urgent.node);
  made.prepend(isOn.node, parts);
  made.addEventListener("input", () => {
    isDirty = true;
    done.textContent = "";
    fit();
  });
  const node = h("section", { class: "card" }, h("h2", {}, "Quiet hours"),
    h("p", { class: "quiet" }, "Nothing is pushed to your devices then. What comes meanwhile is one notification at the end. In the app, everything is there at once."), made);
  return { node, show: (quiet) => isDirty || put(quiet), get hasChanges() { return isDirty; } };
};

class Notifications extends Screen {
  #quiet;

  render() {
    const { client, settings } = this.app;
    const change = (changes) => settings.changeNotifications(changes);
    let now;
    const which = (label, name) => choice(label, name, [["all", "All messages"], ["none", "None"]], "", (value) => change({ messages: { ...now?.messages, [name]: value } }));
    const direct = which("Conversations with one person", "direct");
    const groups = which("Groups", "groups");
    const preview = choice("What pushes show", "preview", [["true", "Names and texts"], ["false", "Only that there is something new"]], "", (value) => change({ preview: value === "true" }));
    const busyChoice = choice("While my status is busy", "whileBusy", [["push", "Push at once"], ["hold", "Wait until I am not busy"]], "", (value) => change({ whileBusy: value }));
    const problem = h("p", { class: "bad", role: "alert" });
    const none = h("p", { class: "quiet", hidden: true }, "This server has no further settings for notifications.");
    const all = h("div", { hidden: true });
    const offer = async () => {
      const offered = await settings.offered();
      if (this.signal.aborted) return;
      if (!offered) return void (none.hidden = false);
      const kinds = kindsOf(offered.kinds, (kind) => change({ kinds: { ...now?.kinds, ...kind } }).then(() => toast("Saved."), (error) => {
        toast(textOf(error));
        if (now) kinds.show(now.kinds);
      }));
      this.#quiet = offered.quietHours ? quietOf((quiet) => change({ quiet })) : undefined;
      all.append(kinds.node, this.#quiet?.node ?? "");
      again(client, () => settings.notifications({ signal: this.signal }), (stored) => {
        now = stored;
        problem.textContent = "";
        all.hidden = false;
        const shown = [[direct, stored.messages.direct], [groups, stored.messages.groups], [preview, String(stored.preview)], [busyChoice, stored.whileBusy]];
        for (const [{ input }, value] of shown) if (document.activeElement !== input) input.value = value;
        kinds.show(stored.kinds);
        this.#quiet?.show(stored.quiet);
      }, (error) => (problem.textContent = textOf(error)), this.signal);
    };
    all.append(h("section", { class: "card" }, h("h2", {}, "Messages"), h("div", { class: "form" }, ...[direct, groups, preview, busyChoice].map(({ node }) => node))));
    offer().catch((error) => (problem.textContent = textOf(error)));
    return page(this, "Notifications", notifying(this), problem, none, all);
  }

  get hasChanges() {
    return !!this.#quiet?.hasChanges;
  }
}

customElements.define("notifications-screen", Notifications);
