// presence-history.js: the list of conversations and their newest messages as they were last known, in IndexedDB. A part of
// presence-messages.js.
//
// Messages are stored without a hole, with the cursor from which the server completes them. So an older state does no harm: a tab may
// be killed at any moment, or write what it knew before it stood still. Each write is one transaction. It compares versions with those
// that are stored, and keeps the larger ones. After a failure, the next write stores everything.
import { internals } from "./presence.js";

const { OWNER, clearHistory, failure, got, historyOf, toJSON, transact } = internals;

const LIMITS = { conversations: 200, messages: 50, bytes: 5_000_000 };
/** In ms: until changes are written, and how long a page waits for what is stored. */
const PAUSE = 1_000;
const PATIENCE = 500;
/** In ms: a conversation that the user has left is known as such to tabs that stood still. */
const LEFT = 3_600_000;
/** A conversation has at most this share of the bytes. */
const SHARE = 10;

const listKey = (id) => ["list", id];
const talkKey = (id) => ["talk", id];
const sizeOf = (value) => new Blob([toJSON(value)]).size;
const timeOf = ({ lastMessage, createdAt }) => lastMessage?.at ?? createdAt;
/** The newest first. */
export const byTime = (a, b) => timeOf(b) - timeOf(a);

export const limitsOf = (options) => {
  for (const [name, value] of Object.entries(options)) {
    if (!(name in LIMITS && value >= 0)) throw failure("validation_failed", `history has no such ${name}: ${value}`, { field: "history" });
  }
  return { ...LIMITS, ...options };
};

export class History {
  /** Whether the server has sent the whole list. */
  isWhole = false;
  #url;
  #user;
  #limits;
  #everything;
  #isOff = false;
  #isWriting = false;
  /** Whether the last write has failed. */
  #isBehind = false;
  /** Whether a read was slow, and nothing has been written since. */
  #isLate = false;
  /** Changes by conversation: the conversation, the newest messages that it had since, and a function that returns its messages. */
  #list = new Map();
  #last = new Map();
  #talks = new Map();
  #timer;
  /** Conversations whose messages are read next. */
  #wanted = [];
  #reading;

  /**
   * @param limits how much is stored at most.
   * @param everything all that the tab knows, as `{ list, talks }`; `undefined` while it is another user's. A database that
   * was deleted meanwhile gets it.
   */
  constructor(url, user, limits, everything) {
    this.#limits = limits;
    this.#url = url;
    this.#user = user;
    this.#everything = everything;
  }

  /** The conversations, if this user's list is stored. Another user's data are deleted. */
  begin() {
    return this.#soon(async (records) => {
      const owner = await got(records.get(OWNER));
      if (owner?.user !== this.#user) {
        records.clear();
        return void records.put({ user: this.#user }, OWNER);
      }
      if (!owner.isWhole) return undefined;
      const entries = await got(records.getAll(IDBKeyRange.bound(["list"], ["list", []])));
      return entries.map(({ conversation }) => conversation).filter(({ removed }) => !removed);
    });
  }

