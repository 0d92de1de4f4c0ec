import PresenceProtocol
import Redis

/// The result of `HMGET` for a person.
struct PersonRead {
    package static let fields = ["presenceVersion", "presence", "profileVersion", "profile", "visibility", "findable"]

    /// `nil` if the user has never set any part of the policy.
    package let policy: PolicyHead?
    /// Kind, version and body; version 0 if missing or damaged.
    package let registers: [(RegisterKind, Int64, [UInt8])]
    /// Registers that exist but were not written by a server: clients do not get them.
    package let damaged: [RegisterKind]

    /// - Parameter mark: The placeholder to fill in in profiles.
    init(_ value: RedisValue, _ mark: BodyMark? = nil) {
        let fields = value.array ?? []
        var damaged: [RegisterKind] = []
        func register(_ kind: RegisterKind, _ index: Int) -> (RegisterKind, Int64, [UInt8]) {
            guard index + 1 < fields.count, !fields[index].isNull || !fields[index + 1].isNull else {
                return (kind, 0, [])
            }
            guard let version = fields[index].int, let body = fields[index + 1].bytes,
                body.withUnsafeBytes({ RegisterEncoder.isBody($0) })
            else {
                damaged.append(kind)
                return (kind, 0, [])
            }
            return (kind, version, kind == .profile ? mark.filled(body) : body)
        }
        registers = [register(.presence, 0), register(.profile, 2)]
        self.damaged = damaged
        policy = fields.count > 5 ? PolicyHead.read(fields[4], findable: fields[5]) : nil
    }

    package var versions: [Int64] { registers.map(\.1) + [policy?.version ?? 0] }
}
