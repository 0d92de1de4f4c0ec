extension PresenceClient {
    /// Connects, unless the client is connected or connecting. Observers and calls connect by themselves, except after
    /// the client was closed.
    public func connect() {
        post(.connect)
    }

    /// Disconnects: others see the user offline at once (if no other device is connected). Sequences continue, stale
    /// and with the reason as their problem, and resume after ``connect()``.
    public func disconnect() async {
        _ = await runner.ask { .disconnect($0) }
    }

    /// Call this when the app enters the background: the user counts as idle on this device, and the server holds back
    /// events. On Apple platforms the client does this by itself (``Configuration/followsSystem``).
    public func enterBackground() {
        post(.background)
    }

    /// Call this when the app returns to the foreground: the server sends what changed, and a connection that did not
    /// survive is replaced at once.
    public func enterForeground() {
        post(.foreground)
    }

    /// Replaces the connection at once. Call it when the network changed. Other users do not notice.
    public func reconnectNow() {
        post(.reconnect)
    }

    /// Reports whether the device has a network. Without one, the client makes no attempt for a while and calls do not
    /// wait for a connection. When it returns, the next attempt starts at once.
    public func networkChanged(isAvailable: Bool) {
        post(.network(isAvailable))
    }

    /// Disconnects, deletes all data (cache, queued writes, status), and ends all sequences except
    /// ``connectionStates``. Returns when the data is deleted.
    public func signOut() async {
        await runner.signOut()
    }

    /// Disconnects for good and closes the storage, whose directory another client can use once this returns. All data
    /// stays in it. Sequences end except ``connectionStates``, and later calls throw `notConnected`.
    public func close() async {
        follower?.stop()
        await httpTasks.close()
        await runner.close()
    }

    /// Changes the user to the one whose token the provider fetches. All data of the former user is deleted, pending
    /// requests fail with `signedOut`, and sequences continue with what the new user may see.
    public func switchUser(token: @escaping TokenProvider) async {
        await runner.switchUser(token)
    }

    /// Removes all users who are not being observed. Queued writes stay.
    public func clearCache() async {
        _ = await runner.ask { .clearCache($0) }
    }
}
