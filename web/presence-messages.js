// presence-messages.js: conversations and messages of a Presence server, for browsers. It stands on presence.js.
//
//     import { PresenceClient } from "https://presence.example.org/presence.js";
//     import { PresenceMessages } from "https://presence.example.org/presence-messages.js";
//     const messages = new PresenceMessages(new PresenceClient({ token }));
//     for await (const conversations of messages.conversations()) console.log(conversations[0]?.unread);
//
// Types are in presence-messages.d.ts, use in docs/javascript.md.
import { internals } from "./presence.js";
import { History, byTime, limitsOf } from "./presence-history.js";
import { MessageLog } from "./presence-log.js";
import { Outbox, after, conversationAfter, echoOf, idOf, isPassing, pause } from "./presence-outbox.js";

const { Changes, IDLE, ask, encode, failure, isUp, problem, random, upload, userOf, withToken } = internals;

/** In ms: a conversation is muted for so long at most, unless that holds until it is taken back. */
const LONGEST = 366 * 86_400_000;

const closed = () => failure("closed", "the client is closed");

export class PresenceMessages {
  #client;
  #user;
  #outbox;
  #history;
  #ready;
  /** By id; those that were left too, so that late news of them are known as such. */
  #list = new Map();
  #isKnown;
  /** Whether the server has sent the list; until then it may be the device's, without old conversations. */
  #isWhole = false;
  #isFresh = false;
  #asking;
  #restoring;
  #error;
  #changes = new Changes();
  /** By conversation, while a loop wants its messages. */
  #logs = new Map();
  /** The last message whose arrival others know of. */
  #delivered = new Map();
  #ending = new AbortController();
  /** The last of the uploads. */
  #uploading = Promise.resolve();

