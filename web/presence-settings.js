// presence-settings.js: what a user is notified of, and when, on all devices.
import { internals } from "./presence.js";

const { Changes, asUser, ask, isUp } = internals;
const PATH = "/v1/me/notificationSettings";

export class PresenceSettings {
  #client;
  #changes = new Changes();
  #now;
  #last = Promise.resolve();

  constructor(client) {
    this.#client = client;
    client.addEventListener("heard", ({ detail }) => detail.type === "ownNotificationSettings" && this.#take(detail.settings));
  }

  /** The kinds of notifications that there are, and whether there are quiet hours; `null` on a server without settings. */
  async offered() {
    return (await ask("GET", this.#client.url + "/v1/server")).notificationSettings ?? null;
  }

  /** The settings as they are now, and after each change on any device. */
  async *notifications({ signal } = {}) {
    const ending = new AbortController();
    const end = () => ending.abort();
    signal?.addEventListener("abort", end);
    if (signal?.aborted) end();
    let failure;
    // The server does not repeat events that were missed without a connection.
    const follow = async () => {
      let read;
      for await (const connection of this.#client.connections({ signal: ending.signal })) {
        const { state, since } = connection;
        if (!isUp(connection) || `${state} ${since}` === read) continue;
        read = `${state} ${since}`;
        try {
          this.#take(await this.#ask("GET"));
        } catch (error) {
          // With the next connection, unless the server has no settings.
          if (error.status !== 404) continue;
          failure = error;
          this.#changes.tell();
        }
      }
    };
    const following = follow();
    try {
      yield* this.#changes.values(() => {
        if (failure) throw failure;
        return this.#now;
      }, { signal: ending.signal });
    } finally {
      end();
      signal?.removeEventListener("abort", end);
      await following;
    }
  }

  /** Replaces all settings; a missing one gets its default. */
  async replaceNotifications(settings) {
    const answer = await this.#ask("PUT", settings);
    this.#take(answer);
    return answer;
  }

  /** Changes some settings, one change after the other, so that none takes back another of this page. */
  changeNotifications(changes) {
    const change = async () => this.replaceNotifications({ ...(this.#now ?? (await this.#ask("GET"))), ...changes });
    return (this.#last = this.#last.catch(() => {}).then(change));
  }

  /** Answers and events may overtake each other. */
  #take(settings) {
    if (settings.version < this.#now?.version) return;
    this.#now = settings;
    this.#changes.tell();
  }

  #ask(method, body) {
    return asUser(this.#client, (token) => ask(method, this.#client.url + PATH, body, token));
  }
}
