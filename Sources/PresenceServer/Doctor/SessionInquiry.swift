import PresenceCore
import PresenceProtocol
import Redis

/// Asks the servers whether they hold the sessions that Redis lists as theirs.
///
/// A question goes the way of a partition's events, to every shard; the one whose incarnation it names answers on a
/// channel of this inquiry's own, and only if it does not hold a session. So silence means nothing: the server may be too
/// busy, or of a version that knows no questions. Only what is denied is suspect.
final class Inquiry {
    private let partitions: Partitions
    private let channel: String
    private let listener: BlockingRedis
    private var hasAsked = false

    struct Denial: Hashable {
        let user: UserID
        let session: String
    }

    /// Without another answer for so long, there are no more, in ms.
    private static let patience: Milliseconds = 500
    /// More are not read: the next run finds the rest.
    private static let most = 10_000

    init(_ store: DoctorStore, _ partitions: Partitions) throws(RedisFailure) {
        self.partitions = partitions
        // In a partition's name, so that in a cluster the shards' answers are published where we listen.
        channel = partitions.keys(0).events + ":doctor:\(UInt64.random(in: .min ... .max))"
        listener = try store[channel].listen(to: channel, timeout: Self.patience)
    }

    /// The commands that ask after a user's sessions of live incarnations.
    func questions(_ user: UserID, _ sessions: [HeldSession], _ leases: HeldLeases) -> [[String]] {
        Dictionary(grouping: sessions.filter { leases.isLive($0.incarnation) }, by: \.incarnation).map {
            incarnation, sessions in
            hasAsked = true
            let words = ["Q", user.string, "0", String(leases.now), channel, incarnation] + sessions.map(\.name)
            return ["PUBLISH", partitions.keys(of: user).events, words.joined(separator: " ")]
        }
    }

    /// What was denied, once no more answers come. To be asked once.
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
    /// Asks a second time after the sessions that were denied.
    func lookAtDenied(_ symptoms: Set<Symptom>, _ look: inout Look) throws(RedisFailure) {
        let inquiry = try Inquiry(store, partitions)
        var asked: Set<Inquiry.Denial> = []
        for symptom in symptoms where symptom.kind == .ghostSession {
            guard case .session(let user, let name) = symptom.place else { continue }
            let keys = partitions.keys(of: user)
            guard let value = try store[keys.shards].askAll([["HGET", keys.sessions(user), name]])[0].get().string,
                let session = HeldSession(name: name, value: value)
            else { continue }
            asked.insert(.init(user: user, session: name))
            _ = try store[keys.shards].askAll(inquiry.questions(user, [session], look.leases))
        }
        note(try inquiry.denials().intersection(asked), &look)
    }

    func note(_ denials: Set<Inquiry.Denial>, _ look: inout Look) {
        for denial in denials { look.note(.ghostSession, .session(denial.user, denial.session)) }
    }
}
