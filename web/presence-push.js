// presence-push.js: pushes to this browser while no page of yours is open (RFC 8030). It gives each client `client.push`.
import { PresenceClient, internals } from "./presence.js";

const { asUser, ask, base64url, failure } = internals;
const DEVICE = "/v1/me/devices/current";
const clients = new WeakMap();

/** The page's service worker, which shows the pushes. */
const workerOf = async (registration) => {
  registration ??= await navigator.serviceWorker.getRegistration();
  if (!registration) throw failure("not_found", "register a service worker first");
  return registration;
};

export class PresencePush {
  #client;

  constructor(client) {
    this.#client = client;
  }

  /** Whether this browser has pushes. In Safari on iOS only apps on the home screen have them. */
  get supported() {
    return "PushManager" in globalThis && "Notification" in globalThis && !!globalThis.navigator?.serviceWorker;
  }

  /** Whether this browser is subscribed. */
  async enabled({ registration } = {}) {
    if (!this.supported || Notification.permission !== "granted") return false;
    const worker = registration ?? (await navigator.serviceWorker.getRegistration());
    return !!(await worker?.pushManager.getSubscription());
  }

  /** Asks the user, if they were not asked before; so it is called when they press a button. Once enabled, call it at each load. */
  async enable({ registration } = {}) {
    if (!this.supported) throw failure("unsupported", "this browser has no pushes");
    // First, while the browser knows of the press.
    const answer = await Notification.requestPermission();
    if (answer !== "granted") throw failure("forbidden", "the user does not want notifications");
    const key = (await ask("GET", this.#client.url + "/v1/server")).push?.vapidKey;
    if (!key) throw failure("unsupported", "the server pushes to no browsers");
    const { active, pushManager } = await workerOf(registration);
    if (!active) await navigator.serviceWorker.ready;
    let subscription = await pushManager.getSubscription();
    // It is for another server, or for a key that was replaced since: no push would arrive.
    if (subscription && base64url(subscription.options.applicationServerKey) !== key) {
      await subscription.unsubscribe();
      subscription = null;
    }
    subscription ??= await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key });
    await this.#tell("PUT", { platform: "web", subscription: subscription.toJSON() });
  }

  async disable({ registration } = {}) {
    try {
      await this.#tell("DELETE");
    } finally {
      // Without a network too: the push service knows no device any more.
      if (this.supported) await (await (await workerOf(registration)).pushManager.getSubscription())?.unsubscribe();
    }
  }

  #tell(method, body) {
    const client = this.#client;
    return asUser(client, (token) => ask(method, client.url + DEVICE, body, token));
  }
}

Object.defineProperty(PresenceClient.prototype, "push", {
  get() {
    if (!clients.has(this)) clients.set(this, new PresencePush(this));
    return clients.get(this);
  },
});
