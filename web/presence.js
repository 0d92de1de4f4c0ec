// presence.js: presence, profiles, typing and accounts of a Presence server, for browsers. One ES module, no dependencies.
//
//     import { PresenceClient } from "https://presence.example.org/presence.js";
//     const client = new PresenceClient({ token: () => fetch("/my-token").then((answer) => answer.text()) });
//     for await (const bob of client.person("bob")) console.log(bob.presence?.status, bob.live);
//
// Types are in presence.d.ts, use in docs/javascript.md, the rules in docs/protocol.md.
//
// Parts: `PresenceClient` is what a page has, one for each tab. `Hub` has the socket: one for each browser and user, in the
// tab that holds a Web Lock; the others talk to it over a BroadcastChannel. `PresenceAccount` is who is signed in.

const ID = /^[!-~]{1,128}$/;
/** Close codes after which connecting again would end the same way. */
const FINAL = [1003, 1007, 1008, 1009, 4004, 4006];
/** Requests of a browser that wait for an answer, at most. */
const MOST_CALLS = 1000;
/** Requests that the server has and has not answered, at most: so many may be refused before the client knows of one. */
const AT_ONCE = 100;
/** In ms, between requests after one was refused as too fast: so many a second are within the rate of most servers. */
const PACE = 20;
/** In ms: an attempt to connect, an answer to a probe, and a step in IndexedDB. */
const PATIENCE = 10_000;
/** The same for a probe when a request has no answer for `DOUBT`, or a page is looked at again; and when there is no network. */
const SHORT_PATIENCE = 5_000;
const GONE = 3_000;
const DOUBT = 3_000;
/** In ms: a key or a click ends a wait that has lasted so long. */
const HURRY = 3_000;
/** In ms, between the questions whether the tab with a lock is awake; so many without an answer, and another tab takes the lock. */
const BEAT = 1_500;
const MISSED = 2;
/** In ms: what holds a lock for longer stands still. It may ask the server twice, for 30 s each at most. */
const LONGEST_HOLD = 45_000;
/** In ms: a function that gives tokens is asked again after it. */
const TOKEN_PATIENCE = 60_000;
/** In ms: an upload that does not move for so long is given up. */
const IDLE = 60_000;

export class PresenceError extends Error {
  constructor(members) {
    super(members.message ?? members.code);
    Object.assign(this, members, { name: "PresenceError" });
  }
}

// (Servers that render pages import this file too.)
const locks = globalThis.navigator?.locks;
/** Half a character, as in a text that is cut in an emoji, is sent as U+FFFD: a server refuses it in JSON. */
const toJSON = (value) => JSON.stringify(value)?.replace(/\\(ud[89a-f]..|.)/g, (whole, { length }) => (length > 1 ? "\ufffd" : whole));
const wellFormed = (value) => JSON.parse(toJSON(value));
const encode = (text) => encodeURIComponent(wellFormed(String(text)));
const ME = "/v1/me";
const POST = "POST";
const DELETE = "DELETE";
const SESSIONS = "/v1/sessions";
const VERIFIER = "presence signIn";
const CURRENT = SESSIONS + "/current";
const withoutSlash = (url) => url.replace(/\/+$/, "");
const NOBODY = "unauthorized";
const BANNED = "banned";
/** Whether the function of `token` would end another attempt the same way. */
const isOver = (error) => [NOBODY, BANNED].includes(error?.code);
/** States of a connection. */
const LIVE = "live";
const WAITING = "waiting";
const CONNECTING = "connecting";
/** In IndexedDB. */
const STORE = "accounts";
const TOPICS = ["users", "conversations"];
const byTopic = (make) => Object.fromEntries(TOPICS.map((topic) => [topic, make(topic)]));
/** Whether there is a session. */
const isUp = ({ state }) => state === LIVE || state === "stale";

