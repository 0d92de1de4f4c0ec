// presence-log.js: the messages of one conversation, as far as a tab has them. A part of presence-messages.js.
import { internals } from "./presence.js";
import { echoOf, idOf, isPassing, messageAfter, pause } from "./presence-outbox.js";

const { Changes, isUp } = internals;

/** Messages that are kept besides those that `earlier` has read, at most: of more the oldest go, and can be read again. */
const MOST = 1000;
/** Messages of an answer without a cursor, and of a page at most. */
const FIRST = 50;
const PAGE = 100;

const numbered = (messages) => [...messages].sort((a, b) => a.seq - b.seq);

/**
 * The tab's copy, and where the next page begins: `after` and `version`. They move only while this tab receives everything.
 * One socket serves all tabs, and for the server an answer to one of them is an answer to all. So a tab that sees another one
 * answered with more than it knows asks for the rest itself.
 *
 * It begins with what the device has. If much has come since then, the server sends only the newest messages, and those before them
 * that are not known are a hole until `earlier` has read them.
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
  /** The messages between two numbers that are not known. */
  #hole;
  /** Whether what is held is from the device, and the server has not completed it. */
  #isStored = false;
  /** Whether the server began anew, so that the device's messages are replaced whatever their version. */
  #replaces = false;
  #history;
  #listed;
  #restoring;
  /** The oldest that is shown: what is known of older ones would have holes. */
  #floor = Infinity;
  /** Events that wait for an answer that comes before them; `null` while none is awaited. */
  #waiting = null;
  /** How many of them came before the first part of an answer. */
  #before;
  #isDoubtful = false;
  #most = MOST;
  #ending = new AbortController();

  /**
   * @param history where messages are stored, if anywhere.
   * @param listed a promise of the conversation as the server knows it, if it can be had.
   */
  constructor(client, id, { history, listed }) {
    this.#client = client;
    this.id = id;
    this.#history = history;
    this.#listed = listed;
    this.#restoring = this.#restore();
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
    return this.isKnown && (!!this.#hole || this.#floor > this.#first);
  }

  /** Messages from a number on that have not expired. */
  #from(number) {
    return numbered(this.held.values()).filter(({ seq }) => seq >= Math.max(number, this.#first));
  }

  async #restore() {
    const stored = await this.#history?.read(this.id);
    if (!stored || this.isKnown || this.error) return;
    for (const message of stored.messages) this.put(message);
    this.#floor = stored.messages[0]?.seq ?? stored.after + 1;
    this.after = stored.after;
    this.#version = stored.version;
    this.#isStored = true;
    this.changes.tell();
  }

  #store() {
    this.#history?.storeMessages(this.id, this.stored);
  }

  /** The newest messages with their cursor, for the device. */
  stored = () => {
    if (!this.isKnown) return null;
    const messages = this.#from(this.#hole?.to ?? this.#floor).filter(({ seq }) => seq <= this.after);
    const replaces = this.#replaces;
    this.#replaces = false;
    return { messages, after: this.after, version: this.#version, replaces };
  };

  /**
   * The page, with the waiting entries of the outbox; `undefined` as long as there is nothing to show.
   *
   * @param isAlone whether there is no connection.
   */
  page(waiting, user, conversation, isAlone) {
    const unsent = waiting.filter((entry) => entry.type === "send" && !this.held.has(idOf(entry)));
    const { from, to } = this.#hole ?? {};
    const held = this.#from(this.#floor).filter(({ seq }) => !(seq > from && seq < to));
    let missingBefore = held.find(({ seq }) => seq === to)?.id;
    const { lastMessage } = conversation ?? {};
    // The list may have a newer one.
    const after = this.after ?? this.#first - 1;
    if ((this.isKnown ? this.#isStored : isAlone) && lastMessage?.seq > after && !this.held.has(lastMessage.id)) {
      held.push(lastMessage);
      if (lastMessage.seq > after + 1) missingBefore = lastMessage.id;
    }
    if (!this.isKnown && !this.error && !held.length && !unsent.length) return undefined;
    const messages = held.map((message) => messageAfter(message, waiting, user, conversation));
    messages.push(...unsent.map((entry) => echoOf(entry, waiting, user)));
    return { conversation: this.id, messages, hasEarlier: this.hasEarlier, missingBefore };
  }

  /** Messages before a number have expired. */
  expire(first) {
    this.#first = Math.max(this.#first, first);
    this.#settle();
  }

  /** The user is not in the conversation any more. */
  leave(error) {
    this.#clear();
    this.#version = undefined;
    this.fail(error);
  }

  /** A hole ends when it is filled, and with what was before it. */
  #settle() {
    if (!this.#hole) return;
    const { from, to } = this.#hole;
    const isCut = this.#first > from || this.#floor > from;
    if (isCut) this.#floor = Math.max(this.#floor, to);
    if (isCut || to <= from + 1) this.#hole = undefined;
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
      if (this.isFresh) this.#store();
      this.changes.tell();
    }
  }

  async #ask() {
    let isRefused = false;
    do {
      await this.#restoring;
      const isAnew = !this.isKnown || (this.#isStored && (await this.#isFar()));
      this.#isDoubtful = false;
      this.#before = undefined;
      const cursor = isAnew ? { id: this.id } : { id: this.id, after: this.after, messagesVersion: this.#version };
      try {
        const { conversations } = await this.#client.request("subscribe", { conversations: [cursor] });
        const parts = conversations.filter(({ conversation }) => conversation === this.id);
        const old = isAnew && this.isKnown ? await this.#askOld() : [];
        const { after } = this;
        this.#replaces ||= !!parts[0].reset;
        if (isAnew || parts[0].reset) this.#clear();
        for (const part of parts) this.#take(part);
        this.#join(old, after);
        this.#isStored = false;
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

  /** Whether the newest messages come alone: more are between them and what the device has than a page, or that is less. */
  async #isFar() {
    const { last } = (await this.#listed()) ?? {};
    const [oldest] = this.#from(this.#floor);
    const isShort = last - (oldest?.seq ?? last + 1) + 1 < FIRST && this.#floor > this.#first;
    return isShort || last - this.after > FIRST;
  }

  /** The device's messages as they are now: they may have been changed, or deleted. */
  async #askOld() {
    const { length } = this.#from(this.#floor);
    if (!length) return [];
    const limit = Math.min(length, PAGE);
    return (await this.#client.request("getMessages", { conversation: this.id, before: this.after + 1, limit })).messages;
  }

  /** Puts older messages up to a number before a hole. */
  #join(old, upTo) {
    if (!old.length) return;
    for (const message of old) this.put(message);
    this.#hole = { from: upTo, to: this.#floor };
    this.#floor = Math.min(this.#floor, old[0].seq);
    this.#settle();
  }

  get #isOver() {
    return this.#ending.signal.aborted;
  }

  #clear() {
    this.held.clear();
    this.#floor = Infinity;
    this.after = this.#hole = undefined;
    this.#isStored = false;
  }

  #take({ messages, messagesVersion, first, last }) {
    for (const message of messages) this.put(message);
    const numbers = messages.map(({ seq }) => seq);
    if (this.#floor === Infinity) this.#floor = numbers[0] ?? last + 1;
    this.after = numbers.length ? Math.max(this.after ?? 0, ...numbers) : this.after ?? last;
    this.#version = messagesVersion;
    this.#first = first;
    this.#settle();
  }

  /** The larger version of a message is the newer one. */
  put(message) {
    if (message.version > (this.held.get(message.id)?.version ?? -1)) this.held.set(message.id, message);
  }

  hear(event) {
    if (this.#waiting) return void this.#waiting.push(event);
    if (!this.isFresh) return;
    if (event.type === "messagesReset") {
      this.#replaces = true;
      this.#version = undefined;
      this.isFresh = false;
      return void this.#follow();
    }
    if (event.type !== "message") return;
    this.put(event.message);
    this.#version = event.conversationVersion;
    this.after = Math.max(this.after, event.message.seq);
    this.#trim();
    this.#store();
    this.changes.tell();
  }

  /** A page that is open for days does not grow. */
  #trim() {
    if (this.held.size <= this.#most) return;
    // A tenth at a time, so that it is done seldom.
    const kept = numbered(this.held.values()).slice(-Math.ceil(this.#most * 0.9));
    this.#floor = Math.max(this.#floor, kept[0].seq);
    this.held = new Map(kept.map((message) => [message.id, message]));
    this.#settle();
  }

  /** A tab was answered: this one, or another. */
  compare({ messagesVersion }) {
    if (this.#waiting) this.#before ??= this.#waiting.length;
    else if (this.isFresh && messagesVersion >= 0 && messagesVersion !== this.#version) this.#follow();
  }

  /** @param before the message before which they are read: without it, that after the hole, or the oldest. */
  async earlier(limit, before) {
    if (!this.hasEarlier) return false;
    const hole = before && this.held.get(before)?.seq === this.#floor ? undefined : this.#hole;
    const end = hole?.to ?? this.#floor;
    if (!hole && end <= this.#first) return this.hasEarlier;
    const most = hole ? Math.min(limit, end - hole.from - 1) : limit;
    const answer = await this.#client.request("getMessages", { conversation: this.id, before: end, limit: most });
    for (const message of answer.messages) this.put(message);
    this.#most += answer.messages.length;
    const reached = answer.messages[0]?.seq ?? answer.first;
    // A reset meanwhile has begun anew elsewhere.
    if (hole) {
      if (this.#hole === hole && hole.to === end) hole.to = reached;
    } else if (this.#floor === end) this.#floor = reached;
    this.#first = answer.first;
    this.#settle();
    this.changes.tell();
    return this.hasEarlier;
  }
}
