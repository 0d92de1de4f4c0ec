import ArgumentParser

/// Clients that each watch some people, whom other clients watch too.
struct GatheringOptions: ParsableArguments {
    @Option(help: "How many clients connect.")
    var connections = 1_000

    @Option(help: "How many people each watches from the beginning.")
    var watching = 20

    @Option(
        help: """
            Who is watched: a pool of people who are there before everybody else, or the clients themselves, whose \
            coming everybody who watches them is told.
            """)
    var subjects = Subjects.pool

    @Option(help: "How many people are in the pool.")
    var pool = 400

    @Option(help: "Connections opened a second, by the clock; 0 is as fast as the server answers.")
    var rate = 0.0

    @Option(help: "Handshakes under way at most.")
    var atOnce = Ramp.atOnce

    enum Subjects: String, ExpressibleByArgument, CaseIterable, Codable { case pool, clients }

    func validate() throws {
        guard connections >= 1, connections <= 99_999, watching >= 0, pool >= 1 else {
            throw ValidationError("--connections is from 1 to 99999, --pool at least 1.")
        }
        guard rate >= 0, atOnce >= 1 else { throw ValidationError("--rate and --at-once cannot be negative.") }
        guard watching < people else { throw ValidationError("There are only \(people) people to watch.") }
    }

    /// The number of people to watch.
    var people: Int { subjects == .pool ? pool : connections }

    /// All clients. A peer's channels have no owners, so no client connects for them.
    func crowd(isPeer: Bool) -> Crowd {
        Crowd(subjects: subjects == .pool && !isPeer ? pool : 0, watchers: connections)
    }

    /// The people that a client watches: `count` of them, after the first `skipping`.
    func watched(by client: Int, in crowd: Crowd, skipping: Int = 0, count: Int) -> [String] {
        (0..<count).map { place in
            // The client's own place is skipped: no client watches itself.
            let number = (subjects == .pool ? client * watching : client + 1) + skipping + place
            return subjects == .pool ? crowd.subject(number % people) : crowd.watcher(number % people)
        }
    }
}
