/// The token for the next connection, and its renewal before it expires.
///
/// A provider may return the same token again, and a token may expire sooner than the server's advance notice. In all
/// cases the provider is called at most once in a quarter of the remaining time, and at most once a second.
struct Credential: Sendable {
    /// `nil` if a token must be fetched.
    private(set) var token: String?
    /// Whether the former token is no longer valid, so the provider must not return it again.
    private(set) var wantsNew = false
    /// Whether the token was fetched for the current attempt.
    private(set) var isFresh = false
    /// A new token for the current connection is being fetched or was sent.
    private var isRefreshing = false
    /// When to retry the refresh: in the future, or `nil`.
    private(set) var refreshAt: Duration?
    /// Tokens for which a `refresh` is pointless: the connection's own, and the last one rejected on it.
    private var shown: String?
    private var refused: String?
    /// When the connection's token expires, once the server has announced it.
    private var expiresAt: Duration?
    /// When the provider was last called for a new token.
    private var askedAt: Duration?

    private static let shortestPause = Duration.seconds(1)
    private static let patience = Duration.seconds(20)

    /// Begins an attempt; returns whether there is a token for it.
    mutating func begin() -> Bool {
        (isRefreshing, refreshAt, expiresAt, askedAt, refused) = (false, nil, nil, nil, nil)
        shown = token
        if token != nil { isFresh = false }
        return token != nil
    }

    /// A token was fetched for the current attempt.
    mutating func hold(_ token: String) {
        self.token = token
        shown = token
        isFresh = true
        wantsNew = false
    }

    /// The server rejected the token, or it belongs to a former user.
    mutating func forget() {
        token = nil
        wantsNew = true
    }

    /// The user signed out. The next user may get the same token from the provider.
    mutating func clear() {
        token = nil
        wantsNew = false
    }

    // MARK: Refreshing

    /// The server announced when the token expires; returns whether to fetch another one.
    mutating func expires(in rest: Duration, at uptime: Duration) -> Bool {
        forget()
        expiresAt = uptime + rest
        let pause = pause(at: uptime)
        if let askedAt, uptime < askedAt + pause {
            refreshAt = askedAt + pause
            return false
        }
        return refresh(at: uptime)
    }

    /// Whether the next refresh is due.
    mutating func retry(at uptime: Duration) -> Bool {
        guard let refreshAt, refreshAt <= uptime else { return false }
        return refresh(at: uptime)
    }

    private mutating func refresh(at uptime: Duration) -> Bool {
        // If this attempt fails, there is time for further ones before the server closes the connection.
        refreshAt = expiresAt.map { $0 > uptime } == true ? uptime + pause(at: uptime) : nil
        // A fetch that has run for longer than `patience` is considered lost.
        if isRefreshing, let askedAt, uptime < askedAt + Self.patience { return false }
        isRefreshing = true
        askedAt = uptime
        return true
    }

    private func pause(at uptime: Duration) -> Duration {
        max(((expiresAt ?? uptime) - uptime) / 4, Self.shortestPause)
    }

    /// The token provider has returned; returns the token to send, if any.
    mutating func fetched(_ result: Result<String, PresenceError>) -> String? {
        guard isRefreshing, case .success(let token) = result, token != shown, token != refused else {
            isRefreshing = false
            return nil
        }
        self.token = token
        return token
    }

    /// The server has replied to a `refresh`.
    mutating func refreshed(_ accepted: Bool) {
        isRefreshing = false
        if accepted {
            shown = token
            refreshAt = nil
            wantsNew = false
        } else {
            refused = token
            token = nil
        }
    }
}
