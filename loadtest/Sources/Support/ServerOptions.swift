import ArgumentParser

/// The tested server and the credentials of its clients: the same for every scenario with one server.
struct ServerOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The server's address.", valueName: "ws://…"))
    var url = "ws://127.0.0.1:4040/v1/ws"

    @OptionGroup var clients: ClientOptions

    var dataDir: String { clients.dataDir }
    var secretFile: String? { clients.secretFile }

    func mint() throws(Failure) -> TokenMint { try clients.mint() }

    /// An engine for at most this many connections to this server.
    /// - Parameter subprotocol: requested in upgrades; `nil` requests none.
    func engine(connections: Int, subprotocol: String? = Upgrade.presence) throws(Failure) -> Engine {
        try Engine(
            endpoints: [Endpoint(url: url)], connections: connections, source: clients.source, subprotocol: subprotocol)
    }
}

/// The same for scenarios with several servers, among which connections are spread evenly.
struct ServersOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "A server's address; given several times, connections are spread over all of them.", valueName: "ws://…"))
    var url = ["ws://127.0.0.1:4040/v1/ws"]

    @OptionGroup var clients: ClientOptions

    func mint() throws(Failure) -> TokenMint { try clients.mint() }

    /// An engine for at most this many connections to these servers together.
    func engine(connections: Int) throws(Failure) -> Engine {
        var endpoints: [Endpoint] = []
        for url in url { endpoints.append(try Endpoint(url: url)) }
        return try Engine(endpoints: endpoints, connections: connections, source: clients.source)
    }
}
