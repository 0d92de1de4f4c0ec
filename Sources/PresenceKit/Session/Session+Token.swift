import PresenceProtocol

// Replacing a token before it expires.
extension Session {
    mutating func tokenExpires(in rest: Milliseconds, at now: Moment) {
        guard isConnected else { return }
        token = nil
        // If this one fails there is time for some more before the server closes.
        refreshAt = now.uptime + max(.milliseconds(rest) / 4, .seconds(1))
        fetchForRefresh()
    }

    mutating func fetchForRefresh() {
        guard !isRefreshing else { return }
        isRefreshing = true
        say(.fetchToken(attempt))
    }

    mutating func refresh(_ result: Result<String, PresenceError>, at now: Moment) {
        guard isRefreshing, case .success(let token) = result else {
            isRefreshing = false
            return
        }
        self.token = token
        send(.refresh(token: token), .refresh)
    }

    mutating func refreshed(_ accepted: Bool) {
        isRefreshing = false
        if accepted { refreshAt = nil } else { token = nil }
    }
}
