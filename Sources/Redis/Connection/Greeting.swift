/// One step of introducing ourselves on a new socket: all steps are sent at once, and each answer is judged.
enum Greeting: Equatable {
    case authenticate(user: String?, password: String)
    case select(database: Int)
    case setName(String)
    /// Tells a master from a replica.
    case role
    /// Tells which process it is.
    case identify
    /// Tells whether the server is ready to serve: one that still loads its data answers `LOADING`.
    case ping

    /// Why we cannot go on.
    struct Objection: Equatable {
        let reason: String
        /// The server does not want us; otherwise it will do in a moment.
        let isRefusal: Bool
    }

    var arguments: [RedisArgument] {
        switch self {
        case .authenticate(nil, let password): ["AUTH", .string(password)]
        case .authenticate(let user?, let password): ["AUTH", .string(user), .string(password)]
        case .select(let database): ["SELECT", .integer(Int64(database))]
        case .setName(let name): ["CLIENT", "SETNAME", .string(name)]
        case .role: ["ROLE"]
        case .identify: ["INFO", "server"]
        case .ping: ["PING"]
        }
    }

    func objection(to answer: RedisValue) -> Objection? {
        if self == .role, let role = answer.array?.first?.string, role != "master" {
            return Objection(reason: "it is a replica", isRefusal: false)
        }
        guard case .error(let line) = answer else { return nil }
        // Said before anything is read, to whatever we send first.
        guard !line.hasPrefix("ERR max number of clients") else { return Objection(line: line) }
        // The server is busy, or reads its data: that passes.
        let failure = RedisFailure.server(line: line)
        guard self == .role || !(failure.isPassing || failure.code == "BUSY") else { return Objection(line: line) }
        switch self {
        case .authenticate(_, let password):
            // A server whose AUTH was renamed answers with what it was given.
            let shown = line.contains(password) ? "AUTH failed" : line
            return Objection(reason: "the password is refused: \(shown)", isRefusal: true)
        case .select(let database):
            return Objection(reason: "database \(database) is refused: \(line)", isRefusal: true)
        case .setName, .role, .identify:
            // Without the permission for it, we go unnamed, and believe that it is what we were told.
            return nil
        case .ping:
            // No permission for PING is an answer too.
            return line.hasPrefix("NOPERM ") ? nil : Objection(line: line)
        }
    }
}

extension Greeting.Objection {
    /// An error to a command that any admitted client may send.
    init(line: String) {
        self.init(reason: line, isRefusal: ["NOAUTH", "NOPERM"].contains(RedisFailure.server(line: line).code))
    }
}

extension RedisValue {
    /// What the server said without being asked, before it hangs up.
    var lastWord: String {
        switch self {
        case .error(let line), .status(let line): line
        default: "an answer to no command"
        }
    }
}

extension RedisEndpoint {
    /// The steps for a connection that runs commands.
    func greetings(name: String, toMaster: Bool = false, identified: Bool = false) -> [Greeting] {
        introductions(name: name) + (database == 0 ? [] : [.select(database: database)])
            + (toMaster ? [.role] : []) + (identified ? [.identify] : []) + [.ping]
    }

    /// The steps for a connection that only subscribes: channels belong to no database, and the confirmation tells
    /// that the server serves.
    func introductions(name: String) -> [Greeting] {
        let authenticate = password.map { Greeting.authenticate(user: user, password: $0) }
        return (authenticate.map { [$0] } ?? []) + [.setName(name)]
    }
}
