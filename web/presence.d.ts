/** Types of presence.js. What the values mean is in docs/protocol.md; how to use them in docs/javascript.md. */

export type Status = "online" | "away" | "busy" | "offline";
export type ChosenStatus = "auto" | "busy" | "invisible";
export type Activity = "active" | "idle" | "background";
export type DeviceKind = "phone" | "tablet" | "desktop" | "web" | "bot" | "other";
/** Milliseconds since 1970, by the server's clock. */
export type Time = number;

export interface PersonPresence {
  version: number;
  status: Status;
  since?: Time;
  /** Only with `offline`, and only for those who may see it. */
  lastSeen?: Time;
  text?: string;
  devices?: DeviceKind[];
}

export interface Profile {
  version: number;
  displayName?: string;
  username?: string;
  photoURL?: string;
  thumbnailURL?: string;
  timezone?: string;
  locale?: string;
  createdAt: Time;
  updatedAt: Time;
}

export interface Person {
  user: string;
  /** `null` until it is known. */
  presence: PersonPresence | null;
  /** `null` until it is known, and for people without one. */
  profile: Profile | null;
  /** Whether this is so now. Otherwise it is as it was when the connection was lost, or the server lost its store. */
  live: boolean;
  /** Why this person is not watched, for instance `too_many`. */
  error?: PresenceError;
}

export interface Typing {
  conversation: string;
  /** Who types now, without the own user. */
  users: string[];
  /** How many others type beside those named. */
  more: number;
  live: boolean;
  error?: PresenceError;
}

export interface Connection {
  /**
   * - `connecting`: an attempt is under way
   * - `live`: what is shown is so
   * - `stale`: connected, but the server has lost its store for now
   * - `waiting`: until the next attempt, at `retryAt`
   * - `refused`: no attempt follows until `reconnect()`; `code` and `error` say why
   * - `closed`: by `close()`
   */
  state: "connecting" | "live" | "stale" | "waiting" | "refused" | "closed";
  since: Time;
  retryAt?: Time;
  /** Whether the server said when to come back. */
  told?: boolean;
  /** The close code that ended the connection before. */
  code?: number;
  /** Of `refused` and `closed`: what requests end with. */
  error?: ErrorMembers;
}

/** The state of the own user, which only they see. Members are absent until they are known. */
export interface Own {
  user?: string;
  session?: string;
  status?: { status: ChosenStatus; text?: string; clearAt?: Time };
  account?: Account;
  accountVersion?: number;
  visibility?: Visibility;
  /** Who may begin a conversation with this user alone. Absent until it is set: `everyone`. Others send a request. */
  conversations?: { from: "everyone" | "contacts" };
  /** The requests to be contacts that wait for an answer; `PresencePeople.requests()` has them as a list. */
  contactRequests?: { version: number; requests: ContactRequest[] };
  /** How many users are on both lists. */
  contacts?: number;
  blocks?: number;
  /** What to add to the browser's clock, in ms. */
  clockOffset?: number;
  /** The server's, as far as it tells them: `maxMessageBytes`, `maxServerMessageBytes`, `subscriptions`, `subscribeBatch`. */
  limits?: { [name: string]: number };
}

export type Audience = "everyone" | "contacts" | "nobody";
export interface Visibility {
  presence: Audience;
  lastSeen: Audience;
  /** Whether others see how far this user has read, and this user how far they have. Absent until it is set: `everyone`. */
  receipts?: "everyone" | "nobody";
  /** The users who find this one by username. Absent until it is set: `everyone`. */
  findable?: Audience;
}

/** A user who asks to be a contact. */
export interface ContactRequest {
  user: string;
  /** Their name at that time, also if their profile is hidden. */
  displayName?: string;
  text?: string;
  at: Time;
}

export interface Account {
  user: string;
  email: string;
  emailVerified: boolean;
  username?: string;
  preferredLanguage?: string;
  setupCompleted: boolean;
  createdAt: Time;
}

export interface Conversation {
  id: string;
  participants: string[];
}

export interface ErrorMembers {
  /** One of the protocol's (docs/protocol.md, section 10), or `network`, `closed`, `cancelled`. */
  code: string;
  message: string;
  /** More precisely, for instance `email_taken`. */
  reason?: string;
  field?: string;
  /** In ms. */
  retryAfter?: number;
  /** The end of a ban, in ms since 1970; a ban without it has no end. */
  until?: number;
  /** Whether it may have been done all the same. */
  outcomeUnknown?: boolean;
  /** Of an answer over HTTP. */
  status?: number;
}

