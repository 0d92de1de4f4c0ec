// presence-outbox.js: what a user wrote and the server does not have yet. A part of presence-messages.js.
//
// Requests wait in IndexedDB, so reloads and crashes do not lose them. The tab that holds a Web Lock sends them one after the
// other, and takes each out when it is answered. A tab that dies in between leaves it in, and the next one sends it again:
// the protocol answers the same request with the same answer, so it is done once. Http pages of other machines have no Web
// Locks: there each tab takes a lease in the store before it sends.
import { internals } from "./presence.js";

const { Changes, failure, isUp, lead, locks, problem, queueOf, random, stored, wellFormed } = internals;

/** Requests that wait, at most. */
const MOST = 500;
/** Bytes of a text, at most: what is longer is refused before it is kept. */
const LONGEST = 20_480;
/** Codes after which the same request may still be done, as after each error with `retryAfter`. Others are shown to the user. */
const PASSING = ["unavailable", "rate_limited", "network", "closed", "unauthorized"];

/** Also an error that came with the end of the connection: it is about that, not about the request. */
export const isPassing = ({ code, retryAfter }, client) =>
  PASSING.includes(code) || retryAfter >= 0 || !isUp(client.connection);

/**
 * In ms: how long a tab may send without taking the lease again. A request is tried for 10 s, and a server gives up a silent
 * connection after 30 s: so what was sent under a lease that has ended comes nowhere any more.
 */
const LEASE = 60_000;

