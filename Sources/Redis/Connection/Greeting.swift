/// A step of the greeting on a new socket. All steps are sent at once, and each answer is checked.
enum Greeting: Equatable {
    case authenticate(user: String?, password: String)
    case select(database: Int)
    case setName(String)
    /// Distinguishes a master from a replica.
    case role
    /// Identifies the server's process.
    case identify
    /// Checks whether the server is ready: a server that still loads its data answers `LOADING`.
    case ping

    /// The reason why the greeting failed.
    struct Objection: Equatable {
        let reason: String
        /// The server rejects the client; otherwise the cause is temporary.
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
        // Redis sends this before it reads anything, so it arrives as the answer to the first step.
        guard !line.hasPrefix("ERR max number of clients") else { return Objection(line: line) }
        // The server is busy, or loads its data: that is temporary.
        let failure = RedisFailure.server(line: line)
        guard self == .role || !(failure.isPassing || failure.code == "BUSY") else { return Objection(line: line) }
        switch self {
        case .authenticate(_, let password):
            // If AUTH was renamed on the server, its error includes the arguments.
            let shown = line.contains(password) ? "AUTH failed" : line
            return Objection(reason: "the password is refused: \(shown)", isRefusal: true)
        case .select(let database):
            return Objection(reason: "database \(database) is refused: \(line)", isRefusal: true)
        case .setName, .role, .identify:
            // Without permission for the command, the connection stays without a name, or the role is assumed to be the
            // configured one.
            return nil
        case .ping:
            // Missing permission for PING also proves that the server answers.
            return line.hasPrefix("NOPERM ") ? nil : Objection(line: line)
        }
    }
}

extension Greeting.Objection {
    /// An error to a command that every authenticated client may send.
    init(line: String) {
        self.init(reason: line, isRefusal: ["NOAUTH", "NOPERM"].contains(RedisFailure.server(line: line).code))
    }
}

extension RedisValue {
    /// The server's unsolicited message before it closes the connection.
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

    /// The steps for a connection that only subscribes. Channels belong to no database, and the confirmation proves
    /// that the server is ready.
    func introductions(name: String) -> [Greeting] {
        let authenticate = password.map { Greeting.authenticate(user: user, password: $0) }
        return (authenticate.map { [$0] } ?? []) + [.setName(name)]
    }
}
