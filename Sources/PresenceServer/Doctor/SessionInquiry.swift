import PresenceCore
import PresenceProtocol
import Redis

/// Asks the servers whether they really have the sessions that Redis lists for them.
///
/// Questions are published on the channel of a partition's events, so every shard receives them. The shard whose incarnation a
/// question names replies on this inquiry's own channel, and only about sessions that it does not have. A missing reply proves
/// nothing, because the server may be overloaded or too old to understand the question. Only denied sessions are suspect.
final class Inquiry {
    private let partitions: Partitions
    private let channel: String
    private let listener: BlockingRedis
    private var hasAsked = false

    struct Denial: Hashable {
        let user: UserID
        let session: String
    }

    /// If no further reply arrives within this time, in ms, there are no more.
    private static let patience: Milliseconds = 500
    /// The most denials read; the next run finds the rest.
    private static let most = 10_000

    init(_ store: DoctorStore, _ partitions: Partitions) throws(RedisFailure) {
        self.partitions = partitions
        // The channel is in a partition, so that in a cluster the shards publish their replies on the server to which we
        // listen.
        channel = partitions.keys(0).events + ":doctor:\(UInt64.random(in: .min ... .max))"
        listener = try store[channel].listen(to: channel, timeout: Self.patience)
    }

    /// The commands that ask about the user's sessions of live incarnations.
    func questions(_ user: UserID, _ sessions: [HeldSession], _ leases: HeldLeases) -> [[String]] {
        Dictionary(grouping: sessions.filter { leases.isLive($0.incarnation) }, by: \.incarnation).map {
            incarnation, sessions in
            hasAsked = true
            let words = ["Q", user.string, "0", String(leases.now), channel, incarnation] + sessions.map(\.name)
            return ["PUBLISH", partitions.keys(of: user).events, words.joined(separator: " ")]
        }
    }

    /// The denied sessions, once no more replies arrive. To be called once.
    func denials() throws(RedisFailure) -> Set<Denial> {
        defer { listener.close() }
        var denials: Set<Denial> = []
        guard hasAsked else { return denials }
        while denials.count < Self.most {
            let message: RedisValue
            do throws(RedisFailure) {
                message = try listener.receive()
            } catch {
                if case .timedOut = error { return denials }
                throw error
            }
            let words = message.array?.last?.string?.split(separator: " ").map(String.init) ?? []
            guard words.count > 2, let user = UserID(words[0]) else { continue }
            for session in words[2...] { denials.insert(Denial(user: user, session: session)) }
        }
        return denials
    }
}

extension Doctor {
    /// Asks again about the sessions that were denied.
    func checkDenied(_ symptoms: Set<Symptom>, _ look: inout Look) throws(RedisFailure) {
        let inquiry = try Inquiry(store, partitions)
        var asked: Set<Inquiry.Denial> = []
        for symptom in symptoms where symptom.kind == .ghostSession {
            guard case .session(let user, let name) = symptom.place else { continue }
            let keys = partitions.keys(of: user)
            guard let value = try store[keys.shards].runAll([["HGET", keys.sessions(user), name]])[0].get().string,
                let session = HeldSession(name: name, value: value)
            else { continue }
            asked.insert(.init(user: user, session: name))
            _ = try store[keys.shards].runAll(inquiry.questions(user, [session], look.leases))
        }
        recordDenials(try inquiry.denials().intersection(asked), &look)
    }

    func recordDenials(_ denials: Set<Inquiry.Denial>, _ look: inout Look) {
        for denial in denials { look.record(.ghostSession, .session(denial.user, denial.session)) }
    }
}
