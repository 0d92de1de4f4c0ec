/** Types of presence-messages.js. What the values mean is in docs/protocol.md; how to use them in docs/javascript.md. */
import type { LoopOptions, PresenceClient, PresenceError, Time } from "./presence.js";

export interface Attachment {
  id: string;
  kind: "image" | "video" | "file";
  url: string;
  thumbnailURL?: string;
  sizeBytes: number;
}

export interface Message {
  /** Made by the sender's library. */
  id: string;
  /** Absent until the server has it. */
  seq?: number;
  version?: number;
  from: string;
  at: Time;
  text: string;
  attachments?: Attachment[];
  priority?: { reason?: string };
  editedAt?: Time;
  /** At most the 10 newest earlier texts, the oldest first. */
  edits?: { text: string; at: Time }[];
  editCount?: number;
  /** Deleted: the text is empty. */
  deletedAt?: Time;
  deletedBy?: string;
  /**
   * Of own messages, and of those that are being changed. `sending`: it, or a change of it, waits. `failed`: the server has
   * refused it, `error` says why; `retry` or `discard` it. Then `sent`, `delivered` to and `read` by all others.
   */
  status?: "sending" | "failed" | "sent" | "delivered" | "read";
  error?: PresenceError;
  /** Of own messages: who has read it. */
  readBy?: string[];
}

export interface Member {
  user: string;
  /** Absent if one of both hides it. */
  read?: number;
  delivered: number;
}

export interface Conversation {
  id: string;
  version: number;
  kind: "direct" | "group";
  /** Everybody in it, sorted. */
  participants: string[];
  /** The same in the order of their joining, with their marks. */
  members: Member[];
  name?: string;
  owner?: string;
  /** The application's own. */
  metadata?: object;
  createdAt: Time;
  /** The numbers of the oldest and the newest message that are kept. */
  first: number;
  last: number;
  /** One that has still to be sent, too. */
  lastMessage?: Message;
  unread: number;
  hasUnreadPriority?: boolean;
  priorityCount?: number;
  muted?: boolean;
  mutedUntil?: Time;
  archived?: boolean;
  /** Whether a user who is no contact has begun it, and this user has not answered (`conversations.from`). */
  request?: boolean;
  archivedAt?: Time;
  /** How many own messages have still to be sent, those that have failed too. */
  unsent: number;
  /** Whether this is so now, or as it was last known. */
  live: boolean;
}

/** One that the user is not in, or no longer. */
export interface NoConversation {
  id: string;
  removed: true;
  live: boolean;
}

export interface MessagePage {
  conversation: string;
  /** The oldest first, without holes but that of `missingBefore`; at the end those that have still to be sent. */
  messages: Message[];
  /** Whether `earlier` has more. */
  hasEarlier: boolean;
  /** The id of the message before which some are not known yet: much has come since the device stored the others. */
  missingBefore?: string;
  live: boolean;
  /** Why they cannot be watched, for instance `forbidden`. */
  error?: PresenceError;
}

/** How much is stored on the device, in IndexedDB, for a page that begins without a network. */
export interface HistoryLimits {
  /** 200: the newest ones. */
  conversations?: number;
  /** 50 of each: the newest ones. */
  messages?: number;
  /** 5,000,000 in all, as JSON; a tenth for each conversation. */
  bytes?: number;
}

/**
 * The conversations and messages of a client's user. What is written waits in IndexedDB until the server has it, over reloads
 * and crashes, in all tabs; it is sent once and in order. Calls that say "waits" are done when it is there.
 */
export class PresenceMessages {
  /**
   * @param options `user`: who it is, if that is known. Otherwise nothing can be written, and nothing stored is shown, before the
   * first connection. `history`: how much is stored; `false`: nothing.
   */
  constructor(client: PresenceClient, options?: { user?: string; history?: HistoryLimits | false });
  /** All of them, archived ones too, the newest first. Throws what the server says if it has no conversations. */
  conversations(options?: LoopOptions): AsyncGenerator<Conversation[], void>;
  conversation(id: string, options?: LoopOptions): AsyncGenerator<Conversation | NoConversation, void>;
  /** One other and no `name`: the direct conversation of both, which there is once. Needs a connection. */
  create(participants: string[], options?: { name?: string; metadata?: object; key?: string }): Promise<Conversation>;
  /** Needs a connection. */
  rename(conversation: string, name: string): Promise<void>;
  /** Needs a connection. */
  changeMembers(conversation: string, change: { add?: string[]; remove?: string[] }): Promise<void>;
  /** Needs a connection. */
  leave(conversation: string): Promise<void>;
  /** Waits. @param muted `true`, `false`, or for how many ms: at most 366 days, or it throws `validation_failed`. */
  mute(conversation: string, muted?: boolean | number): Promise<void>;
  /** Waits. */
  archive(conversation: string, archived?: boolean): Promise<void>;
  /** Waits. All up to this number (`seq`) has been read; without one, all there is. */
  read(conversation: string, upTo?: number): Promise<void>;
  /** Those that the device has, then the newest 50, and more by `earlier`. */
  messages(conversation: string, options?: LoopOptions): AsyncGenerator<MessagePage, void>;
  /**
   * Reads messages (50, at most 100) into the loops that run: those before the message `before`, which is the page's oldest one or its
   * `missingBefore`; by default those that are missing, then older ones. Tells whether there are more. Needs a connection.
   */
  earlier(conversation: string, options?: { limit?: number; before?: string }): Promise<boolean>;
  /** Waits. Throws `too_many` when 500 wait, and `validation_failed` when the text has more than 20 KiB. */
  send(
    conversation: string,
    text: string,
    options?: { attachments?: Attachment[]; priority?: { reason?: string } },
  ): Promise<Message>;
  /**
   * Has the server keep a file (with `attachments.enabled`), and gives what `send` takes: send it within a day. It needs a
   * network; uploads go one after the other. `progress` gets the share that is sent, from 0 to 1. Throws `too_large`,
   * `validation_failed`, `forbidden`, `rate_limited`, `not_found` where the server takes no files, `network`, and `cancelled`
   * after `signal`; the same call again is a retry.
   */
  upload(
    conversation: string,
    file: Blob,
    options?: { name?: string; progress?: (share: number) => void; signal?: AbortSignal },
  ): Promise<Attachment & { name?: string }>;
  /**
   * Lets the user be pushed to here when messages come and they are away: with the token that FCM has given for this page, or
   * APNs for the app around it. Call it at each load, and whenever there is another token. It needs a network. Throws
   * `validation_failed` with `field`, `rate_limited`, `network`, and `closed` if the client has the token of another user.
   */
  registerDevice(pushToken: string, options?: { platform?: "fcm" | "apns" }): Promise<void>;
  /** Lets the user be pushed to here no more. A sign-out of an account does that by itself. Throws as `registerDevice`. */
  removeDevice(): Promise<void>;
  /** Waits. Throws as `send`. */
  edit(conversation: string, message: string, text: string): Promise<void>;
  /** Waits. One that could not be sent is given up. */
  delete(conversation: string, message: string): Promise<void>;
  /** Sends what has failed once more. */
  retry(message: string): Promise<void>;
  /** Gives up what of a message has not been done. */
  discard(message: string): Promise<void>;
  /** How many messages, edits and deletions wait, those that failed too. Known without a connection if the user is. */
  unsent(): Promise<number>;
  /** Gives up all that waits, and deletes the history. An account's `signOut` does that by itself. */
  forget(): Promise<void>;
  /** Ends all loops; this tab sends nothing any more. The client's `close` does that too. */
  close(): void;
}
