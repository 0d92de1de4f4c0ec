// Types of presence-people.js: finding people, contact requests, reports, and the export of a user's own data.
import type { ContactRequest, LoopOptions, PresenceClient, Profile } from "./presence.js";

/** A user who was found. The profile is `null` if it may not be seen. */
export interface Found {
  user: string;
  profile: Profile | null;
}

/** A user, a conversation, or a message in it. */
export interface Report {
  user?: string;
  conversation?: string;
  /** The id of a message; with `conversation`. */
  message?: string;
  /** 1 to 100 characters. */
  reason: string;
  /** At most 2,000 characters. */
  text?: string;
}

/** Other people, and what a user may do about them. Errors are `PresenceError`s. */
export class PresencePeople {
  constructor(client: PresenceClient);
  /** `null` for a username without a user, and for a user who does not let this one find them. */
  find(username: string): Promise<Found | null>;
  /**
   * Users whose username or display name begins so (2 to 64 bytes), where the server has a directory (`directory` in the features
   * of `GET /v1/server`); else it throws `not_found`.
   *
   * @param options `limit`: 10 by default, 20 at most.
   */
  search(starts: string, options?: { limit?: number }): Promise<Found[]>;
  /** The users who ask to be contacts, the oldest first, as they change on any device. */
  requests(options?: LoopOptions): AsyncGenerator<ContactRequest[], void>;
  /**
   * Asks a user to be a contact of this one, where the server has `contactRequests`. It succeeds as well when they do not see it: they
   * may hide from this user, have refused them within 30 days, or not exist.
   *
   * @param options `text`: at most 140 characters.
   */
  ask(user: string, options?: { text?: string }): Promise<void>;
  /** Accepts or refuses a user's request, be it to be a contact or to begin a conversation. `not_found`: there is none any more. */
  answer(user: string, accept: boolean): Promise<void>;
  /** Reports something to the operators, and returns the report's id: the former one if it was reported before. */
  report(what: Report): Promise<string>;
  /**
   * All that the server has of the signed-in user, as a tar (docs/privacy.md). It throws `rate_limited` for a user who has made
   * several in the last hours.
   *
   * @param options `progress` gets the share that has come, from 0 to 1.
   */
  export(options?: { progress?: (share: number) => void; signal?: AbortSignal }): Promise<Blob>;
}
