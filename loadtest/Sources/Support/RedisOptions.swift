import ArgumentParser

/// The Redis behind the server, where it is measured apart.
struct RedisOptions: ParsableArguments {
    @Option(help: "The Redis' process, to measure what it costs.")
    var redisPid: Int32?

    /// Its processor time; `nil` if it is not measured.
    func processor() throws(Failure) -> ProcessorTime? {
        guard let redisPid else { return nil }
        return try ProcessorTime(processes: [redisPid])
    }
}
