import ArgumentParser
import Foundation
import PresenceCore
import PresenceServer

/// The options that name a server's configuration.
struct ServerFiles: ParsableArguments {
    @Option(help: ArgumentHelp("A configuration file (YAML), the same as the server's.", valueName: "file"))
    var config: String?

    @Option(help: ArgumentHelp("The server's data directory.", valueName: "dir"))
    var dataDir: String?

    func sources(redis: String? = nil) -> ConfigurationSources {
        ConfigurationSources(
            flags: ["redis.url": redis, "dataDirectory": dataDir].compactMapValues(\.self),
            environment: ProcessInfo.processInfo.environment, file: config)
    }
}

/// The options that name the Redis of running servers.
struct ServerPlace: ParsableArguments {
    @OptionGroup var files: ServerFiles

    @Option(
        help: ArgumentHelp(
            "The Redis of the servers (default: by the configuration, else the one that a server runs in its data "
                + "directory): redis://…, unix://…, redis+sentinel://… or redis+cluster://…, rediss… over TLS.",
            valueName: "url"))
    var redis: String?

    var sources: ConfigurationSources { files.sources(redis: redis) }

    /// Does a command's work on its console.
    ///
    /// - Throws: The status that ends the command; the error has been printed on standard error.
    func act<Console>(
        _ open: (String, ServerConfiguration) throws -> Console, _ work: (Console) throws -> Void
    ) async throws {
        try await StandardError.explaining {
            let configuration = try sources.read()
            try work(open(Doctor.place(of: configuration), configuration))
        }
    }
}

extension CommandConfiguration {
    /// - Parameter example: A command line.
    init(_ abstract: String, example: String) {
        self.init(abstract: abstract, discussion: "EXAMPLES\n  presenced " + example)
    }
}
