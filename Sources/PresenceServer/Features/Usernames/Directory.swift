import CAssets
import Foundation
import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

extension Script {
    static let peopleStarting = Script("people-starting", asset_people_starting(), library: profileLibrary)
}

/// `GET /v1/people?starts=ana&limit=10`, with `accounts.directory`.
extension Usernames {
    /// Partitions or users that are read at a time.
    private static let window = 16
    /// Entries of the first page. Each further page is twice as long.
    private static let leastPage = 20
    /// Entries that are looked at for one answer. Only beyond so many would a hidden user take the place of another one, and
    /// so reveal the beginning of a name.
    private static let mostLookedAt = 300

    func showPeople(_ call: HTTPCall) async throws(Refusal) -> HTTPResponse {
        try chargeLookUp(by: call.viewer)
        guard shard.link.isLive else { throw .noStore }
        let query = try call.decoded { (_) throws(DecodingFailure) in try PeopleQuery(call.request.query) }
        var people: [(user: UserID, person: FoundPerson)] = []
        var looks: [UserID: FoundPerson] = [:]
        var (last, left, size) = ([UInt8](), Self.mostLookedAt, max(2 * query.limit, Self.leastPage))
        while people.count < query.limit, size > 0 {
            let entries = try await entries(starting: query.starts, after: last, most: size)
            // A page is looked at as a whole, so that neither the answer nor its time tells which users hide.
            let others = Set(entries.map(\.user)).subtracting(looks.keys)
            looks.merge(try await look(at: others, for: call.viewer)) { $1 }
            for entry in entries where people.count < query.limit {
                guard let person = looks[entry.user], !people.contains(where: { $0.user == entry.user }) else {
                    continue
                }
                // A profile that the caller may not see is not found by the name in it.
                let isShown = entry.isUsername || person.profile != ServerMessageWriter.noProfile
                guard person.isAllowed, !isBanned(person), isShown else { continue }
                people.append((entry.user, person))
            }
            guard entries.count == size, let end = entries.last else { break }
            (last, left) = (end.bytes, left - size)
            size = min(2 * size, left)
        }
        let json = people.map { found in
            var json = Array(#"{"user":"#.utf8)
            JSONWriter.string(found.user.string, to: &json)
            return json + Array(#","profile":"#.utf8) + found.person.profile + [UInt8(ascii: "}")]
        }
        return .json(200, Array(#"{"people":["#.utf8) + Array(json.joined(separator: [0x2C])) + Array("]}".utf8))
    }

    private func isBanned(_ person: FoundPerson) -> Bool {
        let words = person.field.string?.split(separator: " ", maxSplits: 1).map(String.init) ?? []
        guard words.count == 2, let ban = Ban(words[0], words[1]) else { return false }
        return ban.until.map { $0 > shard.clock.redisNow } ?? true
    }

    private func look(at users: Set<UserID>, for viewer: UserID?) async throws(Refusal) -> [UserID: FoundPerson] {
        let page = Page()
        await shard.tasks.each(Array(users), window: Self.window) { [shard] user in
            page.looks[user] = try? await shard.policies.find(user, for: viewer, with: "ban")
        }
        guard page.looks.count == users.count else { throw .noStore }
        return page.looks
    }

    /// The first entries of all partitions after another one, in the order of their names.
    private func entries(
        starting text: String, after last: [UInt8], most: Int
    ) async throws(Refusal) -> [DirectoryEntry] {
        let (page, places) = (Page(), [Int](0..<shard.partitions.count))
        await shard.tasks.each(places, window: Self.window) { [shard] place in
            let keys = shard.partitions.keys(place)
            let call = ScriptCall(
                .peopleStarting, in: keys, ["directory": keys.directory],
                ["starts": text, "after": last.hexadecimal, "most": most])
            do throws(Refusal) {
                let reply = try await shard.run(call, changes: false)
                page.entries += reply.rest.compactMap { $0.bytes.flatMap { DirectoryEntry($0) } }
            } catch {
                page.refusal = error
            }
        }
        if let refusal = page.refusal { throw refusal }
        return Array(page.entries.sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }.prefix(most))
    }

    private final class Page {
        var entries: [DirectoryEntry] = []
        var looks: [UserID: FoundPerson] = [:]
        var refusal: Refusal?
    }
}

/// A name in the directory (`enlist` in `profile-lib.lua`).
struct DirectoryEntry {
    let bytes: [UInt8]
    let user: UserID
    /// Otherwise it is a display name.
    let isUsername: Bool

    /// `nil` for an entry that no script has written.
    init?(_ bytes: [UInt8]) {
        let parts = bytes.split(separator: 0x1F, omittingEmptySubsequences: false)
        guard parts.count == 3, let user = UserID(String(decoding: parts[1], as: UTF8.self)) else { return nil }
        (self.bytes, self.user, isUsername) = (bytes, user, parts[2].elementsEqual("u".utf8))
    }
}

/// `?starts=TEXT&limit=N`. Other names are ignored.
struct PeopleQuery {
    let starts: String
    let limit: Int

    static let most = 20
    /// In bytes: two letters, or one of a script with many.
    static let shortest = 2
    static let longest = 64

    init(_ query: String) throws(DecodingFailure) {
        let members = CallQuery(query)
        limit = try members.limit(10, most: Self.most)
        let text = members["starts"] ?? ""
        guard let starts = text.replacingOccurrences(of: "+", with: " ").removingPercentEncoding else {
            throw .invalid("starts", "has a malformed escape")
        }
        self.starts = starts
        guard Self.shortest...Self.longest ~= starts.utf8.count else {
            throw .invalid("starts", "must have \(Self.shortest) to \(Self.longest) bytes")
        }
    }
}
