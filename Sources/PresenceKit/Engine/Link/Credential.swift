/// The token that the next connection uses, and its replacement before it expires.
///
/// A provider may give the same token again, and tokens may live for less than the server's notice: whatever happens, it is
/// asked at most once in a quarter of the time that is left, and at most once a second.
struct Credential: Sendable {
    /// `nil` if one has to be fetched.
    private(set) var token: String?
    /// Whether the former one is of no more use, so that it makes no sense to get it again.
    private(set) var wantsNew = false
    /// Whether it was fetched for the present attempt.
    private(set) var isFresh = false
    /// A new token is being fetched, or was sent, to replace the present connection's.
    private var isRefreshing = false
    /// When to try that again; in the future, or `nil`.
    private(set) var refreshAt: Duration?
    /// The tokens that a `refresh` with would change nothing: the connection's own, and the last one that was refused on it.
    private var shown: String?
    private var refused: String?
    /// When the connection's own expires, once the server has given notice.
    private var expiresAt: Duration?
    /// When the provider was last asked for its replacement.
    private var askedAt: Duration?

    private static let shortestPause = Duration.seconds(1)
    private static let patience = Duration.seconds(20)

    /// An attempt begins; whether there is a token for it.
    mutating func begin() -> Bool {
        (isRefreshing, refreshAt, expiresAt, askedAt, refused) = (false, nil, nil, nil, nil)
        shown = token
        if token != nil { isFresh = false }
        return token != nil
    }

    /// A token was fetched for the present attempt.
    mutating func hold(_ token: String) {
        self.token = token
        shown = token
        isFresh = true
        wantsNew = false
    }

    /// The server refused it, or it was another user's.
    mutating func forget() {
        token = nil
        wantsNew = true
    }

    /// The user is gone: the next one may have it still.
    mutating func clear() {
        token = nil
        wantsNew = false
    }

    // MARK: Refreshing

    /// The server says how soon the present one expires; whether to fetch another.
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

    /// Whether it is time to fetch another once more.
    mutating func retry(at uptime: Duration) -> Bool {
        guard let refreshAt, refreshAt <= uptime else { return false }
        return refresh(at: uptime)
    }

    private mutating func refresh(at uptime: Duration) -> Bool {
        // If this one fails there is time for some more before the server closes.
        refreshAt = expiresAt.map { $0 > uptime } == true ? uptime + pause(at: uptime) : nil
        // What was asked for so long ago will not come.
        if isRefreshing, let askedAt, uptime < askedAt + Self.patience { return false }
        isRefreshing = true
        askedAt = uptime
        return true
    }

    private func pause(at uptime: Duration) -> Duration {
        max(((expiresAt ?? uptime) - uptime) / 4, Self.shortestPause)
    }

    /// The token provider has answered; the token to send.
    mutating func fetched(_ result: Result<String, PresenceError>) -> String? {
        guard isRefreshing, case .success(let token) = result, token != shown, token != refused else {
            isRefreshing = false
            return nil
        }
        self.token = token
        return token
    }

    /// The server has answered.
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
