import Redis

/// A Lua script that decides what is true. Each file is headed by its keys, arguments and replies.
///
/// A script is one feature's, which names it in its plan; those of the core are here.
struct Script: Sendable {
    let name: String
    /// Whether a client waits for its answer as the sign that its change is kept.
    let isAcknowledged: Bool
    /// What Redis is given: the flags as its first line, the shared functions, the script.
    let source: String
    let redis: RedisScript

    /// - Parameters:
    ///   - name: Unique among all scripts; for logs.
    ///   - body: The file. The first lines may say `-- flags: allow-oom`.
    ///   - library: What is put before it, after the shared functions.
    ///   - allowsFullMemory: Whether it runs also when memory is full; `nil`: as the file says.
    ///
    /// Without `allow-oom` a script is refused whole when memory is full; with no first line at all it would run until its
    /// first denied write and stay half done.
    init(
        _ name: String, _ body: [UInt8], library: [UInt8] = [], isAcknowledged: Bool = false,
        allowsFullMemory: Bool? = nil
    ) {
        self.name = name
        self.isAcknowledged = isAcknowledged
        let text = String(decoding: body, as: UTF8.self)
        let head = text.split(separator: "\n", maxSplits: 2, omittingEmptySubsequences: false).prefix(2)
        let flags =
            allowsFullMemory ?? head.contains("-- flags: allow-oom") ? "#!lua flags=allow-oom\n" : "#!lua\n"
        source =
            flags + String(decoding: PackageResources.lib_lua, as: UTF8.self) + String(decoding: library, as: UTF8.self)
            + text
        redis = RedisScript(name: name, source: source)
    }

    /// Every script of a server with these features.
    static func all(of features: [any Feature.Type]) -> [Script] { core + features.flatMap { $0.plan.scripts } }
}

extension Script: Hashable {
    static func == (a: Script, b: Script) -> Bool { a.name == b.name }
    func hash(into hasher: inout Hasher) { hasher.combine(name) }
}

extension Script: CustomStringConvertible {
    var description: String { name }
}

/// Leases and the right to write.
extension Script {
    static let join = Script("join", PackageResources.join_lua)
    static let renew = Script("renew", PackageResources.renew_lua)
    static let sweep = Script("sweep", PackageResources.sweep_lua)
    static let fence = Script("fence", PackageResources.fence_lua)
    static let reap = Script("reap", PackageResources.reap_lua)
    static let core: [Script] = [.join, .renew, .sweep, .fence, .reap]
}
