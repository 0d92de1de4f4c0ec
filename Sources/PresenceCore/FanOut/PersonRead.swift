import PresenceProtocol
import Redis

/// What `HMGET` answers of a person.
struct PersonRead {
    package static let fields = ["presenceVersion", "presence", "profileVersion", "profile", "visibility"]

    /// `nil` if the user never set any of it.
    package let policy: PolicyHead?
    /// Kind, version and body; version 0 for what is not there, or cannot be read.
    package let registers: [(RegisterKind, Int64, [UInt8])]
    /// What is there and no server has written: clients get nothing of it.
    package let damaged: [RegisterKind]

    /// - Parameter mark: What profiles have in them that is told otherwise.
    init(_ value: RedisValue, _ mark: BodyMark? = nil) {
        let fields = value.array ?? []
        var damaged: [RegisterKind] = []
        func register(_ kind: RegisterKind, _ index: Int) -> (RegisterKind, Int64, [UInt8]) {
            guard index + 1 < fields.count, !fields[index].isNull || !fields[index + 1].isNull else {
                return (kind, 0, [])
            }
            guard let version = fields[index].int, let body = fields[index + 1].bytes,
                body.withUnsafeBytes({ RegisterFrame.isBody($0) })
            else {
                damaged.append(kind)
                return (kind, 0, [])
            }
            return (kind, version, kind == .profile ? mark.filled(body) : body)
        }
        registers = [register(.presence, 0), register(.profile, 2)]
        self.damaged = damaged
        policy = fields.count > 4 ? PolicyHead.read(fields[4]) : nil
    }

    package var versions: [Int64] { registers.map(\.1) + [policy?.version ?? 0] }
}
