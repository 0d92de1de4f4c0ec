import ArgumentParser

/// The Redis behind the server, if it is measured separately.
struct RedisOptions: ParsableArguments {
    @Option(help: "The Redis' process, to measure its cost.")
    var redisPid: Int32?

    /// Its processor time; `nil` if it is not measured.
    func processor() throws(Failure) -> ProcessorTime? {
        guard let redisPid else { return nil }
        return try ProcessorTime(processes: [redisPid])
    }
}
