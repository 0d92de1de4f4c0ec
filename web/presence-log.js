// presence-log.js: the messages of one conversation, as far as a tab has them. A part of presence-messages.js.
import { internals } from "./presence.js";
import { echoOf, idOf, isPassing, messageAfter, pause } from "./presence-outbox.js";

const { Changes, isUp } = internals;

/** Messages that are kept besides those that `earlier` has read, at most: of more the oldest go, and can be read again. */
const MOST = 1000;

/**
 * The tab's copy, and where the next page begins: `after` and `version`. They move only while this tab receives everything.
 * One socket serves all tabs, and for the server an answer to one of them is an answer to all. So a tab that sees another one
 * answered with more than it knows asks for the rest itself.
 */
export class MessageLog {
  changes = new Changes();
  loops = 0;
  held = new Map();
  after;
  isFresh = false;
  error;
  #client;
  #version;
  #first = 1;
  /** The oldest that is shown: what is known of older ones would have holes. */
  #floor = Infinity;
  /** Events that wait for an answer that comes before them; `null` while none is awaited. */
  #waiting = null;
  /** How many of them came before the first part of an answer. */
  #before;
  #isDoubtful = false;
  #most = MOST;
  #ending = new AbortController();

  constructor(client, id) {
    this.#client = client;
    this.id = id;
    this.#watch();
    this.connect(isUp(client.connection));
  }

  /** A watcher of the typing keeps the subscription: the last one who leaves ends both. */
  async #watch() {
    try {
      for await (const _ of this.#client.typing(this.id, { signal: this.#ending.signal }));
    } catch (error) {
      this.fail(error);
    }
  }

  end() {
    this.#ending.abort();
    this.changes.end();
  }

  get isKnown() {
    return this.#version >= 0;
  }

  get hasEarlier() {
    return this.isKnown && this.#floor > this.#first;
  }

  /** The page, with the waiting entries of the outbox; `undefined` as long as there is nothing to show. */
  page(waiting, user, conversation) {
    const unsent = waiting.filter((entry) => entry.type === "send" && !this.held.has(idOf(entry)));
    if (!this.isKnown && !this.error && !unsent.length) return undefined;
    const from = Math.max(this.#floor, this.#first);
    const messages = [...this.held.values()].filter(({ seq }) => seq >= from).sort((a, b) => a.seq - b.seq)
      .map((message) => messageAfter(message, waiting, user, conversation));
    messages.push(...unsent.map((entry) => echoOf(entry, waiting, user)));
    return { conversation: this.id, messages, hasEarlier: this.hasEarlier };
  }

  connect(isThere) {
    if (!isThere) this.isFresh = false;
    else if (!this.isFresh) this.#follow();
  }

  fail(error) {
    this.error = error;
    this.isFresh = false;
    this.changes.tell();
  }

  async #follow() {
    if (this.#waiting) return void (this.#isDoubtful = true);
    this.#waiting = [];
    try {
      await this.#ask();
    } finally {
      const waiting = this.#waiting;
      this.#waiting = null;
      for (const event of waiting) this.hear(event);
      this.changes.tell();
    }
  }

  async #ask() {
    let isRefused = false;
    do {
      this.#isDoubtful = false;
      this.#before = undefined;
      const isAnew = !this.isKnown;
      const cursor = isAnew ? { id: this.id } : { id: this.id, after: this.after, messagesVersion: this.#version };
      try {
        const { conversations } = await this.#client.request("subscribe", { conversations: [cursor] });
        const parts = conversations.filter(({ conversation }) => conversation === this.id);
        if (isAnew || parts[0].reset) this.#clear();
        for (const part of parts) this.#take(part);
        // A reset before the answer is part of the answer: there may be hundreds at once.
        const before = this.#before ?? this.#waiting.length;
        this.#waiting = this.#waiting.filter(({ type }, index) => index >= before || type !== "messagesReset");
        this.isFresh = true;
        this.error = undefined;
      } catch (error) {
        isRefused = !isPassing(error, this.#client);
        if (isRefused) this.error = error;
        else await pause(500);
      }
    } while (!this.#isOver && !isRefused && isUp(this.#client.connection) && (!this.isFresh || this.#isDoubtful));
  }

  get #isOver() {
    return this.#ending.signal.aborted;
  }

  #clear() {
    this.held.clear();
    this.#floor = Infinity;
    this.after = undefined;
  }

  #take({ messages, messagesVersion, first, last }) {
    for (const message of messages) this.put(message);
    const numbers = messages.map(({ seq }) => seq);
    if (this.#floor === Infinity) this.#floor = numbers[0] ?? last + 1;
    this.after = numbers.length ? Math.max(this.after ?? 0, ...numbers) : this.after ?? last;
    this.#version = messagesVersion;
    this.#first = first;
  }

  /** The larger version of a message is the newer one. */
  put(message) {
    if (message.version > (this.held.get(message.id)?.version ?? -1)) this.held.set(message.id, message);
  }

  hear(event) {
    if (this.#waiting) return void this.#waiting.push(event);
    if (!this.isFresh) return;
    if (event.type === "messagesReset") {
      this.#version = undefined;
      this.isFresh = false;
      return void this.#follow();
    }
    if (event.type !== "message") return;
    this.put(event.message);
    this.#version = event.conversationVersion;
    this.after = Math.max(this.after, event.message.seq);
    this.#trim();
    this.changes.tell();
  }

  /** A page that is open for days does not grow. */
  #trim() {
    if (this.held.size <= this.#most) return;
    // A tenth at a time, so that it is done seldom.
    const kept = [...this.held.values()].sort((a, b) => b.seq - a.seq).slice(0, Math.ceil(this.#most * 0.9));
    this.#floor = Math.max(this.#floor, kept.at(-1).seq);
    this.held = new Map(kept.map((message) => [message.id, message]));
  }

  /** A tab was answered: this one, or another. */
  compare({ messagesVersion }) {
    if (this.#waiting) this.#before ??= this.#waiting.length;
    else if (this.isFresh && messagesVersion >= 0 && messagesVersion !== this.#version) this.#follow();
  }

  async earlier(limit) {
    const before = this.#floor;
    if (!this.hasEarlier) return false;
    const answer = await this.#client.request("getMessages", { conversation: this.id, before, limit });
    for (const message of answer.messages) this.put(message);
    this.#most += answer.messages.length;
    // A reset meanwhile has begun anew elsewhere.
    if (this.#floor === before) this.#floor = answer.messages[0]?.seq ?? answer.first;
    this.#first = answer.first;
    this.changes.tell();
    return this.hasEarlier;
  }
}