  constructor(client, { user, history = {} } = {}) {
    this.#client = client;
    const { signal } = this.#ending;
    const limits = history && limitsOf(history);
    if (limits && user) this.#restoring = this.#restore(user, limits);
    document.addEventListener("visibilitychange", () => document.hidden && this.#history?.flush(), { signal });
    client.addEventListener("connection", ({ detail }) => this.#connect(detail), { signal, quiet: true });
    client.addEventListener("heard", ({ detail }) => this.#hear(detail), { signal });
    this.#ready = this.#begin(user, limits);
    // A sender gets the error.
    this.#ready.catch(() => {});
    this.#connect(client.connection);
  }

  async #begin(user, limits) {
    if (!user) for await (const own of this.#client.me({ signal: this.#ending.signal })) if ((user = own.user)) break;
    if (!user || this.#isOver) throw closed();
    this.#user = user;
    if (limits) this.#restoring ??= this.#restore(user, limits);
    const shown = () => this.#tell();
    const version = (id) => this.#list.get(id)?.version;
    const done = (entry, answer, before) => this.#done(entry, answer, before);
    this.#outbox = new Outbox(this.#client, user, { version, done, shown });
    await this.#outbox.ready;
  }

  /** Begins with what is known of before. */
  async #restore(user, limits) {
    // A page may get the token of another user, whose messages must not be stored as this one's.
    const everything = () => this.#client.own.user === user && {
      list: [...this.#list.values()], talks: new Map([...this.#logs].map(([id, log]) => [id, log.stored])),
    };
    this.#history = new History(this.#client.url, user, limits, everything);
    const list = await this.#history.begin();
    if (!list || this.#isWhole || this.#isOver) return;
    for (const conversation of list) if (!this.#list.has(conversation.id)) this.#list.set(conversation.id, conversation);
    this.#isKnown = true;
    this.#tell();
  }

  get #isOver() {
    return this.#ending.signal.aborted;
  }

  get #entries() {
    return this.#outbox?.entries ?? [];
  }

  close() {
    if (this.#isOver) return;
    this.#ending.abort();
    this.#history?.close();
    this.#outbox?.close();
    this.#changes.end();
    for (const log of this.#logs.values()) log.end();
  }

  // Conversations.

  /** All of them, the newest first. */
  conversations(options) {
    const read = () => {
      if (this.#error) throw this.#error;
      if (!this.#isKnown) return undefined;
      const all = [...this.#list.values()].filter((each) => !each.removed).map((each) => this.#view(each));
      return all.sort(byTime);
    };
    return this.#changes.values(read, options);
  }

  conversation(id, options) {
    const read = () => {
      const held = this.#list.get(id);
      if (!held && !this.#isWhole) return undefined;
      return held && !held.removed ? this.#view(held) : { id, removed: true, live: this.#isLive(this.#isFresh) };
    };
    return this.#changes.values(read, options);
  }

  async create(participants, { name, metadata, key = random() } = {}) {
    const { conversation } = await this.#client.request("createConversation", { participants, name, metadata, key });
    this.#take(conversation);
    this.#tell();
    return this.#view(conversation);
  }

  async rename(conversation, name) {
    await this.#client.request("renameConversation", { conversation, name });
  }

  async changeMembers(conversation, { add = [], remove = [] }) {
    await this.#client.request("changeMembers", { conversation, add, remove });
  }

  async leave(conversation) {
    await this.#ready;
    await this.changeMembers(conversation, { remove: [this.#user] });
  }

  /** @param muted `true`, `false`, or for how many ms. */
  async mute(conversation, muted = true) {
    const isFor = typeof muted === "number";
    if (isFor && !(muted <= LONGEST)) throw failure("validation_failed", "at most 366 days", { field: "muteFor" });
    const isMuted = isFor ? muted > 0 : !!muted;
    await this.#set(conversation, { muted: isMuted, muteFor: isFor && isMuted ? Math.ceil(muted) : undefined });
  }

  archive(conversation, archived = true) {
    return this.#set(conversation, { archived });
  }

  async #set(conversation, settings) {
    await this.#add("conversationSettings", { conversation, ...settings });
  }

  /** All up to a message has been read: by default up to the newest, which a loop may have before the list. */
  async read(conversation, upTo = Math.max(this.#list.get(conversation)?.last ?? 0, this.#logs.get(conversation)?.after ?? 0)) {
    await this.#ready;
    const marks = ({ type, members }) => type === "mark" && members.conversation === conversation;
    const held = this.#list.get(conversation)?.members?.find((member) => member.user === this.#user)?.read ?? 0;
    const read = Math.max(held, ...this.#entries.filter(marks).map(({ members }) => members.read));
    if (upTo > read) await this.#add("mark", { conversation, read: upTo }, marks);
  }

  // Messages.

  /** The messages of a conversation that this tab has, the oldest first, with those that have still to be sent. */
  async *messages(conversation, options) {
    if (this.#isOver) return;
    let log = this.#logs.get(conversation);
    if (!log) {
      const listed = async () => (await this.#asking, this.#isFresh && this.#list.get(conversation));
      log = new MessageLog(this.#client, conversation, { history: this.#history, listed });
      log.expire(this.#list.get(conversation)?.first ?? 1);
      this.#logs.set(conversation, log);
    }
    log.loops++;
    try {
      yield* log.changes.values(() => this.#page(log), options);
    } finally {
      if (!--log.loops) {
        this.#logs.delete(conversation);
        log.end();
      }
    }
  }

  async earlier(conversation, { limit = 50, before } = {}) {
    return (await this.#logs.get(conversation)?.earlier(limit, before)) ?? false;
  }

  async send(conversation, text, { attachments, priority } = {}) {
    const known = this.#logs.get(conversation)?.after ?? this.#list.get(conversation)?.last;
    this.#client.setTyping(conversation, false);
    const message = { id: random(), text, attachments, priority };
    return echoOf(await this.#add("send", { conversation, message, after: known }), [], this.#user);
  }

  /** One after the other: a server takes one of a user at a time. */
  upload(conversation, file, { name = file.name, progress, signal } = {}) {
    const [id, query] = [conversation, name ?? ""].map(encode);
    const url = `${this.#client.url}/v1/conversations/${id}/attachments${query && "?name=" + query}`;
    const ending = new AbortController();
    let timer;
    let end;
    const alive = () => {
      clearTimeout(timer);
      timer = setTimeout(end, IDLE, "network", "no connection");
    };
    const told = (share) => (alive(), progress?.(share));
    const send = (token) => {
      alive();
      return upload("POST", url, file, token, { progress: told, signal: ending.signal });
    };
    const attempt = async (left = 5) => {
      ending.signal.throwIfAborted();
      alive();
      try {
        return (await this.#withToken(send)).attachment;
      } catch (error) {
        // The server has not noticed yet that the upload before is over.
        if (!(error.retryAfter <= 2_000 && left)) throw error;
        await pause(error.retryAfter);
        return attempt(left - 1);
      }
    };
    const sent = new Promise((resolve, reject) => {
      end = (code, message) => (reject(failure(code, message)), ending.abort());
      const watch = (each, ...why) => {
        if (each?.aborted) end(...why);
        each?.addEventListener("abort", () => end(...why), { signal: ending.signal });
      };
      watch(signal, "cancelled");
      watch(this.#ending.signal, "closed", "the client is closed");
      this.#uploading.then(() => attempt()).then(resolve, reject);
    }).finally(() => {
      clearTimeout(timer);
      ending.abort();
    });
    this.#uploading = Promise.all([this.#uploading, sent.catch(() => {})]);
    return sent;
  }

  /** With what the push service has given for this page. */
  registerDevice(pushToken, { platform = "fcm" } = {}) {
    return this.#tellDevice("PUT", { pushToken, platform });
  }

  removeDevice() {
    return this.#tellDevice("DELETE");
  }

  #tellDevice(method, body) {
    return this.#withToken((token) => ask(method, this.#client.url + "/v1/me/devices/current", body, token));
  }

  /** With the token of this user: a page may get that of a user who signed in elsewhere. */
  #withToken(act) {
    const give = async (how) => {
      const token = await this.#client.token(how);
      const user = userOf(token);
      if (user && user !== (this.#user ?? user)) throw failure("closed", "another user is signed in");
      return token;
    };
    return withToken(give, act);
  }

  async edit(conversation, message, text) {
    const isEdit = ({ type, members, error }) => type === "editMessage" && error && members.message === message;
    await this.#add("editMessage", { conversation, message, text }, isEdit);
  }

  /** A message that could not be sent is forgotten. */
  async delete(conversation, message) {
    await this.#ready;
    if (this.#entries.some((entry) => entry.type === "send" && entry.error && idOf(entry) === message)) {
      return this.discard(message);
    }
    await this.#add("deleteMessage", { conversation, message });
  }

  async retry(message) {
    await this.#ready;
    await this.#outbox.retry((entry) => idOf(entry) === message);
  }

  async discard(message) {
    await this.#ready;
    await this.#outbox.drop((entry) => idOf(entry) === message);
  }

  /** How many messages, edits and deletions have still to be sent, those that failed too. A mark or a setting is no loss. */
  async unsent() {
    await this.#ready;
    return this.#entries.filter(idOf).length;
  }

  /** Gives up all that has still to be sent, and what is stored: when the user signs out of an application with tokens of its own. */
  async forget() {
    await this.#history?.forget();
    await this.#ready;
    await this.#outbox.drop(() => true);
  }

  // The server's answer.

  #connect({ state }) {
    if (state === "closed") return this.close();
    const isThere = isUp({ state });
    if (!isThere) {
      this.#isFresh = false;
      // The server may give to the next connection what it refused to this one.
      this.#error = undefined;
    } else if (!this.#isFresh) this.#asking ??= this.#subscribe();
    for (const log of this.#logs.values()) log.connect(isThere);
    this.#tell();
  }

  async #subscribe() {
    await this.#restoring;
    try {
      while (!this.#isFresh && !this.#error && isUp(this.#client.connection)) await this.#ask();
    } finally {
      this.#asking = undefined;
      this.#tell();
    }
  }

  async #ask() {
    const held = [...this.#list].filter(([, { removed }]) => !removed);
    const all = Object.fromEntries(held.map(([id, { version }]) => [id, version]));
    // More than one message may have: then the server sends all, and others are removed.
    const isTooLong = JSON.stringify(all).length > this.#client.own.limits.maxMessageBytes - 200;
    const known = isTooLong ? {} : all;
    try {
      const { conversationList = [] } = await this.#client.request("subscribe", { conversationList: true, known });
      const gone = new Map(isTooLong ? held : []);
      for (const conversation of conversationList) {
        gone.delete(conversation.id);
        this.#take(conversation);
      }
      for (const [id, { version }] of gone) this.#take({ id, version: version + 1, removed: true });
      this.#isKnown = this.#isWhole = this.#isFresh = true;
      if (this.#history) this.#history.isWhole = true;
    } catch (error) {
      if (!isPassing(error, this.#client)) this.#error = error;
      else await pause(500);
    }
  }

  #hear(event) {
    if (event.type === "conversation") {
      this.#take(event.conversation);
      this.#tell();
    } else if (event.type === "subscribed") {
      for (const part of event.conversations) this.#logs.get(part.conversation)?.compare(part);
    } else this.#logs.get(event.conversation)?.hear(event);
  }

  #take(conversation) {
    const held = this.#list.get(conversation.id);
    if (held && !(conversation.version > held.version)) return;
    this.#list.set(conversation.id, conversation);
    this.#history?.store(conversation);
    const log = this.#logs.get(conversation.id);
    if (conversation.removed) return log?.leave({ code: "forbidden", message: "you are not in this conversation" });
    log?.expire(conversation.first);
    // A user who was added again may read again.
    if (log?.error) log.connect(true);
  }

  /**
   * Something that waited is done. Its answer may be taken in after events that are newer: a setting, which has no version of
   * its own, only holds if the conversation still has the version from before.
   */
  #done(entry, { message }, before) {
    const { conversation } = entry.members;
    const held = this.#list.get(conversation);
    if (message) this.#logs.get(conversation)?.put(message);
    if (!held || held.removed || (entry.type === "conversationSettings" && held.version !== before)) return;
    const isNew = message?.seq > held.last;
    this.#list.set(conversation, isNew ? { ...held, last: message.seq, lastMessage: message, unread: 0 } : after(held, entry));
  }

  #tell() {
    this.#changes.tell();
    for (const log of this.#logs.values()) log.changes.tell();
    this.#outbox?.wake();
    if (this.#outbox?.isSender && this.#isFresh) for (const each of this.#list.values()) this.#confirm(each);
  }

  /** Others see that their messages have come to this user. */
  #confirm({ id, last, members, lastMessage }) {
    const { delivered } = members?.find((member) => member.user === this.#user) ?? {};
    const known = Math.max(delivered, this.#delivered.get(id) ?? 0);
    const isOwn = lastMessage?.from === this.#user && known === last - 1;
    if (!(last > known) || isOwn) return;
    this.#delivered.set(id, last);
    this.#client.request("mark", { conversation: id, delivered: last }).catch(() => this.#delivered.delete(id));
  }

  // What is shown.

  async #add(type, members, replaces) {
    await this.#ready;
    if (this.#isOver) throw closed();
    return this.#outbox.add(type, members, replaces);
  }

  #isLive(isFresh) {
    return isFresh && this.#client.connection.state === "live";
  }

  #waitsFor(conversation) {
    return this.#entries.filter(({ members }) => members.conversation === conversation);
  }

  #view(held) {
    return { ...conversationAfter(held, this.#waitsFor(held.id), this.#user), live: this.#isLive(this.#isFresh) };
  }

  #page(log) {
    const isAlone = this.#client.connection.state === "waiting";
    const page = log.page(this.#waitsFor(log.id), this.#user, this.#list.get(log.id), isAlone);
    return page && { ...page, live: this.#isLive(log.isFresh), ...problem(log.error) };
  }
}