export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export class Outbox {
  /** The oldest first: `{ key, type, members, at, error? }`. */
  entries = [];
  /** Whether this tab is the one that sends. */
  isSender;
  #client;
  #user;
  #key;
  #version;
  #done;
  #shown;
  #channel;
  #wake = new Changes();
  #ending = new AbortController();
  /** As long as it is this tab's turn to send. */
  #turn;
  /** This tab, for the lease. */
  #name = random();
  /** Whether something was sent whose answer is not known. */
  #isOwing;

  /**
   * @param version the version of a conversation that is known now.
   * @param done is called with each entry that was answered, in all tabs, with the version from before it was sent.
   * @param shown when entries have changed.
   */
  constructor(client, user, { version, done, shown }) {
    this.#client = client;
    this.#user = user;
    this.#key = queueOf(client.url, user);
    this.#version = version;
    this.#done = done;
    this.#shown = shown;
    this.#channel = new BroadcastChannel(`presence ${this.#key}`);
    this.#channel.onmessage = ({ data }) => {
      if (data.entry) done(data.entry, data.answer, data.version);
      this.#read();
    };
    this.ready = this.#read();
    const act = () => this.#run();
    const lost = () => {
      this.isSender = this.#turn = undefined;
      this.#wake.tell();
    };
    if (locks) lead(`presence ${this.#key}`, { signal: this.#ending.signal, act, lost });
    else act();
  }

  /** The connection, or the list, has changed. */
  wake() {
    this.#wake.tell();
  }

  close() {
    this.#wake.end();
    this.#ending.abort();
    this.#channel.close();
  }

  /** Keeps a request until it is done. `replaces` names the waiting ones that it makes needless. */
  async add(type, members, replaces = () => false) {
    if (new Blob([members.text ?? members.message?.text]).size > LONGEST) {
      throw failure("validation_failed", "the text is too long", { field: "text" });
    }
    const entry = { key: random(), type, members: wellFormed(members), at: this.#client.now() };
    let isFull;
    await this.#change((queue) => {
      const left = queue.filter((each) => !replaces(each));
      isFull = left.length >= MOST;
      return isFull ? queue : [...left, entry];
    });
    if (isFull) throw failure("too_many", "too many messages wait to be sent");
    return entry;
  }

  /** Sends what has failed once more, in its place. */
  retry(isMeant) {
    return this.#change((queue) => queue.map((each) => (isMeant(each) ? { ...each, error: undefined } : each)));
  }

  drop(isMeant) {
    return this.#change((queue) => queue.filter((each) => !isMeant(each)));
  }

  /** A fault of the store is an error of `add`. */
  async #read() {
    await this.#load().catch(() => {});
  }

  async #load() {
    this.#show((await stored(this.#key)) ?? []);
  }

  async #change(make) {
    let made;
    await stored(this.#key, (queue = []) => (made = make(queue)));
    if (this.#wake.over) return;
    this.#channel.postMessage({});
    this.#show(made);
  }

  #show(entries) {
    this.entries = entries;
    this.#shown();
    this.#wake.tell();
  }

  /** Tries again while the store fails: nothing else is sent before what was answered is out of it. */
  async #insist(act) {
    for (let wait = 500; ; wait = Math.min(2 * wait, 30_000)) {
      try {
        return await act();
      } catch {
        if (this.#wake.over) return undefined;
        await pause(wait);
      }
    }
  }

  async #run() {
    const turn = (this.#turn = {});
    const isOn = () => !this.#wake.over && this.#turn === turn;
    this.isSender = true;
    await this.#insist(() => this.#load());
    for await (const _ of this.#wake.values(() => true)) {
      while (isOn() && (await this.#insist(() => this.#send())));
      await this.#release();
      if (!isOn()) return;
    }
    await this.#release();
  }

  /** Whether no other tab may send now. A clock that was put back by more than a lease ends one too. */
  async #mayTake() {
    if (locks) return true;
    const at = Date.now();
    let isFree;
    await this.#insist(() => stored(this.#leaseKey, ({ owner, until } = {}) => {
      isFree = !owner || owner === this.#name || until < at || until > at + 2 * LEASE;
      return isFree ? { owner: this.#name, until: at + LEASE } : undefined;
    }));
    return isFree;
  }

  /** Another tab need not wait for the end of the lease, unless something is on its way. */
  async #release() {
    if (locks || this.#isOwing) return;
    await stored(this.#leaseKey, (lease) => (lease?.owner === this.#name ? {} : undefined)).catch(() => {});
  }

  get #leaseKey() {
    return `${this.#key} sender`;
  }

  /** Sends the oldest that has not failed. Returns whether there may be more to do at once. */
  async #send() {
    if (!this.#isThere || this.entries.every((entry) => entry.error)) return false;
    if (!(await this.#mayTake())) {
      await pause(1000);
      return true;
    }
    // From the store: a change of another tab may not be known yet.
    const next = (await this.#insist(() => stored(this.#key)))?.find((entry) => !entry.error);
    if (!next || !this.#isThere) return false;
    const isNext = (entry) => entry.key === next.key;
    const version = this.#version(next.members.conversation);
    let answer;
    this.#isOwing = true;
    try {
      answer = await this.#client.request(next.type, next.members);
      this.#isOwing = false;
    } catch (error) {
      if (isPassing(error, this.#client)) {
        await pause(500);
        return true;
      }
      this.#isOwing = false;
      const { code, reason, message } = error;
      // A message and its changes stay, with what is wrong; a mark or a setting is as it was.
      const failed = (each) => (isNext(each) ? { ...each, error: { code, reason, message } } : each);
      await this.#insist(() => (idOf(next) ? this.#change((queue) => queue.map(failed)) : this.drop(isNext)));
      return true;
    }
    try {
      if (!this.#wake.over) {
        this.#done(next, answer, version);
        this.#channel.postMessage({ entry: next, answer, version });
      }
    } finally {
      // After the end too, and whatever came of it: made again later, it could undo what was changed meanwhile.
      await this.#insist(() => this.drop(isNext));
    }
    return true;
  }

  /** Whether there is a session, and of this user: a page may get the token of a user who signed in elsewhere. */
  get #isThere() {
    return isUp(this.#client.connection) && this.#client.own.user === this.#user;
  }
}

/** The message that an entry is about. */
export const idOf = ({ members: { message } }) => message?.id ?? message;

// The view while entries wait.

/** A conversation as it will be when an entry is done. */
export const after = (conversation, { type, members, at }) => {
  if (type === "mark") {
    const unread = Math.min(conversation.unread, Math.max(0, conversation.last - members.read));
    return { ...conversation, unread, ...(!unread && { hasUnreadPriority: undefined, priorityCount: undefined }) };
  }
  if (type !== "conversationSettings") return conversation;
  const { muted, muteFor, archived } = members;
  return {
    ...conversation,
    ...(muted !== undefined && { muted, mutedUntil: muteFor && at + muteFor }),
    ...(archived !== undefined && { archived }),
  };
};

/** A conversation with all that waits. */
export const conversationAfter = (held, waiting, user) => {
  const unsent = waiting.filter(({ type }) => type === "send");
  const { lastMessage } = held;
  const shown = unsent.length ? echoOf(unsent.at(-1), waiting, user) : lastMessage && messageAfter(lastMessage, waiting, user, held);
  return { ...waiting.reduce(after, held), lastMessage: shown, unsent: unsent.length };
};

/** A message that the server does not have yet. */
export const echoOf = ({ members: { message }, at, error }, waiting, user) =>
  changed({ ...message, from: user, at, status: error ? "failed" : "sending", ...problem(error) }, waiting, user);

/** A message of the server: with its status, if it is the user's own, and the changes that wait. */
export const messageAfter = (message, waiting, user, conversation) => {
  const shown = { ...message };
  if (message.from === user) {
    const others = conversation?.members?.filter((member) => member.user !== user) ?? [];
    const all = (mark) => others[0] && others.every((member) => member[mark] >= message.seq);
    shown.readBy = others.filter((member) => member.read >= message.seq).map((member) => member.user);
    shown.status = all("read") ? "read" : all("delivered") ? "delivered" : "sent";
  }
  return changed(shown, waiting, user);
};

const changed = (shown, waiting, user) => {
  for (const entry of waiting) {
    const { type, members, at, error } = entry;
    if (type === "send" || idOf(entry) !== shown.id) continue;
    if (type === "editMessage") Object.assign(shown, { text: members.text, editedAt: at });
    if (type === "deleteMessage") Object.assign(shown, { text: "", attachments: undefined, deletedAt: at, deletedBy: user });
    Object.assign(shown, { status: error ? "failed" : "sending" }, problem(error));
  }
  return shown;
};