export class PresenceError extends Error implements ErrorMembers {
  constructor(members: ErrorMembers);
  code: string;
  reason?: string;
  field?: string;
  retryAfter?: number;
  until?: number;
  outcomeUnknown?: boolean;
  status?: number;
}

/**
 * Whence tokens come: a token; a function that gets one (`renew`: the one before was refused or expires); or an account. A
 * function that throws an error with the code `unauthorized` ends the attempts, any other error is tried again.
 */
export type TokenSource = string | ((how: { renew?: boolean }) => Promise<string> | string) | PresenceAccount;

export interface ClientOptions {
  /** The server. By default the one that this file is from. */
  url?: string;
  token: TokenSource;
  device?: { id?: string; kind?: DeviceKind; name?: string };
  /** Whether all tabs of a user share one connection (where the browser can: on https and on localhost). `true` by default. */
  share?: boolean;
  /** How long a request waits for a connection and its answer, in ms: 10,000 by default. */
  timeout?: number;
  /** After how long without a key or a pointer the user is idle, in ms: 300,000 by default. */
  idleAfter?: number;
}

export interface LoopOptions {
  /** Ends the loop. */
  signal?: AbortSignal;
}

/**
 * One user's presence in a tab. Its loops have the present value at once, then the newest after each change; a loop that is
 * left stops watching. Events: `connection`, `own` and `person`, each with its value as `detail`; `heard` has what the server
 * says beside these, as docs/protocol.md writes it.
 */
export class PresenceClient extends EventTarget {
  constructor(options: ClientOptions);
  /** The server. */
  readonly url: string;
  readonly connection: Connection;
  readonly own: Own;
  /** What the provider gives, or with `renew` a newer one: for calls of the HTTP interface. */
  token(how?: { renew?: boolean }): Promise<string>;
  /** The server's time. */
  now(): Time;
  connections(options?: LoopOptions): AsyncGenerator<Connection, void>;
  me(options?: LoopOptions): AsyncGenerator<Own, void>;
  person(user: string, options?: LoopOptions): AsyncGenerator<Person, void>;
  /** All of them in this order, each once. */
  people(users: string[], options?: LoopOptions): AsyncGenerator<Person[], void>;
  typing(conversation: string, options?: LoopOptions): AsyncGenerator<Typing, void>;
  /** `true` at each key press (it is not sent at each), `false` when the text is sent or cleared. */
  setTyping(conversation: string, isTyping?: boolean): void;
  /** Reads people once, each once, in as many requests as the server's limits need. */
  get(users: string[]): Promise<{ user: string; presence: PersonPresence; profile: Profile | null }[]>;
  /** @param more `clearAfter` in ms; a `text` of `null` clears it. */
  setStatus(status: ChosenStatus, more?: { text?: string | null; clearAfter?: number }): Promise<unknown>;
  updateProfile(changes: {
    displayName?: string;
    photoURL?: string | null;
    timezone?: string | null;
    locale?: string | null;
  }): Promise<Profile>;
  createConversation(participants: string[], options?: { key?: string }): Promise<Conversation>;
  /** Any request of the protocol. Requests may be sent twice: after a loss, and where the server asks for it. */
  request(type: string, members?: object): Promise<any>;
  /** By hand, until the page is hidden or shown. */
  setActivity(activity: Activity): void;
  /** Tries again after `refused`, and at once instead of waiting. */
  reconnect(): void;
  /** Ends the connection, or this tab's part in it, and all loops. */
  close(): void;
  addEventListener<Name extends keyof ClientEvents>(
    type: Name,
    listener: (event: ClientEvents[Name]) => void,
    options?: boolean | AddEventListenerOptions,
  ): void;
  addEventListener(type: string, listener: EventListenerOrEventListenerObject | null, options?: boolean | AddEventListenerOptions): void;
  removeEventListener<Name extends keyof ClientEvents>(
    type: Name,
    listener: (event: ClientEvents[Name]) => void,
    options?: boolean | EventListenerOptions,
  ): void;
  removeEventListener(type: string, listener: EventListenerOrEventListenerObject | null, options?: boolean | EventListenerOptions): void;
}

/** The events of a `PresenceClient`. */
export interface ClientEvents {
  connection: CustomEvent<Connection>;
  own: CustomEvent<Own>;
  person: CustomEvent<Person>;
  /** What the server says beside these, as docs/protocol.md writes it. */
  heard: CustomEvent<{ type: string; [member: string]: any }>;
}

