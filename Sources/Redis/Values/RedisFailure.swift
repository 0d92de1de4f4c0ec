/// The reason why a command has no usable answer.
public enum RedisFailure: Error, Hashable, Sendable {
    /// There was no connection, or it broke. `sent`: the command was at least partly written, so it may have run and
    /// its outcome is unknown; otherwise it did not run.
    case disconnected(sent: Bool)

    /// The server did not answer in time, and the connection was dropped. `sent` as above.
    case timedOut(sent: Bool)

    /// The server answered with an error. `code` is its first word (`OOM`, `NOSCRIPT`, `READONLY`, `BUSY`, `ERR`, or
    /// one of our scripts' own, `FENCED`), `message` the whole line.
    case server(code: String, message: String)

    /// More commands wait than the connection allows (`RedisOptions.maximumPending`): the command was not sent.
    case overloaded

    /// A blocking connection could not be made.
    case unreachable(reason: String)
}

extension RedisFailure {
    /// Whether the command may have run: repeating a change is not safe then.
    public var mayHaveRun: Bool {
        switch self {
        case .disconnected(let sent), .timedOut(let sent): sent
        // A script can fail half-way; a command that is rejected before it runs has one of the codes below.
        case .server(let code, _): !Self.refusals.contains(code)
        case .overloaded, .unreachable: false
        }
    }

    /// Whether the server cannot run the command now, but that server or another one will.
    public var isPassing: Bool { code.map(Self.passing.contains) ?? false }

    /// Whether the server rejects this only for now: it is starting, full, cannot save, has too few replicas, runs a
    /// long script, or is not a master at the moment. The same command may succeed later; a retry is safe if it is safe
    /// to run the command twice.
    public var isTransient: Bool {
        switch self {
        case .server(let code, _): Self.transient.contains(code)
        case .overloaded: true
        case .disconnected, .timedOut, .unreachable: false
        }
    }

    /// Whether the server answered with an error that a retry cannot cure: its data is damaged, or the command is
    /// wrong. A rejection before the command runs (a password, a user's permissions) does not indicate damaged data.
    public var isLasting: Bool { code.map { !isTransient && !Self.refusals.contains($0) } ?? false }

    private static let transient: Set<String> = passing.union(["OOM", "BUSY", "MISCONF", "NOREPLICAS"])

    /// Codes of errors that Redis returns before it runs a command. (`OOM` is such a code only for scripts with flags;
    /// see the scripts.)
    private static let refusals: Set<String> = passing.union([
        "NOSCRIPT", "NOAUTH", "NOPERM", "WRONGPASS", "BUSY", "MISCONF", "NOREPLICAS",
    ])

    private static let passing: Set<String> = [
        "LOADING", "MASTERDOWN", "READONLY", "MOVED", "ASK", "TRYAGAIN", "CLUSTERDOWN",
    ]

    /// The error code, if the server sent one.
    public var code: String? {
        if case .server(let code, _) = self { code } else { nil }
    }

    /// Parses an error line of the server.
    static func server(line: String) -> RedisFailure {
        .server(code: String(line.prefix { $0 != " " }), message: line)
    }
}

extension RedisFailure: CustomStringConvertible {
    public var description: String {
        switch self {
        case .disconnected(let sent):
            "the connection to Redis broke" + (sent ? ", the outcome is unknown" : " before the command was sent")
        case .timedOut(let sent):
            "Redis did not answer in time" + (sent ? ", the outcome is unknown" : " and the command was not sent")
        case .server(_, let message): "Redis answered: \(message)"
        case .overloaded: "too many commands wait for Redis"
        case .unreachable(let reason): reason
        }
    }
}
