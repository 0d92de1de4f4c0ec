import ArgumentParser

/// Which server is tested and how its clients get in: the same for every scenario.
struct ServerOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The server's address.", valueName: "ws://…"))
    var url = "ws://127.0.0.1:8080/v1/ws"

    @Option(help: ArgumentHelp("The server's data directory: its secret makes the clients' tokens.", valueName: "dir"))
    var dataDir = "data"

    @Option(help: ArgumentHelp("The secret itself, instead of the data directory's.", valueName: "file"))
    var secretFile: String?

    @Option(
        help: ArgumentHelp(
            """
            The first address of 127.0.0.0/8 that connections come from; another one is taken for every \
            \(SourceAddresses.connectionsAnAddress) of them. Processes that run at once do well to have their own.
            """, valueName: "127.x.y.z"))
    var source: String?

    func mint() throws(Failure) -> TokenMint { try TokenMint(file: secretFile ?? "\(dataDir)/secret") }

    /// An engine for at most so many connections to this server.
    func engine(connections: Int) throws(Failure) -> Engine {
        try Engine(endpoint: Endpoint(url: url), connections: connections, source: source)
    }
}