export interface SignedIn {
  user: string;
  account: Account;
}

/**
 * Who is signed in, in all tabs of this browser. The refresh token is kept in IndexedDB, the access token in memory. Event:
 * `state`.
 */
export class PresenceAccount extends EventTarget {
  constructor(options?: { url?: string });
  /** `undefined` until it is known, `null` if nobody is signed in. */
  readonly state: SignedIn | null | undefined;
  states(options?: LoopOptions): AsyncGenerator<SignedIn | null, void>;
  user(): Promise<string | null>;
  /** `null` where the server does not tell (`accounts.hideExisting`): a mail says how it goes on. */
  signUp(who: { email: string; password: string; displayName?: string; username?: string }): Promise<SignedIn | null>;
  /** @param email or the username. */
  signIn(email: string, password: string): Promise<SignedIn>;
  /** @param code of a mail (`POST /v1/signin/mail`), or the token of its link. */
  signInByMail(email: string, code: string): Promise<SignedIn>;
  /**
   * Leaves this page for that of a provider (`signIn.providers` of `GET /v1/server`). The user comes back to `to`, a path of the
   * server or an address in `accounts.returnURLs`, with `#code=…` for `finishSignIn` or with `#error=…`.
   */
  signInWith(provider: string, options?: { to?: string }): Promise<void>;
  finishSignIn(code: string): Promise<SignedIn>;
  /** Works without a network too. `everywhere`: on all devices, which needs one. */
  signOut(options?: { everywhere?: boolean }): Promise<void>;
  /** Throws `unauthorized` when nobody is signed in (any more), `network` when the server cannot be asked. */
  token(how?: { renew?: boolean }): Promise<string>;
  me(): Promise<{ account: Account; profile: Profile }>;
  update(changes: {
    displayName?: string;
    photoURL?: string | null;
    timezone?: string | null;
    locale?: string | null;
    preferredLanguage?: string | null;
    setupCompleted?: boolean;
  }): Promise<{ account: Account; profile: Profile }>;
  checkUsername(username: string): Promise<{
    username: string;
    available: boolean;
    reason?: "taken" | "yours" | "invalid" | "reserved";
  }>;
  /**
   * `null` for a username without a user, and for a user who does not let this one find them. Without `profile` the user may be
   * found, and the profile may not be seen.
   */
  findUser(username: string): Promise<{ user: string; profile: Profile | null } | null>;
  setUsername(username: string): Promise<Account>;
  removeUsername(): Promise<void>;
  changePassword(password: string, newPassword: string): Promise<void>;
  /** Sends a mail to the new address; it holds when its link is followed. */
  changeEmail(password: string, email: string): Promise<void>;
  sessions(): Promise<
    { id: string; kind: DeviceKind; name?: string; createdAt: Time; lastUsedAt: Time; current: boolean }[]
  >;
  endSession(id: string): Promise<void>;
  verifyEmail(token: string): Promise<void>;
  forgotPassword(email: string): Promise<void>;
  resetPassword(token: string, password: string): Promise<void>;
  /** @param more `messages`: whether what the user wrote stays with the others (`keep`, the default) or is deleted as well. */
  deleteAccount(password: string, more?: { messages?: "keep" | "delete" }): Promise<void>;
  /** JPEG or PNG, at most 5 MiB. `progress` gets the share that is sent, from 0 to 1. */
  setPhoto(
    picture: Blob,
    options?: { progress?: (share: number) => void; signal?: AbortSignal },
  ): Promise<{ photoURL: string; thumbnailURL: string; profile: Profile }>;
  removePhoto(): Promise<void>;
  /** Any call of the HTTP interface, with the user's token if somebody is signed in. */
  request(method: string, path: string, body?: object): Promise<any>;
  addEventListener(
    type: "state",
    listener: (event: CustomEvent<SignedIn | null>) => void,
    options?: boolean | AddEventListenerOptions,
  ): void;
  addEventListener(type: string, listener: EventListenerOrEventListenerObject | null, options?: boolean | AddEventListenerOptions): void;
  removeEventListener(
    type: "state",
    listener: (event: CustomEvent<SignedIn | null>) => void,
    options?: boolean | EventListenerOptions,
  ): void;
  removeEventListener(type: string, listener: EventListenerOrEventListenerObject | null, options?: boolean | EventListenerOptions): void;
}
