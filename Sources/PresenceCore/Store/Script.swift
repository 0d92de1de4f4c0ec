import CAssets
import Redis

/// A Lua script. Scripts make all decisions about shared state. Each file begins with its keys, arguments and replies.
///
/// A script belongs to one feature, whose plan lists it; those of the core are here.
/// One object for each script, so that passing it on costs one count of references.
package final class Script: Sendable {
    package let name: String
    /// Whether its reply confirms to a client that a change is stored.
    package let isAcknowledged: Bool
    /// The text for Redis: the flags as its first line, the shared functions that it uses, the script; without comments.
    package let source: String
    package let redis: RedisScript
    /// `nil` for a script whose keys and arguments are given by position.
    package let header: ScriptHeader?
    /// ``ScriptHeader/isFenced``; `false` without a header.
    let isFenced: Bool

    /// - Parameters:
    ///   - name: Unique among all scripts; for logs.
    ///   - body: Its text. One of the first two lines may be `-- flags: allow-oom` or `-- flags: no-writes`. The latter
    ///     is for a script that only reads: such a script runs even if Redis rejects writes.
    ///   - library: The functions that it may use.
    ///   - allowsFullMemory: Whether it also runs when memory is full; `nil`: as in the file.
    ///
    /// Without a flag a script is rejected as a whole when memory is full. Without a first line `#!lua` it would run
    /// until its first rejected write and stay half done.
    package init(
        _ name: String, _ body: String, library: ScriptLibrary = .common, isAcknowledged: Bool = false,
        allowsFullMemory: Bool? = nil
    ) {
        self.name = name
        self.isAcknowledged = isAcknowledged
        let head = body.split(separator: "\n", maxSplits: 2, omittingEmptySubsequences: false).prefix(2)
        let mark = "-- flags: "
        var flags = head.first { $0.hasPrefix(mark) }?.dropFirst(mark.count)
        if let allowsFullMemory { flags = allowsFullMemory ? "allow-oom" : nil }
        let header = ScriptHeader(body)
        self.header = header
        isFenced = header?.isFenced == true
        source =
            (flags.map { "#!lua flags=\($0)\n" } ?? "#!lua\n")
            + library.completing(body, after: header?.prelude ?? "")
        redis = RedisScript(name: name, source: source)
    }

    /// The same, with embedded files (`CAssets`).
    package convenience init(
        _ name: String, _ file: asset, library: ScriptLibrary = .common, isAcknowledged: Bool = false,
        allowsFullMemory: Bool? = nil
    ) {
        self.init(
            name, file.text, library: library, isAcknowledged: isAcknowledged, allowsFullMemory: allowsFullMemory)
    }

    /// Every script of a server with these features.
    package static func all(of features: [any Feature.Type]) -> [Script] {
        // Several features may use the scripts of claims.
        var known: Set<Script> = []
        return (core + features.flatMap { $0.plan.scripts }).filter { known.insert($0).inserted }
    }
}

extension Script: Hashable {
    package static func == (a: Script, b: Script) -> Bool { a.name == b.name }
    package func hash(into hasher: inout Hasher) { hasher.combine(name) }
}

extension Script: CustomStringConvertible {
    package var description: String { name }
}

/// Leases and the right to write.
extension Script {
    package static let join = Script("join", asset_join())
    package static let renew = Script("renew", asset_renew())
    package static let sweep = Script("sweep", asset_sweep())
    package static let fence = Script("fence", asset_fence())
    package static let reap = Script("reap", asset_reap())
    /// For a register that Redis lost: assigns it a version above the one that was shown.
    static let renumber = Script("renumber", asset_renumber())
    static let core: [Script] = [.join, .renew, .sweep, .fence, .reap, .renumber]
}

extension asset {
    /// A text file in UTF-8.
    package var text: String { String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self) }
}
