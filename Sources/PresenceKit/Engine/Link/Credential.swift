/// The token that the next connection uses, and its replacement before it expires.
struct Credential: Sendable {
    /// `nil` if one has to be fetched.
    private(set) var token: String?
    /// Whether it was fetched for the present attempt.
    private(set) var isFresh = false
    /// A new token is being fetched, or was sent, to replace the present connection's.
    private var isRefreshing = false
    /// When to try that again.
    private(set) var refreshAt: Duration?

    /// An attempt begins; whether there is a token for it.
    mutating func begin() -> Bool {
        isRefreshing = false
        refreshAt = nil
        if token != nil { isFresh = false }
        return token != nil
    }

    /// A token was fetched for the present attempt.
    mutating func hold(_ token: String) {
        self.token = token
        isFresh = true
    }

    /// The server refused it, or it was another user's.
    mutating func forget() {
        token = nil
    }

    // MARK: Refreshing

    /// The server says how soon the present one expires; whether to fetch another.
    mutating func expires(in rest: Duration, at uptime: Duration) -> Bool {
        token = nil
        // If this one fails there is time for some more before the server closes.
        refreshAt = uptime + max(rest / 4, .seconds(1))
        return refresh()
    }

    /// Whether it is time to fetch another once more.
    mutating func retry(at uptime: Duration) -> Bool {
        guard let refreshAt, refreshAt <= uptime else { return false }
        self.refreshAt = nil
        return refresh()
    }

    private mutating func refresh() -> Bool {
        guard !isRefreshing else { return false }
        isRefreshing = true
        return true
    }

    /// The token provider has answered; the token to send.
    mutating func fetched(_ result: Result<String, PresenceError>) -> String? {
        guard isRefreshing, case .success(let token) = result else {
            isRefreshing = false
            return nil
        }
        self.token = token
        return token
    }

    /// The server has answered.
    mutating func refreshed(_ accepted: Bool) {
        isRefreshing = false
        if accepted { refreshAt = nil } else { token = nil }
    }
}
