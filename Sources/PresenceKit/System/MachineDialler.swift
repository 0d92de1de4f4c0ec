#if os(Linux)
    /// The transport of this platform: libwebsockets, on one loop for all clients of the process.
    func machineDialler(_ configuration: PresenceClient.Configuration, _ logger: PresenceLogger?) -> any Dialler {
        LoopDialler(logger: logger)
    }
#else

    /// The transport of this platform: URLSession.
    func machineDialler(_ configuration: PresenceClient.Configuration, _ logger: PresenceLogger?) -> any Dialler {
        #if canImport(Darwin)
            URLSessionDialler(configuration.urlSession ?? .ephemeral)
        #else
            URLSessionDialler()
        #endif
    }
#endif
