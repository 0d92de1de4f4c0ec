// Types of presence-settings.js: what a user is notified of, and when, on all devices.
import type { LoopOptions, PresenceClient } from "./presence.js";

/** Missing members have their defaults: everything is notified at once, with texts. */
export interface NotificationSettings {
  /** By kind: whether a notification is in the list, and pushed. Both are so for a kind that is missing. */
  kinds?: { [kind: string]: { inbox?: boolean; push?: boolean } };
  /** Which messages are pushed. */
  messages?: { direct?: "all" | "none"; groups?: "all" | "none" };
  /** Whether pushes have names and texts. */
  preview?: boolean;
  /** When nothing is pushed: what comes meanwhile is one push at the end. */
  quiet?: QuietHours | null;
  /** Whether pushes wait while the user's status is busy. */
  whileBusy?: "push" | "hold";
}

export interface QuietHours {
  /** An IANA name, such as `Europe/Berlin`. */
  timezone: string;
  /** "22:00" */
  from: string;
  /** "07:00": on the next day, unless it is later than `from`. */
  to: string;
  /** The days on which they begin: 1 is Monday, 7 is Sunday. All seven by default. */
  days?: number[];
  /** What is pushed all the same: urgent notifications. */
  allow?: "urgent"[];
}

/** As the server has them: all members but `quiet`, which is absent without quiet hours. */
export interface StoredSettings extends NotificationSettings {
  kinds: { [kind: string]: { inbox: boolean; push: boolean } };
  messages: { direct: "all" | "none"; groups: "all" | "none" };
  preview: boolean;
  quiet?: Required<QuietHours>;
  whileBusy: "push" | "hold";
  /** Larger is newer; 0: the user has never set them. */
  version: number;
}

/** The settings of a client's user. Errors are `PresenceError`s; the server's refusals have `field`. */
export class PresenceSettings {
  constructor(client: PresenceClient);
  /** The kinds of notifications that there are, with names for people, and whether quiet hours can be set; `null`: no settings. */
  offered(): Promise<{ kinds: { kind: string; name: string }[]; quietHours: boolean } | null>;
  /** The settings as they are now, and after each change on any device. Throws `not_found` on a server without them. */
  notifications(options?: LoopOptions): AsyncGenerator<StoredSettings, void>;
  /** Replaces all settings; a missing one gets its default. */
  replaceNotifications(settings: NotificationSettings): Promise<StoredSettings>;
  /** Replaces the given members, and keeps the others; `quiet: null` ends the quiet hours. */
  changeNotifications(changes: NotificationSettings): Promise<StoredSettings>;
}
