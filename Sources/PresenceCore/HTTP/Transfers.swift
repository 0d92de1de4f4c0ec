import EventLoops
import PresenceProtocol

/// How many files come and go over HTTP at a time, counted over all shards of the process.
///
/// Each upload holds up to two pieces in memory and a descriptor, each download one. One lock, taken twice for each of them.
package final class Transfers: Sendable {
    private struct State {
        var uploads = 0
        var downloads = 0
        var uploading: Set<UserID> = []
    }

    private let mostUploads: Int
    private let mostDownloads: Int
    private let state = Locked(State())

    package init(_ limits: ServerConfiguration.Limits) {
        mostUploads = limits.uploads
        mostDownloads = limits.downloads
    }

    /// Held as long as the transfer lasts.
    final class Slot: Sendable {
        private let giveBack: @Sendable () -> Void
        fileprivate init(_ giveBack: @escaping @Sendable () -> Void) { self.giveBack = giveBack }
        deinit { giveBack() }
    }

    /// - Parameter user: whose only one it may be; `nil` for a backend.
    /// - Throws: the limit that was met.
    func beginUpload(by user: UserID?) throws(LimitMet) -> Slot {
        let met: Limit? = state.withLock { state in
            if let user, state.uploading.contains(user) { return .userUploads }
            guard state.uploads < mostUploads else { return .uploads }
            state.uploads += 1
            if let user { state.uploading.insert(user) }
            return nil
        }
        if let met { throw LimitMet(limit: met) }
        return Slot { [self] in
            state.withLock { state in
                state.uploads -= 1
                if let user { state.uploading.remove(user) }
            }
        }
    }

    /// `nil` if there are too many.
    func beginDownload() -> Slot? {
        let isFree = state.withLock { state in
            guard state.downloads < mostDownloads else { return false }
            state.downloads += 1
            return true
        }
        guard isFree else { return nil }
        return Slot { [self] in state.withLock { $0.downloads -= 1 } }
    }

    struct LimitMet: Error { let limit: Limit }

    package var uploads: Int { state.withLock { $0.uploads } }
    package var downloads: Int { state.withLock { $0.downloads } }
}
