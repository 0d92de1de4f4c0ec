// The app's service worker: the app opens without a network, with all files of one version, and with those of the server when
// there is one. The tag of the page is that of the version (Features/App): one question for each load. It also shows pushes.
const PAGE = "/app";
const FILES = [
  ...["presence", "presence-messages", "presence-log", "presence-history", "presence-outbox", "presence-push", "presence-people", "presence-settings"].map((name) => `/${name}.js`),
  ...["account", "app", "chats", "composer", "details", "dialogs", "files", "finding", "icons", "inside", "known", "log", "menu", "message",
    "notifications", "page", "parts", "people", "person", "profile", "qr", "requests", "settings", "signing", "stranger", "talk"].map((name) => `/app/${name}.js`),
  "/app/app.css", "/app/inside.css", "/app/icon.svg",
];
const OURS = "presence app ";
/** In ms: a network that does not answer is none. */
const PATIENCE = 3_000;
/** The version that is served; a worker that begins anew looks for it. */
let serving;

const read = async (path, signal) => {
  // Asked for each time, and mostly answered 304.
  const answer = await fetch(path, { cache: "no-cache", signal });
  if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
  return answer;
};

/** The version that is whole: its page comes last. */
const whole = async (name) => (await caches.has(name)) && (await caches.open(name)).match(PAGE);

/** Keeps a version, and forgets those before it. */
const keep = async (name, page) => {
  const answers = await Promise.all(FILES.map((path) => read(path)));
  const cache = await caches.open(name);
  await Promise.all(answers.map((answer, place) => cache.put(FILES[place], answer)));
  await cache.put(PAGE, page);
  serving = name;
  for (const other of await caches.keys()) if (other.startsWith(OURS) && other !== name) await caches.delete(other);
};

/** The page of the server's version, with all its files behind it. */
const newest = async () => {
  const page = await read(PAGE, AbortSignal.timeout(PATIENCE));
  const name = OURS + page.headers.get("ETag");
  if (!(await whole(name))) await keep(name, page.clone());
  return page;
};

const find = async () => {
  for (const name of (await caches.keys()).filter((each) => each.startsWith(OURS)).reverse()) if (await whole(name)) return name;
  return undefined;
};

const held = async (path) => {
  serving ??= await find();
  return serving && (await caches.open(serving)).match(path);
};

addEventListener("install", (event) => {
  skipWaiting();
  event.waitUntil(newest());
});

addEventListener("fetch", (event) => {
  const { pathname, origin } = new URL(event.request.url);
  if (event.request.method !== "GET" || origin !== location.origin) return;
  if (event.request.mode === "navigate" && pathname === PAGE) {
    event.respondWith(newest().catch(async (error) => (await held(PAGE)) ?? Promise.reject(error)));
  } else if (FILES.includes(pathname)) {
    event.respondWith(held(pathname).then((file) => file ?? fetch(event.request)));
  }
});

// ---- Pushes: one notification for each conversation, the newest ----

const counted = (number, one, many) => number > 0 && (number === 1 ? `1 ${one}` : `${number} ${many}`);
/** The contents of quiet hours, in a line. */
const summed = ({ conversations, notifications }) =>
  [counted(conversations, "conversation", "conversations"), counted(notifications, "notification", "notifications")].filter(Boolean).join(" and ");

addEventListener("push", (event) => {
  const { conversation, notification, summary, title, text, badge } = event.data?.json() ?? {};
  // A message and a notification of a backend replace none of the other kind.
  const tag = conversation ?? (notification ? `notification ${notification.tag}` : summary && "summary");
  const named = notification ? "New notification" : summary ? "While you were not disturbed" : "New message";
  const shown = registration.showNotification(title || named, {
    body: text || (summary && summed(summary)) || undefined, tag, renotify: !!tag, icon: "/app/icon.png", data: { conversation }, timestamp: Date.now(),
  });
  event.waitUntil(Promise.all([shown, navigator.setAppBadge?.(badge).catch(() => {})]));
});

const open = async (conversation) => {
  const place = conversation ? `/app#/talk/${encodeURIComponent(conversation)}` : PAGE;
  for (const page of await clients.matchAll({ type: "window", includeUncontrolled: true })) {
    if (new URL(page.url).pathname !== PAGE) continue;
    // The page follows, unless the user has unsaved changes there. Not every browser lets a worker bring it to the front.
    page.postMessage({ open: place });
    return page.focus().catch(() => {});
  }
  return clients.openWindow(place);
};

addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(open(event.notification.data?.conversation));
});
