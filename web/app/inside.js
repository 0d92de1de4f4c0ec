// The parts for a signed-in user: the screens, the places they are at, and what is known without a network.
import { PresenceMessages } from "/presence-messages.js";
import { PresencePeople } from "/presence-people.js";
import "/presence-push.js";
import { PresenceSettings } from "/presence-settings.js";
import { confirmed, findUser, h, nameOf, textOf } from "./parts.js";
import { icon } from "./icons.js";
import { Memory, again, badge } from "./known.js";
import { toast } from "./menu.js";
import { talkTo } from "./person.js";
import "./chats.js";
import "./people.js";
import "./settings.js";
import "./profile.js";
import "./talk.js";

const PLACES = [["Chats", "/chats", "chats-list", "chat"], ["People", "/people", "people-list", "group"], ["Settings", "/settings", "settings-list", "settings"]];
/** In ms: storage that does not answer is not waited for. */
const LATE = 500;

/** From now on the app opens without a network. A visitor of the sign-in page loads none of it. */
export const keepFiles = () => {
  const at = "/app/worker.js";
  const policy = globalThis.trustedTypes?.createPolicy("worker", { createScriptURL: (url) => url });
  navigator.serviceWorker?.register(policy?.createScriptURL(at) ?? at, { scope: "/app" }).catch(() => {});
};

let newest = [];
/** A notification of a conversation that was read, here or elsewhere, is taken away. The list may change meanwhile. */
const clear = async (chats) => {
  newest = chats;
  if (globalThis.Notification?.permission !== "granted") return;
  const worker = await navigator.serviceWorker?.getRegistration("/app");
  for (const notification of (await worker?.getNotifications()) ?? []) {
    if (!newest.some(({ id, unread }) => unread && id === notification.tag)) notification.close();
  }
};

/** A press on a notification opens a conversation. A link that is followed asks about unsaved changes. */
navigator.serviceWorker?.addEventListener("message", ({ data }) => {
  if (data?.open?.startsWith("/app")) location.href = data.open;
});

/** Begins with a user: what was known of before comes first. */
export const begin = async (app, client) => {
  const memory = new Memory(client.user);
  await Promise.race([memory.load(), new Promise((resolve) => setTimeout(resolve, LATE))]);
  const messages = new PresenceMessages(client, { user: client.user });
  const people = new PresencePeople(client);
  Object.assign(app, { client, memory, messages, people, settings: new PresenceSettings(client) });
  keepFiles();
  // The subscription may have changed, and belongs to this session from now on.
  client.push.enabled().then((isOn) => isOn && client.push.enable()).catch(() => {});
  again(client, () => people.requests(), (requests) => people === app.people && app.countRequests(requests.length));
  // The list of the conversations shows errors.
  again(client, () => messages.conversations(), (chats) => {
    if (messages !== app.messages) return;
    const unread = chats.filter(({ muted, archived, request }) => !muted && !archived && !request).reduce((sum, { unread }) => sum + unread, 0);
    app.countUnread(unread);
    // As last known: it may be older than the notification.
    if (!chats.length || !chats.every(({ live }) => live)) return;
    clear(chats).catch(() => {});
    navigator.setAppBadge?.(unread).catch(() => {});
  });
};

/** The places that are always in reach. */
export const railOf = () => {
  const counts = { "chats-list": badge("unread"), "people-list": badge("asking") };
  const links = PLACES.map(([text, to, list, drawing]) => {
    const link = h("a", { href: `/app#${to}` }, icon(drawing), h("span", {}, text), counts[list]);
    return Object.assign(link, { list });
  });
  return {
    node: h("nav", { class: "rail", "aria-label": "Main" }, ...links),
    unread: counts["chats-list"],
    requests: counts["people-list"],
    show: (list) => {
      for (const link of links) {
        if (link.list === list) link.setAttribute("aria-current", "true");
        else link.removeAttribute("aria-current");
      }
    },
  };
};

/** A user who opened a person's link, with an id or a username, is asked, since any page can lead to it. */
export const meet = async (app, invited) => {
  const own = "This is your own link: others open it to talk to you.";
  const { client } = app;
  try {
    if (invited === client.user) return toast(own);
    const found = await findUser(app, invited);
    if (!found) return toast("Nobody has this link any more.");
    const { user } = found;
    if (user === client.user) return toast(own);
    if (!(await confirmed(`Start a conversation with ${nameOf(found)}?`, "Start"))) return;
    await client.request("addContacts", { users: [user] });
    await talkTo(app, user);
  } catch (error) {
    toast(error.code === "forbidden" ? "You cannot talk to this person." : textOf(error));
  }
};
