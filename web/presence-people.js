// presence-people.js: finding people, contact requests, reports, and the export of a user's own data.
import { internals } from "./presence.js";

const { IDLE, asUser, ask, encode, failure, refusal } = internals;

/** The bytes of an answer. `progress` gets the share that has come, from 0 to 1; it ends when nothing comes for a minute. */
const download = (url, token, { progress, signal } = {}) =>
  new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    let timer;
    const end = (error) => (reject(error), request.abort());
    const cancel = () => end(failure("cancelled"));
    const alive = () => {
      clearTimeout(timer);
      timer = setTimeout(end, IDLE, failure("network", "no connection"));
    };
    request.open("GET", url);
    request.setRequestHeader("Authorization", `Bearer ${token}`);
    request.responseType = "blob";
    request.onprogress = ({ loaded, total }) => (alive(), total && progress?.(loaded / total));
    request.onloadend = async () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", cancel);
      const { status, response } = request;
      if (!status) reject(failure("network", "no connection"));
      else if (status < 300) resolve(response);
      else reject(refusal(status, await response.text().then(JSON.parse).catch(() => ({}))));
    };
    signal?.addEventListener("abort", cancel);
    if (signal?.aborted) return cancel();
    alive();
    request.send();
  });

export class PresencePeople {
  #client;

  constructor(client) {
    this.#client = client;
  }

  /** `null` if no user can be found by this username. */
  find(username) {
    return this.#ask("GET", `/v1/usernames/${encode(username)}/user`).catch((error) => {
      if (error.code === "not_found") return null;
      throw error;
    });
  }

  /** Users whose username or display name begins so, where the server has a directory. */
  async search(starts, { limit = 10 } = {}) {
    return (await this.#ask("GET", `/v1/people?starts=${encode(starts)}&limit=${limit}`)).people;
  }

  /** The users who ask to be contacts, the oldest first, as they change. */
  async *requests(options) {
    let shown;
    for await (const { contactRequests } of this.#client.me(options)) {
      const { requests = [] } = contactRequests ?? {};
      const now = JSON.stringify(requests);
      if (now !== shown) yield requests;
      shown = now;
    }
  }

  /** Asks a user to be a contact. The result is the same if they refuse it, or hide from the asker. */
  async ask(user, { text } = {}) {
    await this.#client.request("requestContact", { user, text });
  }

  /** Accepts or refuses the request of a user, be it to be a contact or to begin a conversation. */
  async answer(user, accept) {
    await this.#client.request("answerContact", { user, accept });
  }

  /** Reports a user, a conversation, or a message in it, to the operators. */
  async report(what) {
    return (await this.#ask("POST", "/v1/reports", what)).report.id;
  }

  /** All that the server has of the user, as a tar. */
  export(options) {
    return asUser(this.#client, (token) => download(this.#client.url + "/v1/me/export", token, options));
  }

  #ask(method, path, body) {
    return asUser(this.#client, (token) => ask(method, this.#client.url + path, body, token));
  }
}
