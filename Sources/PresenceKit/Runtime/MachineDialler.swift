import PresenceTransport

#if os(Linux)
    /// How connections are made on this platform: libwebsockets, on one loop for all clients of the process.
    func machineDialler() -> any Dialler { LoopDialler() }
#else
    import PresenceURLSession

    /// How connections are made on this platform: URLSession.
    func machineDialler() -> any Dialler { URLSessionDialler() }
#endif
