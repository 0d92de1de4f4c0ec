import ArgumentParser

/// What is measured beside the clients, and how patiently.
struct MeasuringOptions: ParsableArguments {
    @Option(help: "The server's process, to measure what it costs; may be given several times.")
    var serverPid: [Int32] = []

    @Option(help: "The core that the clients run on.")
    var pin: Int?

    @Option(help: "How many seconds without any progress are too long.")
    var patience = 15.0

    func validate() throws {
        guard patience > 0 else { throw ValidationError("--patience cannot be nothing.") }
    }
}
