import ArgumentParser

/// The processes to measure in addition to the clients, and the run's patience.
struct MeasuringOptions: ParsableArguments {
    @Option(help: "The server's process, to measure its cost; may be given several times.")
    var serverPid: [Int32] = []

    @Option(help: "The core that the clients run on.")
    var pin: Int?

    @Option(help: "How many seconds without any progress are too long.")
    var patience = 15.0

    func validate() throws {
        guard patience > 0 else { throw ValidationError("--patience must be more than 0.") }
    }
}
