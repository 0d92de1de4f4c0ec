import Redis

/// The Lua scripts that decide what is true. Each file is headed by its keys, arguments and replies.
enum Script: String, CaseIterable, Sendable {
    case open, assert, end, activity, status, lapse, profile, renumber, disconnect, revoke
    case create, typing, conversation, participants
    case visibility, policy
    case join, renew, sweep, fence, reap

    /// What Redis is given: the flags as its first line, the shared functions, the script.
    ///
    /// Without `allow-oom` a script is refused whole when memory is full; with no first line at all it would run until
    /// its first denied write and stay half done.
    var source: String {
        let body = Self.bodies[self]!
        let lines = body.split(separator: "\n", maxSplits: 2, omittingEmptySubsequences: false)
        let head = lines.prefix(2)
        let flags = self == .assert || head.contains("-- flags: allow-oom") ? "#!lua flags=allow-oom\n" : "#!lua\n"
        let library = Self.text(PackageResources.lib_lua)
        let typing = head.contains("-- uses: typing-lib") ? Self.text(PackageResources.typing_lib_lua) : ""
        return flags + library + typing + body
    }

    var redis: RedisScript { Self.compiled[self]! }

    private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    private static let compiled: [Script: RedisScript] = Dictionary(
        uniqueKeysWithValues: allCases.map { ($0, RedisScript(name: $0.rawValue, source: $0.source)) })

    private static let bodies: [Script: String] = Dictionary(
        uniqueKeysWithValues: allCases.map { script in
            let bytes =
                switch script {
                // The same, but for a full memory: what was let in once is kept.
                case .open, .assert: PackageResources.open_lua
                case .end: PackageResources.end_lua
                case .activity: PackageResources.activity_lua
                case .status: PackageResources.status_lua
                case .lapse: PackageResources.lapse_lua
                case .profile: PackageResources.profile_lua
                case .renumber: PackageResources.renumber_lua
                case .disconnect: PackageResources.disconnect_lua
                case .revoke: PackageResources.revoke_lua
                case .create: PackageResources.create_lua
                case .typing: PackageResources.typing_lua
                case .conversation: PackageResources.conversation_lua
                case .participants: PackageResources.participants_lua
                case .visibility: PackageResources.visibility_lua
                case .policy: PackageResources.policy_lua
                case .join: PackageResources.join_lua
                case .renew: PackageResources.renew_lua
                case .sweep: PackageResources.sweep_lua
                case .fence: PackageResources.fence_lua
                case .reap: PackageResources.reap_lua
                }
            return (script, text(bytes))
        })
}