const now = () => Date.now();
const emit = (target, name, detail) => target.dispatchEvent(new CustomEvent(name, { detail }));
const onAbort = (signal, act) => signal?.addEventListener("abort", act);
const random = () => crypto.getRandomValues(new Uint32Array(4)).join("-");
/** Bytes as servers write them: base64url. */
const base64url = (bytes) =>
  btoa(String.fromCharCode(...new Uint8Array(bytes))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");

const failure = (code, message = code, more) => new PresenceError({ code, message, ...more });
const invalid = (message, field) => failure("validation_failed", message, { field });
const networkFailure = () => failure("network", "no connection");
const nobody = () => failure(NOBODY, "nobody is signed in");
const MEMBERS = ["code", "message", "reason", "field", "retryAfter", "until", "outcomeUnknown", "status"];
/** An error in a form for other tabs: other people's errors may have members that cannot be sent. */
const plain = (error) => {
  const members = MEMBERS.map((name) => [name, error[name]]).filter(([, value]) => ["string", "number", "boolean"].includes(typeof value));
  return { ...Object.fromEntries(members), type: "error" };
};

/** The server that this file is from. */
const origin = () => {
  const { url = "" } = import.meta;
  if (!/^https?:/.test(url)) throw invalid("this file is not from a server: give its `url`", "url");
  return new URL(url).origin;
};

/** The value of a promise, if it comes in time. */
const within = (ms, promise) => {
  let timer;
  const late = new Promise((_, reject) => (timer = setTimeout(() => reject(networkFailure()), ms)));
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
};

/** Something that changes, and the loops that wait for it. */
class Changes {
  #waiting = new Set();
  count = 0;
  over = false;

  tell() {
    this.count++;
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }

  end() {
    this.over = true;
    this.tell();
  }

  /** The present value at once, then the newest after each change: changes that come while a loop is busy are one. */
  async *values(read, { signal } = {}) {
    const wake = () => this.tell();
    onAbort(signal, wake);
    try {
      for (let seen = -1; !signal?.aborted && !this.over; ) {
        if (seen === this.count) await new Promise((resolve) => this.#waiting.add(resolve));
        else {
          seen = this.count;
          const value = read();
          if (value !== undefined) yield value;
        }
      }
    } finally {
      signal?.removeEventListener("abort", wake);
    }
  }
}

/** A wait that something may end early. */
class Pause {
  end = () => {};
  /** `Infinity`: until it is ended. */
  wait(ms) {
    return new Promise((resolve) => {
      this.end = resolve;
      if (ms < Infinity) setTimeout(resolve, ms);
    });
  }

  /** Ends this wait, and no later one, after so long. */
  shorten(ms) {
    setTimeout(this.end, ms);
  }
}

/**
 * Runs one of a name at a time, over all tabs where the browser can (it cannot on http pages of other machines). A tab that
 * stands still meanwhile keeps the others waiting for a while, not for ever.
 */
const oneAtATime = (name, act) => {
  if (!locks) return act();
  return new Promise((resolve, reject) => {
    const waiting = new AbortController();
    const timer = setTimeout(() => waiting.abort(), LONGEST_HOLD);
    const run = (options) => locks.request(name, options, () => {
      clearTimeout(timer);
      const acting = act();
      acting.then(resolve, reject);
      return acting.catch(() => {});
    });
    run({ signal: waiting.signal }).catch((error) => (waiting.signal.aborted ? run({ steal: true }) : Promise.reject(error))).catch(reject);
  });
};

/**
 * Runs `act` in one tab at a time: the one that holds a Web Lock, for as long as it answers the others. One that stands still, in
 * a dialog or a debugger, does not: another takes its lock, and `lost` informs it when it continues. `act` ends after the signal.
 */
const lead = (name, { signal, act, lost }) => {
  const channel = new BroadcastChannel(`${name} beats`);
  let isLeading = false;
  let missed = 0;
  const hold = async (options) => {
    let isMine = false;
    try {
      await locks.request(name, options, async () => {
        if (signal.aborted) return;
        isMine = isLeading = true;
        channel.postMessage(true);
        await act();
      });
    } catch {}
    if (isMine) isLeading = false;
    if (signal.aborted) {
      if (!isLeading) channel.close();
    } else if (isMine) {
      lost();
      // The new holder has a place in the queue as well.
      if (!options.steal) hold(options);
    }
  };
  channel.onmessage = ({ data: isBeat }) => {
    if (isBeat) missed = 0;
    // By a timer: a page that the browser has frozen gets messages, and runs no timers.
    else setTimeout(() => isLeading && channel.postMessage(true));
  };
  const timer = setInterval(() => {
    if (isLeading) missed = 0;
    else if (++missed <= MISSED) channel.postMessage(false);
    else {
      missed = 0;
      hold({ steal: true });
    }
  }, BEAT);
  onAbort(signal, () => clearInterval(timer));
  hold({ signal });
};

/** The random delay before an attempt: while the user is not yet shown offline, at most a quarter of `linger`. */
const delayBefore = (attempt, linger, sinceLoss) =>
  Math.random() * Math.min(500 * 2 ** attempt, sinceLoss < linger ? linger / 4 : 30_000);

/** Ids in parts that one message may have, by their number and by their bytes: in `known` each is there once more. */
const batches = (ids, { subscribeBatch, maxMessageBytes }) => {
  const parts = [];
  let part;
  let room = 0;
  for (const id of ids) {
    const size = 2 * toJSON(id).length + 70;
    if (room < size || part.length >= subscribeBatch) {
      parts.push((part = []));
      room = maxMessageBytes - 200;
    }
    room -= size;
    part.push(id);
  }
  return parts;
};

// ---- The socket, and its data --------------------------------------------------------------------------------------------

class Hub {
  #options;
  #say;
  #tabs = new Map();
  /** Watched ids, and the data of each. */
  #held = byTopic(() => new Map());
  #own = {};
  #connection = {};
  #calls = new Map();
  /** Requests that have still to be sent, in order, and those without an answer. */
  #queue = [];
  #sent = new Map();
  /** How many may be without an answer now: none for a while after a refusal, then one until the queue is empty. */
  #room = AT_ONCE;
  #hold;
  #lastID = 0;
  #socket;
  #linger = 10_000;
  #activity;
  #pause = new Pause();
  #closed;
  #abandon;
  /** Gives the connection up, unless what is awaited comes in time. */
  #overdue;
  #patience;
  #doubting;
  #heardAt;
  /** The token that the server has, and when and by what it was asked for anew. */
  #token;
  #renewedAt;
  #renewal;

  constructor(options, say) {
    this.#options = options;
    this.#say = say;
    this.#run();
  }

  // What tabs say.

  receive({ kind, tab: name, ...message }) {
    const tab = this.#tabs.get(name);
    switch (kind) {
      case "join":
        this.#tabs.set(name, { ...byTopic(() => new Set()), activity: message.activity });
        // Data that a tab has from the hub before.
        if (!this.#own.user) this.#own = message.own;
        // Both at once: a listener of the session reads the data of the user.
        this.#say({ own: this.#own, connection: this.#connection, to: name });
        for (const topic of TOPICS) {
          for (const [id, held] of message[topic]) if (!this.#held[topic].has(id)) this.#held[topic].set(id, held);
          this.#add(name, topic, message[topic].map(([id]) => id));
        }
        return this.#setActivity();
      case "call":
        return tab && this.#call(name, message.number, message.request);
      case "cancel":
        return this.#calls.delete(`${name} ${message.number}`);
      case "add":
        return tab && this.#add(name, message.topic, message.ids);
      case "drop":
        return tab && this.#drop(tab, message.topic, message.ids);
      case "activity":
        if (tab) tab.activity = message.activity;
        return this.#setActivity();
      case "send":
        return this.#send(message.request);
      case "leave":
        return this.leave(name);
      case "hurry":
        if (this.#mayTry) this.#pause.shorten(hurried(this.#connection));
        return;
      case "doubt":
        break;
      case "reconnect":
        if (this.#connection.error) this.#run();
      // And `wake`: the network is back, or the page is looked at.
      default:
        if (this.#mayTry) this.#pause.end();
    }
    // Is there still a server?
    if (isUp(this.#connection)) this.#probe(message.patience);
  }

  /** Whether it waits for a time that the server did not name. */
  get #mayTry() {
    return this.#connection.state === WAITING && !this.#connection.told;
  }

  /** A tab was closed: its own subscriptions end. */
  leave(name) {
    const tab = this.#tabs.get(name);
    if (!tab) return;
    this.#tabs.delete(name);
    for (const topic of TOPICS) this.#drop(tab, topic, [...tab[topic]]);
    for (const key of this.#calls.keys()) if (key.startsWith(`${name} `)) this.#calls.delete(key);
    this.#setActivity();
  }

  close() {
    this.#closed = true;
    this.#pause.end();
    // 1000 ends the session. Other tabs go on with it: then it is a loss, which lingers until the next hub is there.
    this.#socket?.close(this.#tabs.size ? 3000 : 1000);
    this.#abandon?.({ code: 1000 });
  }

  // The connection.

  #tell(state, more) {
    this.#connection = { since: now(), state, ...more };
    this.#say({ connection: this.#connection });
  }

  async #run() {
    let attempt = 0;
    let lostAt = 0;
    let renew = false;
    while (!this.#closed) {
      this.#tell(CONNECTING);
      let end;
      try {
        const token = await this.#options.token({ renew });
        // While it was asked for, the client may have been closed.
        if (this.#closed) return;
        end = await this.#session(token);
      } catch (error) {
        end = { error, isNobody: isOver(error) };
      }
      // This tab may have stood still, and another have taken over. The browser reports that before it answers this.
      await this.#options.settled?.();
      if (this.#closed) return;
      if (end.isNobody || end.error?.code === BANNED) return this.#refuse(end);
      // These codes ask for another token.
      const isRefusal = end.code >= 4001 && end.code <= 4003;
      const isRenewed = renew && !end.connected;
      if (FINAL.includes(end.code) || (isRefusal && (this.#options.isFixed || isRenewed))) return this.#refuse(end);
      // A provider that had no answer is asked for a new token again.
      renew = isRefusal || isRenewed;
      if (end.connected) {
        attempt = 0;
        lostAt = now();
      }
      const told = [end.after, end.error?.retryAfter].find((ms) => ms >= 0);
      const delay = told ?? delayBefore(attempt++, this.#linger, now() - lostAt);
      this.#tell(WAITING, { retryAt: now() + delay, told: told >= 0, code: end.code });
      await this.#pause.wait(delay);
    }
  }

  #refuse({ code, error }) {
    this.#calls.clear();
    this.#tell("refused", { code, error: plain(error ?? failure("closed", `closed with ${code}`)) });
  }

  /** One connection from its beginning to its end. */
  #session(token) {
    return new Promise((resolve) => {
      const socket = new WebSocket(this.#options.url.replace(/^http/, "ws") + "/v1/ws", ["presence.v1"]);
      let connected = false;
      let error;
      let silence;
      let heard;
      // Once: a message of a connection after its end does not concern the next one.
      const finish = (end) => {
        if (this.#socket !== socket) return;
        this.#socket = null;
        this.#inTime();
        clearInterval(silence);
        this.#doubting = clearTimeout(this.#doubting);
        clearTimeout(this.#renewal);
        this.#sent.clear();
        this.#queue = [];
        for (const topic of TOPICS) for (const held of this.#held[topic].values()) held.fresh = false;
        resolve({ ...end, connected, error });
      };
      this.#socket = socket;
      this.#token = token;
      this.#renewedAt = -Infinity;
      this.#expect(PATIENCE);
      // A dead connection takes minutes to close: it is not waited for.
      this.#abandon = (end) => {
        socket.close();
        finish(end);
      };
      socket.onopen = () => {
        const { device } = this.#options;
        this.#send({ type: "connect", id: ++this.#lastID, token, device, activity: (this.#activity = this.#wantedActivity) });
      };
      socket.onmessage = ({ data }) => {
        heard = true;
        this.#heardAt = performance.now();
        const message = JSON.parse(data);
        if (message.type === "connected") {
          connected = true;
          this.#inTime();
          const { interval = 20_000, timeout = 10_000 } = message.heartbeat ?? {};
          const bound = interval + timeout;
          // The clock may be set back.
          silence = setInterval(() => {
            if (!heard) this.#probe();
            heard = false;
          }, bound);
          this.#connected(message);
        } else if (message.type === "error" && (!connected || (message.code === BANNED && !message.id))) error = message;
        else this.#hear(message);
      };
      socket.onclose = ({ code, reason }) => {
        let after;
        try {
          after = JSON.parse(reason).reconnectAfter;
        } catch {}
        finish({ code, after });
      };
    });
  }

  #connected({ user, session, status, serverTime, limits, linger }) {
    this.#linger = linger ?? this.#linger;
    // The tokens were another user's until now. The new user must neither send their requests nor see their private data.
    if ((this.#own.user ?? user) !== user) {
      this.#calls.clear();
      this.#own = {};
      for (const topic of TOPICS) for (const id of this.#held[topic].keys()) this.#held[topic].set(id, {});
    }
    this.#setOwn({
      user,
      session,
      contactRequests: undefined,
      status: status ?? this.#own.status,
      clockOffset: serverTime - now(),
      limits: { subscribeBatch: 1000, maxMessageBytes: 262_144, ...limits },
    });
    // Before tabs know of it and ask more.
    for (const call of this.#calls.values()) this.#ask(call);
    this.#tell(LIVE);
    for (const topic of TOPICS) this.#subscribe(topic, [...this.#held[topic].keys()]);
    this.#setActivity();
  }

  #expect(patience) {
    this.#patience = patience;
    this.#overdue = setTimeout(() => this.#abandon({}), patience);
  }

  #inTime() {
    this.#overdue = clearTimeout(this.#overdue);
  }

  /** Finds out whether there still is a server, once at a time. */
  #probe(patience = PATIENCE) {
    const isAsked = this.#overdue;
    if (isAsked && patience >= this.#patience) return;
    this.#inTime();
    this.#expect(patience);
    if (!isAsked) this.#transmit({ make: () => ({ type: "get", users: [] }), done: () => this.#inTime() });
  }

  /** Asks whether there still is a server when a request has no answer for a while, and nothing else came. */
  #doubt(wait = DOUBT) {
    if (this.#overdue) return;
    this.#doubting ??= setTimeout(() => {
      this.#doubting = undefined;
      if (!this.#sent.size) return;
      const left = this.#heardAt + DOUBT - performance.now();
      if (left > 0) this.#doubt(left);
      else this.#probe(SHORT_PATIENCE);
    }, wait);
  }

  #send(message) {
    // 1 is OPEN.
    if (this.#socket?.readyState === 1) this.#socket.send(toJSON(message));
  }

  // Requests.

  #call(tab, number, request) {
    const key = `${tab} ${number}`;
    const answer = (reply) => this.#say({ to: tab, number, reply });
    // (The tab knows of a refused connection.)
    if (this.#calls.has(key) || this.#connection.error) return;
    if (this.#calls.size >= MOST_CALLS) return answer(plain(failure("too_many", "too many requests wait", { retryAfter: 1000 })));
    const call = { make: () => this.#calls.get(key) === call && request, key, done: answer };
    this.#calls.set(key, call);
    if (isUp(this.#connection)) this.#ask(call);
  }

  /**
   * Every request may be repeated: so it is, after a loss and when the server asks for it. A message is made when its turn
   * comes; it may have become needless by then.
   */
  #ask(call) {
    call.order ??= ++this.#lastID;
    this.#queue.push(call);
    this.#queue.sort((a, b) => a.order - b.order);
    this.#next();
  }

  #next() {
    while (this.#queue.length && this.#sent.size < this.#room) this.#transmit(this.#queue.shift());
  }

  #transmit(call) {
    const message = call.make();
    if (!message) return;
    const id = ++this.#lastID;
    // The id first: a server that cannot read the rest names the message by it.
    const whole = Object.assign({ id }, message, { id });
    call.parts = [];
    this.#sent.set(id, call);
    this.#doubt();
    // The server would end the connection, and with it what everybody else waits for.
    if (new Blob([toJSON(whole)]).size <= this.#own.limits.maxMessageBytes) return this.#send(whole);
    this.#answer(call, { ...plain(failure("too_large", "too long")), id });
  }

  /** Nothing more for so long, and for the time in which what was refused waits again; then one by one, until none waits. */
  #slow(ms) {
    this.#room = 0;
    clearTimeout(this.#hold);
    const go = () => {
      this.#room = this.#queue.length ? 1 : AT_ONCE;
      this.#next();
    };
    this.#hold = setTimeout(go, ms + PACE);
  }

  #answer(call, message) {
    call.parts.push(message);
    if (message.more) return;
    this.#sent.delete(message.id);
    const { code, retryAfter } = message;
    const isTooFast = code === "rate_limited";
    if (isTooFast || this.#room === 1) this.#slow(isTooFast ? retryAfter : 0);
    this.#next();
    if (retryAfter >= 0) {
      const socket = this.#socket;
      // A request without a call gets the error.
      if (!call.key) call.done?.(message);
      setTimeout(() => socket === this.#socket && this.#ask(call), retryAfter);
      return;
    }
    if (call.key) this.#calls.delete(call.key);
    const whole = {};
    for (const part of call.parts) {
      for (const name in part) whole[name] = Array.isArray(part[name]) ? (whole[name] ?? []).concat(part[name]) : part[name];
    }
    delete whole.more;
    call.done?.(whole);
  }

  #hear(message) {
    // A server answers in order: what it could not read, and so not name, is the oldest that has no answer.
    if (message.code === "bad_request") message.id ??= this.#sent.keys().next().value;
    switch (message.type) {
      case "presence":
      case "profile":
        this.#change(message.user, message.type, message[message.type]);
        break;
      case "typing":
        this.#changeTyping(message.conversation, message);
        break;
      case "subscribed":
      case "users":
        // An object in an answer replaces what is held, whatever its version.
        for (const { user, ...registers } of message.users ?? []) Object.assign(this.#held.users.get(user) ?? {}, registers);
        for (const { conversation, version, typing, more } of message.conversations ?? []) {
          this.#changeTyping(conversation, { version, users: typing, more }, true);
        }
        // The server does not repeat an answer as an event: so all tabs get it, in its place among the events.
        if (message.conversations) this.#say({ heard: message });
        break;
      case "ownStatus":
      case "ownVisibility": {
        const { type, ...own } = message;
        this.#setOwn(own);
        break;
      }
      case "ownAccount":
        if (!(message.version <= this.#own.accountVersion)) {
          this.#setOwn({ account: message.account, accountVersion: message.version });
        }
        break;
      case "contactRequests":
        if (!(message.version <= this.#own.contactRequests?.version)) this.#setOwn({ contactRequests: message });
        break;
      case "stale":
      case LIVE:
        this.#tell(message.type, message.since && { since: message.since });
        break;
      case "tokenExpiring":
        this.#renewLater(message.expiresIn);
        break;
      default:
        if (!message.id) this.#say({ heard: message });
    }
    const call = this.#sent.get(message.id);
    if (call) this.#answer(call, message);
  }

  /** A provider may give the token that the server has, or one that expires as soon: it is not asked again before a quarter of `left`. */
  #renewLater(left) {
    if (this.#options.isFixed || !(left > 0)) return;
    const wait = Math.max(0, this.#renewedAt + Math.max(left / 4, 1000) - performance.now());
    clearTimeout(this.#renewal);
    this.#renewal = setTimeout(() => this.#renew(left - wait), wait);
  }

  async #renew(left) {
    const socket = this.#socket;
    this.#renewedAt = performance.now();
    let token;
    try {
      token = await this.#options.token({ renew: true });
    } catch {
      // The old one holds until it expires: then it is asked for again.
      return;
    }
    if (socket !== this.#socket) return;
    if (token === this.#token) return this.#renewLater(left + this.#renewedAt - performance.now());
    this.#transmit({ make: () => ({ type: "refresh", token }), done: ({ code }) => code || (this.#token = token) });
  }

  // What is known.

  #setOwn(changes) {
    this.#own = { ...this.#own, ...changes };
    this.#say({ own: this.#own });
  }

  #change(user, name, register) {
    const held = this.#held.users.get(user);
    const version = register?.version ?? 0;
    if (!held || (version && version <= (held[name]?.version ?? 0))) return;
    held[name] = register;
    this.#show("users", [user]);
  }

  #changeTyping(conversation, { version, users, more = 0 }, isAnswer) {
    const held = this.#held.conversations.get(conversation);
    if (!held || (!isAnswer && version && version <= held.version)) return;
    Object.assign(held, { version, users, more });
    this.#show("conversations", [conversation]);
  }

  #show(topic, ids, to) {
    const news = ids.map((id) => [id, { ...this.#held[topic].get(id) }]);
    if (news.length) this.#say({ topic, news, to });
  }

  #add(name, topic, ids) {
    const all = this.#held[topic];
    for (const id of ids) {
      this.#tabs.get(name)[topic].add(id);
      if (!all.has(id)) all.set(id, {});
    }
    this.#show(topic, ids.filter((id) => all.get(id).fresh), name);
    if (isUp(this.#connection)) this.#subscribe(topic, ids.filter((id) => !all.get(id).fresh));
  }

  #drop(tab, topic, ids) {
    for (const id of ids) tab[topic].delete(id);
    const gone = ids.filter((id) => ![...this.#tabs.values()].some((each) => each[topic].has(id)));
    for (const id of gone) this.#held[topic].delete(id);
    if (!isUp(this.#connection)) return;
    for (const part of batches(gone, this.#own.limits)) this.#askAbout(part, "unsubscribe", topic);
  }

  #subscribe(topic, ids) {
    const all = this.#held[topic];
    // One refused conversation refuses the whole request, so each has its own.
    for (const part of topic === "users" ? batches(ids, this.#own.limits) : ids.map((id) => [id])) {
      this.#askAbout(part, "subscribe", topic, (reply) => {
        const error = reply.code && reply;
        const left = part.filter((id) => all.has(id));
        for (const id of left) Object.assign(all.get(id), { fresh: !error, error });
        this.#show(topic, left);
      });
    }
  }

  /** Without `done` it is the end of a subscription: of those that are not wanted any more when its turn comes. */
  #askAbout(part, type, topic, done) {
    const all = this.#held[topic];
    const make = () => {
      const ids = part.filter((id) => all.has(id) === !!done);
      const known = {};
      for (const id of ids) {
        const { presence, profile } = all.get(id) ?? {};
        // 0 is nothing that the server could leave out.
        if (presence?.version) known[id] = { presence: presence.version, profile: profile?.version };
      }
      return ids.length && { type, [topic]: ids, known: done && known };
    };
    this.#ask({ make, done });
  }

  get #wantedActivity() {
    const all = [...this.#tabs.values()].map((tab) => tab.activity);
    return ["active", "idle"].find((activity) => all.includes(activity)) ?? "background";
  }

  #setActivity() {
    const wanted = this.#wantedActivity;
    if (!isUp(this.#connection) || wanted === this.#activity) return;
    this.#activity = wanted;
    this.#ask({ make: () => wanted === this.#activity && { type: "activity", state: wanted } });
  }
}

// ---- A tab's client ----------------------------------------------------------------------------------------------------

export class PresenceClient extends EventTarget {
  #options;
  #hub;
  #channel;
  #tab = random();
  #ending = new AbortController();
  /** By topic and id: what is known, and the loops that want it. */
  #watched = byTopic(() => new Map());
  #calls = new Map();
  #lastCall = 0;
  #connection = { state: CONNECTING, since: now() };
  #own = {};
  #changes = { connection: new Changes(), own: new Changes() };
  #activity = "active";
  #idle;
  #typed = new Map();
  #isOver;
  /** Before it is known who the user is. */
  #pause = new Pause();
  /** The hub whose messages count: one that stood still continues for a moment before it knows that another took over. */
  #leader;
  /** The wait that was shortened last. */
  #hurried;
  /** Whether the page reads how the connection is. */
  #isRead = false;

  constructor({ url = origin(), token, device = {}, share = true, timeout = 10_000, idleAfter = 300_000 } = {}) {
    super();
    this.#options = {
      url: withoutSlash(url), token: tokensOf(token), isFixed: typeof token === "string", timeout, idleAfter, device: { kind: "web", ...device },
    };
    const { signal } = this.#ending;
    addEventListener("online", () => this.#wake(), { signal });
    addEventListener("offline", () => this.#post("doubt", { patience: GONE }), { signal });
    addEventListener("focus", () => this.#hurry(), { signal });
    for (const event of ["pointerdown", "keydown"]) addEventListener(event, () => this.#hurry(), { signal, capture: true });
    const look = () => {
      this.#busy();
      if (!document.hidden) this.#wake(SHORT_PATIENCE);
    };
    document.addEventListener("visibilitychange", look, { signal });
    for (const event of ["pointerdown", "pointermove", "keydown"]) {
      addEventListener(event, () => this.#busy(), { signal, capture: true });
    }
    this.#busy();
    this.#start(share && locks);
  }

  /** The server. */
  get url() {
    return this.#options.url;
  }

  /** How the connection is. */
  get connection() {
    return this.#connection;
  }

  /** Data that only the own user sees: id, status, account, audiences. */
  get own() {
    return this.#own;
  }

  /** @param options `quiet`: it is not the page itself that listens. */
  addEventListener(type, listener, options) {
    if (type === "connection" && !options?.quiet) this.#isRead = true;
    super.addEventListener(type, listener, options);
  }

  /** The provider's token, or with `renew` a newer one: for calls of the HTTP interface. */
  async token(how = {}) {
    return this.#options.token(how);
  }

  /** The server's time, as far as it is known. */
  now() {
    return now() + (this.#own.clockOffset ?? 0);
  }

  connections(options) {
    this.#isRead = true;
    return this.#changes.connection.values(() => this.#connection, options);
  }

  me(options) {
    return this.#changes.own.values(() => this.#own.user && this.#own, options);
  }

  person(user, options) {
    return this.#watch("users", [user], () => this.#people([user])?.[0], options);
  }

  people(users, options) {
    const distinct = [...new Set(listed(users))];
    return this.#watch("users", distinct, () => this.#people(distinct), options);
  }

  typing(conversation, options) {
    const read = () => {
      const { users = [], more = 0, fresh, error, version } = this.#watched.conversations.get(conversation).held;
      if (version === undefined && !error) return undefined;
      const others = users.filter((user) => user !== this.#own.user);
      return { conversation, users: others, more, live: this.#isLive(fresh), ...problem(error) };
    };
    return this.#watch("conversations", [conversation], read, options);
  }

  /** Call it at each key press with `true`, and with `false` when the text is sent or cleared. */
  setTyping(conversation, isTyping = true) {
    check(conversation);
    const last = this.#typed.get(conversation);
    if (isTyping ? Math.abs(now() - last) < 3000 : !last) return;
    if (isTyping) this.#typed.set(conversation, now());
    else this.#typed.delete(conversation);
    this.#post("send", { request: { type: "typing", conversation, typing: isTyping } });
  }

  async get(ids) {
    const users = listed(ids);
    const read = async (users) => (await this.request("get", { users })).users;
    // How many one request may name is known when the first was answered.
    if (!users.length || !this.#own.limits) await read([]);
    const found = [];
    for (const part of batches(new Set(users), this.#own.limits)) found.push(...(await read(part)));
    return found;
  }

  setStatus(status, more) {
    return this.request("status", { ...more, status });
  }

  async updateProfile(changes) {
    return (await this.request("updateProfile", { changes })).profile;
  }

  async createConversation(participants, { key = random() } = {}) {
    return (await this.request("createConversation", { participants, key })).conversation;
  }

  /** Any request of the protocol. It waits for a connection, and is repeated after a loss, until `timeout` has passed. */
  request(type, members = {}) {
    return new Promise((resolve, reject) => {
      const { error } = this.#connection;
      if (error) return reject(new PresenceError(error));
      const number = ++this.#lastCall;
      // A value that cannot be sent fails here, and not in the tab with the socket.
      const request = wellFormed({ ...members, type });
      const expire = () => {
        this.#calls.delete(number);
        this.#post("cancel", { number });
        reject(failure("unavailable", "no answer in time", { outcomeUnknown: true }));
      };
      const timer = setTimeout(expire, this.#options.timeout);
      this.#calls.set(number, { request, resolve, reject, timer, at: performance.now() });
      this.#post("call", { number, request });
    });
  }

  /** Sets the activity by hand, until the page is hidden or shown. */
  setActivity(activity) {
    if (activity === this.#activity) return;
    this.#activity = activity;
    this.#post("activity", { activity });
  }

  /** Tries again after `refused`, and at once where it would wait. */
  reconnect() {
    // Requests from now on wait.
    if (this.#connection.state === "refused") this.#connect({ state: CONNECTING });
    this.#pause.end();
    this.#post("reconnect");
  }

  close() {
    if (this.#isOver) return;
    clearTimeout(this.#idle);
    this.#post("leave");
    this.#isOver = true;
    this.#ending.abort();
    this.#pause.end();
    this.#hub?.close();
    this.#channel?.close();
    this.#connect({ state: "closed", error: plain(failure("closed", "the client is closed", { outcomeUnknown: true })) });
    for (const { loops } of this.#entries) for (const loop of loops) loop.end();
    for (const loop of Object.values(this.#changes)) loop.end();
  }

  // Sharing.

  async #start(share) {
    const { token, url } = this.#options;
    if (!share) return this.#lead();
    const { signal } = this.#ending;
    for (let attempt = 0; !signal.aborted; ) {
      let delay = Infinity;
      try {
        // The user decides which tabs share it; a token without one is not shared.
        const user = userOf(await token({}));
        return user ? this.#share(`presence ${url} ${user}`) : this.#lead();
      } catch (error) {
        if (signal.aborted) return;
        if (isOver(error)) this.#connect({ state: "refused", error: plain(error) });
        else {
          delay = delayBefore(attempt++);
          this.#connect({ state: WAITING, retryAt: now() + delay });
        }
      }
      await this.#pause.wait(delay);
    }
  }

  #share(name) {
    const { signal } = this.#ending;
    this.#options.device.id ??= deviceID();
    this.#options.settled = () => locks.request(random(), () => {});
    const isOver = new Promise((resolve) => onAbort(signal, resolve));
    const act = () => (this.#lead(), isOver);
    // A tab that gets this tab's lock takes it for closed. So nothing is sent before this tab has it.
    const begin = () => {
      if (signal.aborted) return undefined;
      this.#channel = new BroadcastChannel(name);
      this.#channel.onmessage = ({ data }) => {
        if (data.kind) {
          if (this.#hub && data.kind === "join") this.#lock(`${name} ${data.tab}`, () => this.#hub?.leave(data.tab));
          this.#hub?.receive(data);
        } else if (!this.#hub) this.#listen(data);
      };
      lead(name, { signal, act, lost: () => this.#yield() });
      this.#join();
      return isOver;
    };
    // A page that may have no locks, such as one in a sandbox, shares nothing.
    locks.request(`${name} ${this.#tab}`, { signal }, begin).catch(() => signal.aborted || this.#channel || this.#lead());
  }

  #lock(name, act) {
    locks.request(name, { signal: this.#ending.signal }, act).catch(() => {});
  }

  #lead() {
    if (this.#isOver) return;
    const name = (this.#leader = random());
    this.#hub = new Hub(this.#options, (message) => {
      if (this.#leader !== name) return;
      if (message.to !== this.#tab) this.#channel?.postMessage({ ...message, hub: name });
      this.#hear(message);
    });
    this.#join();
    this.#channel?.postMessage({ isNew: true, hub: name });
  }

  /** This tab stood still, and another one has taken over. */
  #yield() {
    const [hub, name] = [this.#hub, this.#leader];
    this.#hub = this.#leader = undefined;
    hub?.close();
    this.#channel.postMessage({ isOver: true, hub: name });
    // Requests from before are not repeated: newer ones may have been done meanwhile.
    const reply = plain(failure("unavailable", "the page stood still", { outcomeUnknown: true }));
    for (const [number, { at }] of this.#calls) if (performance.now() - at >= MISSED * BEAT) this.#hear({ number, reply });
    this.#connect({ state: CONNECTING });
    this.#join();
  }

  /** A message of a hub in another tab. */
  #listen({ hub, isNew, isOver, ...message }) {
    if (isNew) this.#leader = hub;
    this.#leader ??= hub;
    if (this.#leader !== hub) return;
    if (isOver) this.#leader = undefined;
    if (isNew || isOver) this.#join();
    else this.#hear(message);
  }

  #join() {
    const known = ([id, { held }]) => [id, { ...held, fresh: false }];
    const topics = byTopic((topic) => [...this.#watched[topic]].map(known));
    this.#post("join", { ...topics, own: this.#own, activity: this.#activity });
    for (const [number, { request }] of this.#calls) this.#post("call", { number, request });
  }

  #post(kind, message) {
    const whole = { ...message, kind, tab: this.#tab };
    if (this.#hub) this.#hub.receive(whole);
    else if (!this.#isOver) this.#channel?.postMessage(whole);
  }

  #hear(message) {
    if (message.to && message.to !== this.#tab) return;
    const { connection, own, heard, news, topic, reply, number } = message;
    if (own) this.#told("own", (this.#own = own));
    if (connection) this.#connect(connection);
    if (heard) emit(this, "heard", heard);
    if (news) this.#know(topic, news);
    const call = reply && this.#calls.get(number);
    if (!call) return;
    this.#calls.delete(number);
    clearTimeout(call.timer);
    if (reply.type === "error") call.reject(new PresenceError(reply));
    else call.resolve(reply);
  }

  #know(topic, news) {
    const loops = new Set();
    for (const [id, held] of news) {
      const entry = this.#watched[topic].get(id);
      if (!entry) continue;
      entry.held = held;
      for (const loop of entry.loops) loops.add(loop);
      if (topic === "users") emit(this, "person", this.#person(id));
    }
    for (const loop of loops) loop.tell();
  }

  #connect(connection) {
    const was = this.#connection;
    if (was.state === connection.state && was.since === connection.since) return;
    this.#connection = { since: now(), ...connection };
    // There will be none: what waits for one ends.
    if (connection.error) {
      for (const number of this.#calls.keys()) this.#hear({ number, reply: connection.error });
    }
    for (const entry of this.#entries) {
      if (!isUp(connection)) entry.held.fresh = false;
      if ((was.state === LIVE) !== (connection.state === LIVE)) for (const loop of entry.loops) loop.tell();
    }
    // Unless the reason is only that no user is signed in.
    if (connection.state === "refused" && connection.code && !this.#isRead) {
      console.warn(`Presence: the connection was refused: ${connection.error.message} (client.connections() has this too)`);
    }
    this.#told("connection", this.#connection);
  }

  #told(name, value) {
    this.#changes[name].tell();
    emit(this, name, value);
  }

  // Watching.

  get #entries() {
    return TOPICS.flatMap((topic) => [...this.#watched[topic].values()]);
  }

  #watch(topic, ids, read, options) {
    ids.forEach(check);
    return this.#observe(topic, ids, read, options);
  }

  async *#observe(topic, ids, read, options) {
    if (this.#isOver) return;
    const loop = new Changes();
    const all = this.#watched[topic];
    const added = ids.filter((id) => !all.has(id));
    for (const id of added) all.set(id, { held: {}, loops: new Set() });
    for (const id of ids) all.get(id).loops.add(loop);
    if (added.length) this.#post("add", { topic, ids: added });
    try {
      yield* loop.values(read, options);
    } finally {
      const gone = ids.filter((id) => {
        const { loops } = all.get(id);
        loops.delete(loop);
        return !loops.size && all.delete(id);
      });
      if (gone.length) this.#post("drop", { topic, ids: gone });
    }
  }

  #isLive(fresh) {
    return !!fresh && this.#connection.state === LIVE;
  }

  /** `undefined` as long as nothing is known of any of them. */
  #people(users) {
    const people = users.map((user) => this.#person(user));
    return !users.length || people.some(({ presence, error }) => presence || error) ? people : undefined;
  }

  #person(user) {
    const { presence = null, profile = null, fresh, error } = this.#watched.users.get(user)?.held ?? {};
    return { user, presence, profile, live: this.#isLive(fresh), ...problem(error) };
  }

  // Activity.

  #wake(patience) {
    if (this.#connection.state === WAITING) this.#pause.end();
    this.#post("wake", { patience });
  }

  /** The page is used: that ends a wait, each once. */
  #hurry() {
    const { state, since } = this.#connection;
    if (state !== WAITING || this.#hurried === since) return;
    this.#hurried = since;
    this.#pause.shorten(hurried(this.#connection));
    this.#post("hurry");
  }

  #busy() {
    clearTimeout(this.#idle);
    if (document.hidden) return this.setActivity("background");
    this.setActivity("active");
    this.#idle = setTimeout(() => this.#activity === "active" && this.setActivity("idle"), this.#options.idleAfter);
  }
}

const problem = (error) => error && { error: new PresenceError(error) };

/** The rest of a wait that the page's user wants to end. (The clock may be set back.) */
const hurried = ({ since }) => Math.min(HURRY, Math.max(0, since + HURRY - now()));

const check = (id) => {
  if (typeof id !== "string" || !ID.test(id)) throw invalid(`not an id: ${id}`);
};

const listed = (ids) => {
  if (typeof ids === "string" || !ids?.[Symbol.iterator]) throw invalid(`not a list of ids: ${ids}`);
  const list = [...ids];
  list.forEach(check);
  return list;
};

/** The function that gives tokens, of whatever an application has. Without a token no user is signed in. */
const tokensOf = (source) => {
  const isText = typeof source === "string" && source.trim();
  const give = isText ? () => source : typeof source === "function" ? source : typeof source?.token === "function" && ((how) => source.token(how));
  if (!give || (isText && kindOf(isText))) throw invalid("token must be a token, a function that gives one, or an account", "token");
  let isNamed = false;
  return async (how) => {
    const token = await within(TOKEN_PATIENCE, give(how));
    if (typeof token !== "string" || !token.trim()) throw failure(NOBODY, "there is no token");
    const text = token.trim();
    const kind = kindOf(text);
    if (!kind) return text;
    const error = invalid(`the function of \`token\` gave ${kind} and no token`, "token");
    // It is asked again, since it may be a page of a proxy. Without this line a page would wait without a visible reason.
    if (!isNamed) console.warn(`Presence: ${error.message}`);
    isNamed = true;
    throw error;
  };
};

/** The kind of a text that can be no token; its content stays out of logs. */
const kindOf = (text) => {
  if (text[0] === "<") return "HTML";
  if (/^["{[]/.test(text)) return "JSON";
  return /[^!-~]/.test(text) ? "a text with white space or letters beyond ASCII" : undefined;
};

const userOf = (token) => {
  try {
    return JSON.parse(atob(token.split(".")[1].replace(/-/g, "+").replace(/_/g, "/"))).sub;
  } catch {
    // A token of another kind.
  }
};

/** The same for all tabs, so that the next hub continues the session of the one before. */
const deviceID = () => {
  try {
    return (localStorage["presence.device"] ??= random());
  } catch {
    // A browser that keeps nothing.
  }
};

// ---- The signed-in user ------------------------------------------------------------------------------------------------

/** The result of a request to IndexedDB. */
const got = (request) =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });

/**
 * The result of `act` with the records of a database, as one step over all tabs: `act` waits for nothing but `got`. If it fails,
 * nothing is changed.
 */
const transact = (name, act) =>
  new Promise((resolve, reject) => {
    let transaction;
    let isOver = false;
    const end = (error) => {
      isOver = true;
      clearTimeout(timer);
      if (error) reject(error);
    };
    const giveUp = (error) => {
      end(error);
      try {
        transaction?.abort();
      } catch {
        // It is over.
      }
    };
    // Browsers have been seen that never answer.
    const timer = setTimeout(() => giveUp(failure("unavailable", "the browser's storage does not answer")), PATIENCE);
    const opening = indexedDB.open(name, 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore(STORE);
    opening.onerror = () => end(opening.error);
    opening.onsuccess = () => {
      const database = opening.result;
      // An error here is reported nowhere, and would leave all that wait waiting.
      try {
        if (isOver) return;
        transaction = database.transaction(STORE, "readwrite");
        let result;
        act(transaction.objectStore(STORE)).then((made) => (result = made), giveUp);
        transaction.oncomplete = () => {
          end();
          resolve(result);
        };
        transaction.onabort = () => end(transaction.error ?? failure("unavailable", "the browser's storage gave up"));
      } catch (error) {
        end(error);
      } finally {
        // When the transaction is over.
        database.close();
      }
    };
  });

/**
 * Data that survives reloads: returns the value of a key, and replaces it by the result of `change` (`undefined`: it stays), as
 * one step over all tabs.
 */
const stored = (key, change = () => {}) =>
  transact("presence", async (records) => {
    const held = await got(records.get(key));
    const next = change(held);
    if (next !== undefined) records.put(next, key);
    return held;
  });

/** The database with conversations and messages as they were last known, of one user: its `OWNER`. */
const historyOf = (url) => `presence history ${url}`;
const OWNER = "owner";

/** Whatever was still to be written by a tab of the former owner is written no more. */
const clearHistory = (url) =>
  transact(historyOf(url), async (records) => {
    records.clear();
    records.put({}, OWNER);
  });

/** Where the messages of a user are that have still to be sent. */
const queueOf = (url, user) => `${url} queue ${user}`;

/** The error of an answer. */
const refusal = (status, said) =>
  new PresenceError({ code: status >= 500 ? "unavailable" : "internal", message: `HTTP ${status}`, ...said, status });

/** Calls the HTTP interface. */
const ask = async (method, url, body, token) => {
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  if (body) headers["Content-Type"] = "application/json";
  let answer;
  let said;
  try {
    const signal = AbortSignal.timeout(30_000);
    answer = await fetch(url, { method, headers, body: body && toJSON(body), signal, cache: "no-store" });
    const text = await answer.text();
    said = text ? JSON.parse(text) : undefined;
  } catch {
    throw networkFailure();
  }
  if (answer.ok) return said;
  throw refusal(answer.status, said);
};

/** The result of `act` with a token, if there is one. Where the token is refused, once more with a new one. */
const withToken = async (give, act) => {
  const token = await give({});
  try {
    return await act(token);
  } catch (error) {
    if (!token || !isSignedOut(error) || error.reason === "invalid_credentials") throw error;
    return act(await give({ renew: true }));
  }
};

/** `act` with the token of a client's user, never with that of another. */
const asUser = (client, act) =>
  withToken(async (how) => {
    const token = await client.token(how);
    const user = userOf(token);
    if (user && client.user && user !== client.user) throw failure("closed", "another user is signed in");
    return token;
  }, act);

/** Sends a file with a user's token. `progress` gets the share that is sent, from 0 to 1. */
const upload = (method, url, file, token, { progress, signal } = {}) =>
  new Promise((resolve, reject) => {
    if (!token) throw nobody();
    const request = new XMLHttpRequest();
    let timer;
    const end = (error) => (reject(error), request.abort());
    const cancel = () => end(failure("cancelled"));
    const alive = () => {
      clearTimeout(timer);
      timer = setTimeout(end, IDLE, networkFailure());
    };
    request.open(method, url);
    request.setRequestHeader("Authorization", `Bearer ${token}`);
    request.responseType = "json";
    request.upload.onprogress = ({ loaded, total }) => (alive(), progress?.(loaded / total));
    request.onloadend = () => {
      clearTimeout(timer);
      const { status, response } = request;
      if (!status) reject(networkFailure());
      else if (status < 300) resolve(response);
      else reject(refusal(status, response));
    };
    onAbort(signal, cancel);
    if (signal?.aborted) return cancel();
    alive();
    request.send(file);
  });

/** Shared with the other modules. It may change with any version. */
export const internals = {
  Changes, IDLE, OWNER, asUser, ask, base64url, clearHistory, encode, failure, got, historyOf, isUp, lead, locks, problem, queueOf, random, refusal,
  stored, toJSON, transact, upload, userOf, wellFormed, withToken,
};

export class PresenceAccount extends EventTarget {
  #url;
  #access;
  #renewing;
  #state;
  #changes = new Changes();
  #channel;
  #attempt = {};
  #ready;

  constructor({ url = origin() } = {}) {
    super();
    this.#url = withoutSlash(url);
    this.#channel = new BroadcastChannel(`presence account ${this.#url}`);
    this.#channel.onmessage = ({ data }) => {
      this.#access = data.access;
      this.#show(data.state);
    };
    const show = (record) => this.#state === undefined && this.#show(record);
    this.#ready = stored(this.#url).then(show, () => show());
    addEventListener("online", () => this.#leave());
    this.#leave();
  }

  /** `undefined` until it is known, `null` if no user is signed in, else `{ user, account }`. */
  get state() {
    return this.#state;
  }

  states(options) {
    return this.#changes.values(() => this.#state, options);
  }

  /** The signed-in user's id, or `null`. */
  async user() {
    await this.#ready;
    return this.#state?.user ?? null;
  }

  signUp(who) {
    // The same sign-up again, because its answer was lost, is the same account.
    const what = toJSON(who);
    if (this.#attempt.what !== what) this.#attempt = { what, idempotency: random() };
    return this.#enter("/v1/accounts", { ...who, idempotency: this.#attempt.idempotency });
  }

  signIn(email, password) {
    return this.#enter(SESSIONS, { email, password });
  }

  signInByMail(email, mailCode) {
    return this.#enter(SESSIONS, { email, mailCode });
  }

  /** Leaves this page for the provider's. It comes back to `to`, with `#code=…` or `#error=…`. */
  async signInWith(provider, { to = location.pathname } = {}) {
    // The code works in this tab alone: no link of others signs a user in to their account.
    const verifier = (sessionStorage[VERIFIER] = random());
    const challenge = base64url(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier)));
    location.assign(`${this.#url}/v1/signin/${encode(provider)}?${new URLSearchParams({ return: to, challenge })}`);
  }

  /** Ends what `signInWith` began. */
  async finishSignIn(code) {
    const verifier = sessionStorage[VERIFIER];
    delete sessionStorage[VERIFIER];
    if (!verifier) throw failure("unauthorized", "this tab has not begun a sign-in");
    return this.#enter(SESSIONS, { code, verifier });
  }

  /** Works without a network too: this browser forgets at once, the server is informed later. */
  async signOut({ everywhere } = {}) {
    if (everywhere) return this.#end(SESSIONS + "/all");
    const { refreshToken } = await this.#replace(null);
    if (refreshToken) await this.#leave(refreshToken);
  }

  /** An access token that is valid for a minute at least. Throws `unauthorized` when no user is signed in (any more). */
  async token({ renew = false } = {}) {
    await this.#ready;
    if (!renew && this.#access?.until > now() + 60_000) return this.#access.token;
    const old = this.#access?.token;
    const done = () => (this.#renewing = null);
    return (this.#renewing ??= oneAtATime(`presence refresh ${this.#url}`, () => this.#renew(old)).finally(done));
  }

  me() {
    return this.#keep("GET", ME);
  }

  update(changes) {
    return this.#keep("PATCH", ME, { changes });
  }

  async setUsername(username) {
    return (await this.#keep("PUT", ME + "/username", { username })).account;
  }

  removeUsername() {
    return this.request(DELETE, ME + "/username");
  }

  checkUsername(username) {
    return this.request("GET", `/v1/usernames/${encode(username)}`);
  }

  /** `null` if no user can be found by this username. */
  findUser(username) {
    return this.request("GET", `/v1/usernames/${encode(username)}/user`).catch((error) => {
      if (error.code === "not_found") return null;
      throw error;
    });
  }

  /** With new tokens for this device: its former ones may have been stolen. Servers of before give none. */
  async changePassword(password, newPassword) {
    const tokens = await this.request(POST, ME + "/password", { password, newPassword, renew: true });
    if (tokens?.user) await this.#replace(tokens, (found) => found?.user === tokens.user);
  }

  changeEmail(password, email) {
    return this.request(POST, ME + "/email", { password, email });
  }

  sessions() {
    return this.request("GET", ME + "/sessions").then((answer) => answer.sessions);
  }

  endSession(id) {
    return this.request(DELETE, `${SESSIONS}/${encode(id)}`);
  }

  verifyEmail(token) {
    return ask(POST, this.#url + "/v1/emails/verify", { token });
  }

  forgotPassword(email) {
    return ask(POST, this.#url + "/v1/passwords/forgot", { email });
  }

  resetPassword(token, password) {
    return ask(POST, this.#url + "/v1/passwords/reset", { token, password });
  }

  deleteAccount(password, more) {
    return this.#end(ME, { password, ...more });
  }

  removePhoto() {
    return this.request(DELETE, ME + "/photo");
  }

  /** `progress` gets the share that is sent, from 0 to 1. */
  setPhoto(picture, options) {
    return this.#withToken((token) => upload("PUT", this.#url + ME + "/photo", picture, token, options));
  }

  /** Any call of the HTTP interface, with the user's token if one is signed in. */
  request(method, path, body) {
    return this.#withToken((token) => ask(method, this.#url + path, body, token));
  }

  #withToken(act) {
    return withToken(async (how) => (await this.user()) && this.token(how), act);
  }

  async #enter(path, body) {
    const tokens = await ask(POST, this.#url + path, { ...body, device: { kind: "web", id: deviceID() } });
    // Where the server hides whether an address has an account, a mail has the next step.
    if (!tokens?.user) return null;
    const { refreshToken } = await this.#replace(tokens);
    this.#attempt = {};
    if (refreshToken) this.#leave(refreshToken);
    return this.#state;
  }

  async #end(path, body) {
    await this.request(DELETE, path, body);
    await this.#replace(null);
  }

  async #renew(old) {
    // Another tab may have done it while this one waited.
    if (this.#access && this.#access.token !== old) return this.#access.token;
    const record = await stored(this.#url);
    if (!record) throw nobody();
    let tokens;
    try {
      tokens = await ask(POST, this.#url + SESSIONS + "/refresh", { refreshToken: record.refreshToken });
    } catch (error) {
      // Only a refusal by the server signs out, never the network or something in between.
      if (isSignedOut(error)) await this.#replace(null, record.refreshToken);
      throw error;
    }
    if (await this.#replace(tokens, record.refreshToken)) return tokens.accessToken;
    // A user signed out or in meanwhile: the renewed tokens must not be used.
    await ask(DELETE, this.#url + CURRENT, undefined, tokens.accessToken).catch(() => {});
    throw nobody();
  }

  /** Keeps the server's data of the own account. */
  async #keep(...call) {
    const said = await this.request(...call);
    const record = await stored(this.#url);
    if (said.account?.user === record?.user) {
      await this.#replace({ ...record, account: said.account }, record.refreshToken, this.#access);
    }
    return said;
  }

  /** Replaces `old` by tokens or by nothing, unless another tab was faster; without it, whatever is there. Returns the former user. */
  async #replace(tokens, old, access = tokens && { token: tokens.accessToken, until: now() + tokens.expiresIn }) {
    const record = tokens && { user: tokens.user, account: tokens.account, refreshToken: tokens.refreshToken };
    const mayReplace = (found) => !old || (old.call ? old(found) : found?.refreshToken === old);
    const isOther = (found) => found && found.user !== tokens?.user && mayReplace(found);
    // First: a page that is closed in between leaves nothing of the user. (A tab that stands still must not keep them signed in.)
    if (isOther(await stored(this.#url))) await within(GONE, clearHistory(this.#url)).catch(() => {});
    const found = await stored(this.#url, (found) => (mayReplace(found) ? record : undefined));
    if (!mayReplace(found)) return false;
    // Unsent messages are removed with them.
    if (isOther(found)) await stored(queueOf(this.#url, found.user), () => []);
    this.#access = access;
    this.#show(record);
    this.#channel.postMessage({ state: this.#state, access });
    return found ?? {};
  }

  /** Ends sessions of this browser that were left without the server knowing, and one more. */
  async #leave(token) {
    const key = `${this.#url} leaving`;
    try {
      if (token) await stored(key, (tokens = []) => [...tokens, token].slice(-100));
      await oneAtATime(key, async () => {
        for (const refreshToken of (await stored(key)) ?? []) {
          try {
            const { accessToken } = await ask(POST, this.#url + SESSIONS + "/refresh", { refreshToken });
            await ask(DELETE, this.#url + CURRENT, undefined, accessToken);
          } catch (error) {
            if (!isSignedOut(error)) throw error;
          }
          await stored(key, (tokens) => tokens.filter((each) => each !== refreshToken));
        }
      });
    } catch {
      // Without a network: when it is back, or the page is.
    }
  }

  #show(record) {
    const state = record ? { user: record.user, account: record.account } : null;
    if (toJSON(state) === toJSON(this.#state)) return;
    if (!state) this.#access = null;
    this.#state = state;
    this.#changes.tell();
    emit(this, "state", state);
  }
}

const isSignedOut = ({ status, code }) => status === 401 && code === NOBODY;
