// Types of presence-push.js: pushes to this browser while no page is open.

/** The page's service worker, if it is not the one of the page's folder. */
export interface PushOptions {
  registration?: ServiceWorkerRegistration;
}

/** `client.push`, once this file is imported. Its errors are `PresenceError`s, or those of the browser. */
export class PresencePush {
  private constructor();
  /** Whether this browser has pushes. */
  readonly supported: boolean;
  /** Whether this browser is subscribed. */
  enabled(options?: PushOptions): Promise<boolean>;
  /**
   * Asks the user if they were not asked before, subscribes and registers the device. Throws `forbidden` if the user does not want
   * notifications, `unsupported` if the browser or the server has no pushes, `not_found` without a service worker.
   */
  enable(options?: PushOptions): Promise<void>;
  /** Removes the device and ends the subscription. */
  disable(options?: PushOptions): Promise<void>;
}

declare module "./presence.js" {
  interface PresenceClient {
    readonly push: PresencePush;
  }
}
