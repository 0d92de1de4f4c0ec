import PresenceCore
import PresenceProtocol

/// The scopes of calls. The calls of the console have none, so no key can make them: they create keys and show mails with links
/// that sign in.
extension CallScope {
    static let conversationsRead = CallScope("conversations:read")
    static let conversationsWrite = CallScope("conversations:write")
    static let notificationsWrite = CallScope("notifications:write")
    static let moderationRead = CallScope("moderation:read")
    static let moderationWrite = CallScope("moderation:write")
    static let exportsRead = CallScope("exports:read")

    static let all: [CallScope] = [
        .usersRead, .usersWrite, .conversationsRead, .conversationsWrite, .notificationsWrite, .moderationRead,
        .moderationWrite, .exportsRead,
    ]

    /// - Parameter names: Words; their order does not matter.
    /// - Throws: If one is unknown, or there is none.
    static func list(_ names: [String]) throws(DecodingFailure) -> [CallScope] {
        let known = all.filter { names.contains($0.name) }
        guard !known.isEmpty, names.allSatisfy({ name in all.contains { $0.name == name } }) else {
            throw .invalid("scopes", "must be some of " + all.map(\.name).joined(separator: ", "))
        }
        return known
    }
}
