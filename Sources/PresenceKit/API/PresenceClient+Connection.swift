extension PresenceClient {
    /// Connects, if the client is not connected or connecting. Observing and asking do it by themselves, except after the
    /// connection was closed for good.
    public func connect() {
        post(.connect)
    }

    /// Disconnects: others see the user offline at once (if no other device is here). Sequences stay, stale and with the
    /// reason as their problem, and all goes on with ``connect()``.
    public func disconnect() async {
        _ = await runner.ask { .disconnect($0) }
    }

    /// The app went to the background: the user counts as idle here, and the server holds back events. On Apple's systems
    /// the client notices by itself (``Configuration/followsSystem``).
    public func enterBackground() {
        post(.background)
    }

    /// The app is in front again: the server sends what changed meanwhile; a connection that did not survive is
    /// replaced without waiting.
    public func enterForeground() {
        post(.foreground)
    }

    /// The network changed: replaces the connection without waiting. Others see nothing of it.
    public func reconnectNow() {
        post(.reconnect)
    }

    /// Whether the system has a network. Without one no attempt to connect is made for a while, and calls do not wait for
    /// it; with one, the next attempt is made at once.
    public func networkChanged(isAvailable: Bool) {
        post(.network(isAvailable))
    }

    /// Disconnects, forgets everything (cache, queued writes, status), and ends all sequences but ``connectionStates``.
    public func signOut() async {
        _ = await runner.ask { .signOut($0) }
    }

    /// Goes on as another user, whose token this fetches: everything held for the former one is forgotten, requests
    /// in flight fail with `signedOut`, sequences go on with what the new user may see.
    public func switchUser(token: @escaping TokenProvider) async {
        await runner.switchUser(token)
    }

    /// Forgets everybody who is not observed just now. Queued writes stay.
    public func clearCache() async {
        _ = await runner.ask { .clearCache($0) }
    }
}
