import Foundation
import PresenceCore
import PresenceProtocol
import Redis

/// The search of the console's pages: all users with a record, present or not, with an account or without.
extension AccountConsole {
    /// A user, as a search returns them.
    struct Person: Encodable {
        let user: String
        let status: String
        let since: Int64?
        let displayName: String?
        let username: String?
        let email: String?
    }

    /// The users that a step found. The last step has no cursor.
    struct People: Encodable {
        var people: [Person] = []
        var cursor: String?
    }

    /// The keys that one scan reads, and the scans in a step: a step takes some 100 ms with the pauses between its
    /// scans.
    private static let (scan, scans) = ("1000", 20)
    /// A step ends after this many users.
    private static let mostFound = 50
    private static let fields = ["status", "since", "profile", "email", "held", "heldAs"]

    /// A cursor of an answer: the server's number, and Redis' cursor.
    static func isCursor(_ text: String) -> Bool { place(text) != nil }

    private static func place(_ cursor: String) -> (server: Int, cursor: String)? {
        let words = cursor.split(separator: ":", omittingEmptySubsequences: false)
        guard words.count == 2, let server = Int(words[0]), server >= 0, UInt64(words[1]) != nil else { return nil }
        return (server, String(words[1]))
    }

    /// One step. Without a cursor, it finds the user whose id, address or username is the text; with a cursor, some of the
    /// users whose id, name, username or address contains the text, in no order.
    func search(_ text: String, after cursor: String?) throws -> People {
        guard let place = cursor.flatMap(Self.place) else {
            let exact = try user(named: text) ?? UserID(text)
            return People(people: try exact.map { try read([$0]).compactMap(\.self) } ?? [], cursor: "0:0")
        }
        let wanted = text.lowercased()
        var found = People()
        var (server, cursor) = place
        for _ in 0..<Self.scans where found.people.count < Self.mostFound && server < store.servers.count {
            let scan = ["SCAN", cursor, "MATCH", "*:user:*", "COUNT", Self.scan]
            // `askAll` pauses after each scan for as long as the scan took.
            let answer = try store.servers[server].runAll([scan])[0].get()
            guard let words = answer.array, words.count == 2, let next = words[0].string else { return found }
            let users = (words[1].array ?? []).compactMap(\.string).compactMap { key -> UserID? in
                guard case .user(let user, let partition) = KeyName(key, in: partitions.space, []),
                    partitions.index(of: user) == partition
                else { return nil }
                return user
            }
            found.people += try read(users, on: store.servers[server]).compactMap(\.self).filter { person in
                [person.user, person.displayName, person.username, person.email].contains {
                    $0?.lowercased().contains(wanted) ?? false
                }
            }
            (server, cursor) = next == "0" ? (server + 1, "0") : (server, next)
        }
        if server < store.servers.count { found.cursor = "\(server):\(cursor)" }
        return found
    }

    /// The records of users; `nil` for a user without a record.
    private func read(_ users: [UserID], on server: DoctorRedis? = nil) throws -> [Person?] {
        guard let first = users.first else { return [] }
        let server = server ?? store[partitions.keys(of: first).shards]
        let answers = try server.runAll(
            users.map { ["HMGET", partitions.keys(of: $0).user($0)] + Self.fields })
        return zip(users, answers).map { user, answer in
            guard let values = (try? answer.get())?.array, values.count == Self.fields.count,
                values.contains(where: { !$0.isNull })
            else { return nil }
            let texts = values.map(\.string)
            let name = values[2].bytes.flatMap(ProfileBody.displayName).flatMap {
                try? JSONDecoder().decode(String.self, from: Data($0))
            }
            let status = texts[0] ?? ""
            return Person(
                user: user.string, status: ["online", "away", "busy"].contains(status) ? status : "offline",
                since: texts[1].flatMap { Int64($0) }, displayName: name,
                username: texts[3] == nil ? nil : texts[5] ?? texts[4], email: texts[3])
        }
    }
}