  /** Messages of a conversation and their cursor: `{ messages, after, version }`. Those that are asked for at once are one step. */
  async read(id) {
    const place = this.#wanted.push(id) - 1;
    this.#reading ??= Promise.resolve().then(() => {
      const ids = this.#wanted;
      this.#reading = undefined;
      this.#wanted = [];
      return this.#soon(async (records) => {
        const owner = await got(records.get(OWNER));
        return owner?.user === this.#user ? Promise.all(ids.map((each) => got(records.get(talkKey(each))))) : [];
      });
    });
    return (await this.#reading)?.[place];
  }

  store(conversation) {
    const { id, lastMessage } = conversation;
    this.#change(this.#list, id, conversation);
    if (lastMessage) this.#change(this.#last, id, [...(this.#last.get(id) ?? []), lastMessage].slice(-this.#limits.messages || 1));
  }

  /** @param make returns them when they are written, `null` if nothing is to be stored of them. */
  storeMessages(id, make) {
    this.#change(this.#talks, id, make);
  }

  /** Deletes all, and stores nothing any more. */
  async forget() {
    this.#end();
    await clearHistory(this.#url).catch(() => {});
  }

  /** Writes what has changed, now. */
  flush() {
    if (this.#timer) this.#write();
  }

  close() {
    this.flush();
    this.#end();
  }

  #end() {
    this.#isOff = true;
    this.#timer = clearTimeout(this.#timer);
    this.#clear();
  }

  #change(all, id, value) {
    if (this.#isOff) return;
    all.set(id, value);
    this.#wait();
  }

  #wait() {
    if (!this.#isWriting) this.#timer ??= setTimeout(() => this.#write(), PAUSE);
  }

  /** A page does not wait for a store that fails, and once for one that is slow. */
  async #soon(act) {
    if (this.#isLate) return undefined;
    let timer;
    const late = new Promise((resolve) => {
      timer = setTimeout(() => resolve((this.#isLate = true) && undefined), PATIENCE);
    });
    const read = async () => {
      const found = await transact(historyOf(this.#url), act).catch(() => {});
      clearTimeout(timer);
      return found;
    };
    return Promise.race([read(), late]);
  }

  async #write() {
    this.#timer = clearTimeout(this.#timer);
    const all = this.#everything();
    const last = new Map(this.#last);
    const news = { list: [...this.#list.values()], talks: new Map(this.#talks) };
    this.#clear();
    if (!all) return;
    const { isWhole } = this;
    this.#isWriting = true;
    try {
      await transact(historyOf(this.#url), async (records) => {
        const owner = await got(records.get(OWNER));
        if (owner && owner.user !== this.#user) return this.#end();
        if (!owner || (isWhole && !owner.isWhole)) records.put({ user: this.#user, isWhole }, OWNER);
        return this.#put(records, owner && !this.#isBehind ? news : all, last);
      });
      this.#isBehind = this.#isLate = false;
    } catch (error) {
      this.#isBehind = true;
      // A full store cannot take the deletion of a message: better nothing than what was deleted.
      if (error?.name === "QuotaExceededError") await this.forget();
    }
    this.#isWriting = false;
    if (this.#list.size + this.#talks.size) this.#wait();
  }

  #clear() {
    for (const each of [this.#list, this.#last, this.#talks]) each.clear();
  }

  async #put(records, { list, talks }, last) {
    const stored = await got(records.getAll(IDBKeyRange.bound(["list"], ["list", []])));
    const entries = new Map(stored.map((entry) => [entry.conversation.id, entry]));
    const changed = new Set();
    const shown = list.filter(({ removed }) => !removed).sort(byTime).slice(0, this.#limits.conversations);
    for (const conversation of [...shown, ...list.filter(({ removed }) => removed)]) {
      const { id } = conversation;
      const { conversation: held, bytes = 0 } = entries.get(id) ?? {};
      if (held && !(conversation.version > held.version)) continue;
      entries.set(id, { conversation, bytes, size: sizeOf(conversation), at: Date.now() });
      changed.add(id);
    }
    for (const id of new Set([...changed, ...talks.keys()])) {
      const entry = entries.get(id);
      // Without its conversation, nothing of a talk is stored: the user may have left it.
      if (!entry || entry.conversation.removed || !(entry.bytes || talks.has(id))) continue;
      const held = entry.bytes ? await got(records.get(talkKey(id))) : undefined;
      const talk = this.#fit(newerOf(held, talks.get(id)?.()), last.get(id) ?? [], entry.conversation);
      entry.bytes = talk ? sizeOf(talk) : 0;
      changed.add(id);
      if (talk) records.put(talk, talkKey(id));
      else records.delete(talkKey(id));
    }
    this.#bound(records, entries, changed);
    for (const id of changed) records.put(entries.get(id), listKey(id));
  }

  /** Messages with those that the list had, if they follow; without expired ones, and as many as may be stored. */
  #fit(talk, last, { first }) {
    if (!talk) return undefined;
    const held = new Map(talk.messages.map((each) => [each.id, each]));
    let { after } = talk;
    for (const message of last) {
      if (message.seq === after + 1) after++;
      else if (!(message.version > held.get(message.id)?.version)) continue;
      held.set(message.id, message);
    }
    const messages = [...held.values()];
    let room = this.#limits.bytes / SHARE;
    const from = messages.findLastIndex((each) => each.seq < first || (room -= sizeOf(each)) < 0) + 1;
    return { ...talk, replaces: undefined, after, messages: messages.slice(from).slice(-this.#limits.messages || messages.length) };
  }

  /** Deletes the oldest beyond the limits. */
  #bound(records, entries, changed) {
    let room = this.#limits.bytes;
    const drop = (id) => {
      records.delete(listKey(id));
      records.delete(talkKey(id));
      changed.delete(id);
    };
    const shown = [];
    for (const { conversation, at } of entries.values()) {
      const { id, removed } = conversation;
      if (!removed) shown.push(conversation);
      else if (at < Date.now() - LEFT) drop(id);
      else records.delete(talkKey(id));
    }
    shown.sort(byTime).forEach(({ id }, place) => {
      const entry = entries.get(id);
      room -= entry.size;
      if (place >= this.#limits.conversations || room < 0) return drop(id);
      if (entry.bytes <= room) return void (room -= entry.bytes);
      entry.bytes = 0;
      records.delete(talkKey(id));
      changed.add(id);
    });
  }
}

/** The messages with more of the server's changes. */
const newerOf = (held, made) => {
  if (!held || !made || made.replaces) return made === undefined ? held : made;
  return made.version > held.version || (made.version === held.version && made.after >= held.after) ? made : held;
};
