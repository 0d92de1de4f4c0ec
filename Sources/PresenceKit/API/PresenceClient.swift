import Foundation
import PresenceProtocol

/// The signed-in user's connection to the presence server, shared by all observers and calls of the app.
///
/// ```swift
/// let client = PresenceClient(url: URL(string: "wss://presence.example.org/v1/ws")!, token: { try await fetchToken() })
/// for await bob in client.presence(of: "bob") {
///     print(bob.isOnline, bob.status, bob.freshness)
/// }
/// ```
///
/// The client connects on first use, reconnects by itself as long as that makes sense, and then renews all
/// subscriptions; ``connectionStates`` reports its state. Every sequence yields the known value at once, then the
/// newest value after each change: a slow loop misses intermediate values, but never the last one. A loop unsubscribes
/// when it ends or its task is cancelled; loops on the same user share one subscription. Each element has its
/// freshness, live or stale.
///
/// Ids of users and conversations are strings of 1 to 128 bytes of printable ASCII without spaces
/// (``isValidID(_:)``). For any other string, calls throw ``PresenceError`` with the code `invalidID`, and
/// sequences yield one element with that problem and end.
///
/// Methods that are not `async` return at once and take effect in the order of their calls, before any later call.
/// Calls throw ``PresenceError``, or `CancellationError` if their task is cancelled.
///
/// The connection ends when the last reference to the client, its sequences and their loops is released.
public final class PresenceClient: Sendable {
    /// Fetches a valid token (a JWT) of the user. It is called before every connection, and when the server announces
    /// that the current token is about to expire. If it fails then, or returns the same token, it is called again each
    /// time a quarter of the remaining time has passed.
    public typealias TokenProvider = @Sendable () async throws -> String

    /// True inside a token provider whose last token was rejected or is about to expire, so the provider must not
    /// return a cached one. `false` elsewhere.
    @TaskLocal public static var wantsNewToken = false

    /// Receives the server's events as raw bytes, in their order. It must not block.
    package typealias EventListener = @Sendable (Data) -> Void

    let runner: Runner
    private let mailbox: Mailbox
    let follower: SystemFollower?
    /// The HTTP transport of a test's server; `nil` for the machine's.
    package let http: (any HTTPTransport)?
    /// The client's own HTTP requests.
    let httpTasks = ClosableTasks()

    /// Creates a client. It connects on first use.
    ///
    /// - Parameters:
    ///   - url: the server's WebSocket URL, such as `wss://presence.example.org/v1/ws`.
    ///   - token: fetches the user's token. If it throws, the client retries later. If it throws ``PresenceError`` with
    ///     the code `unauthorized`, the client closes instead.
    ///   - device: the id, kind and name of this device.
    ///   - configuration: timeouts and limits; the defaults suit most apps.
    ///   - storage: stores the last known data of users, shown as stale while there is no connection, and pending
    ///     writes. By default in memory.
    ///   - logger: receives log lines; `nil` logs nothing.
    public convenience init(
        url: URL, token: @escaping TokenProvider, device: Device = Device(),
        configuration: Configuration = Configuration(), storage: Storage = .memory(), logger: PresenceLogger? = nil
    ) {
        self.init(
            url: url, token: token, device: device, configuration: configuration, storage: storage, logger: logger,
            dialler: machineDialler(configuration, logger), time: SystemTime())
    }

    /// Creates a client with a token that cannot be renewed. The client closes when the server rejects it.
    public convenience init(
        url: URL, token: String, device: Device = Device(), configuration: Configuration = Configuration(),
        storage: Storage = .memory(), logger: PresenceLogger? = nil
    ) {
        self.init(
            url: url, token: { token }, tokenIsFixed: true, device: device, configuration: configuration,
            storage: storage, logger: logger, dialler: machineDialler(configuration, logger), time: SystemTime())
    }

    /// Creates a client for a library that handles further events of the server.
    ///
    /// - Parameter listeners: the event listeners by `type`.
    package convenience init(
        url: URL, token: @escaping TokenProvider, device: Device, configuration: Configuration, storage: Storage,
        logger: PresenceLogger?, listeners: [String: EventListener]
    ) {
        self.init(
            url: url, token: token, device: device, configuration: configuration, storage: storage, logger: logger,
            listeners: listeners, dialler: machineDialler(configuration, logger), time: SystemTime())
    }

    /// Creates a client of a test's server.
    package convenience init(
        url: URL, token: @escaping TokenProvider, configuration: Configuration, storage: Storage,
        listeners: [String: EventListener] = [:], dialler: any Dialler, http: any HTTPTransport
    ) {
        self.init(
            url: url, token: token, device: Device(), configuration: configuration, storage: storage,
            listeners: listeners, dialler: dialler, http: http, time: SystemTime())
    }

    /// Creates a client with another transport and clock, for tests.
    init(
        url: URL, token: @escaping TokenProvider, tokenIsFixed: Bool = false, device: Device,
        configuration: Configuration, storage: Storage, logger: PresenceLogger? = nil,
        listeners: [String: EventListener] = [:], dialler: any Dialler, http: (any HTTPTransport)? = nil,
        time: any Timekeeper,
        random: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) }
    ) {
        var device = device
        // Without an id, the server would treat each reconnect as a new device beside the lost one.
        if device.id == nil { device.id = storage.deviceID ?? UUID().uuidString.lowercased() }
        let engine = Engine(
            configuration: configuration, device: PresenceProtocol.Device(device),
            flaw: Self.flaw(url) ?? Self.flaw(device), tokenIsFixed: tokenIsFixed, random: random)
        let mailbox = Mailbox()
        let runner = Runner(
            engine: engine, url: url, dialler: dialler, time: time, storage: storage, mailbox: mailbox, logger: logger,
            listeners: listeners, token: token)
        (self.http, self.mailbox, self.runner) = (http, mailbox, runner)
        follower =
            configuration.followsSystem
            ? SystemFollower(
                { [weak runner] input in
                    guard let runner, mailbox.post(input) else { return }
                    Task { await runner.handlePosted() }
                }, isBusy: { [weak runner] in await runner?.isBusy ?? false }) : nil
    }

    /// Posts an input that has no reply, without waiting.
    func post(_ input: Input) {
        guard mailbox.post(input) else { return }
        Task { [runner] in await runner.handlePosted() }
    }

    deinit {
        Task { [runner] in await runner.handle(.abandon) }
    }

    private static func flaw(_ url: URL) -> PresenceError? {
        let isWebSocket = ["ws", "wss"].contains(url.scheme?.lowercased()) && url.host?.isEmpty == false
        return isWebSocket ? nil : PresenceError(.invalidURL, "not a WebSocket URL: \(url)")
    }

    private static func flaw(_ device: Device) -> PresenceError? {
        device.id.flatMap { DeviceID($0) == nil ? .invalidID($0) : nil }
    }
}

extension PresenceProtocol.Device {
    fileprivate init(_ device: Device) {
        self.init(id: device.id.flatMap(DeviceID.init), kind: device.kind.wire, name: device.name)
    }
}
