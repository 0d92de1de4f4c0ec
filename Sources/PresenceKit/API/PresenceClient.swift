import Foundation
import PresenceProtocol
import PresenceTransport

/// A user's one connection to the presence server, shared by everything that the app observes and asks.
///
/// ```swift
/// let client = PresenceClient(url: URL(string: "wss://presence.example.org/v1/ws")!, token: { try await fetchToken() })
/// for await bob in client.presence(of: "bob") {
///     print(bob.isOnline, bob.status, bob.freshness)
/// }
/// ```
///
/// It connects by itself when it is first used, reconnects by itself as long as that makes sense, and subscribes again
/// to everything observed; ``connectionStates`` tells how it is. Every sequence yields what is known at once, then the
/// newest value after each change: a slow loop misses values between, never the last. Ending a loop, or cancelling its
/// task, unsubscribes; loops on the same person share one subscription. Elements say whether they are live or stale.
///
/// Ids of users and conversations are strings of 1 to 128 bytes of printable ASCII without space
/// (``PresenceID/isValid(_:)``). A call with another one throws ``PresenceError`` with the code `invalidID`; a sequence
/// yields one element with that problem and ends.
///
/// Verbs that are not `async` return at once and take effect in the order they are called, before any call that is made
/// after them. Calls throw ``PresenceError``, or `CancellationError` when their task is cancelled.
///
/// The connection ends when the last reference to the client, its sequences and loops goes.
public final class PresenceClient: Sendable {
    /// Fetches a valid token (a JWT) of the user. Called before every connection, and when the server says that the present one
    /// is about to expire: then another one is wanted. While the same comes again, or none, it is called again each time a
    /// quarter of what is left has passed.
    public typealias TokenProvider = @Sendable () async throws -> String

    /// Inside a token provider: whether the token that it gave last is refused or about to expire, so that one that it has
    /// kept should not be given again. `false` elsewhere.
    @TaskLocal public static var wantsNewToken = false

    /// Takes an event of the server, as it came, in the order in which events came. It must not wait.
    package typealias EventListener = @Sendable (Data) -> Void

    let runner: Runner
    private let mailbox: Mailbox
    private let follower: SystemFollower?

    /// Makes a client; it connects at its first use.
    ///
    /// - Parameters:
    ///   - url: the server's WebSocket address, such as `wss://presence.example.org/v1/ws`.
    ///   - token: fetches the user's token. If it throws, connecting is tried again later, unless it throws
    ///     ``PresenceError`` with the code `unauthorized`: then the client closes.
    ///   - device: what this device is called and what others see of it.
    ///   - configuration: times and bounds; the defaults suit an app.
    ///   - storage: keeps what was known of people, to be shown as stale while there is no connection, and writes that
    ///     wait for one. In memory, unless the app says where.
    ///   - logger: told what the client does; nothing is logged without.
    public convenience init(
        url: URL, token: @escaping TokenProvider, device: Device = Device(),
        configuration: Configuration = Configuration(), storage: Storage = .memory(), logger: PresenceLogger? = nil
    ) {
        self.init(
            url: url, token: token, device: device, configuration: configuration, storage: storage, logger: logger,
            dialler: machineDialler(configuration, logger), time: SystemTime())
    }

    /// Makes a client with a token that cannot be renewed; when the server refuses it, the client closes.
    public convenience init(
        url: URL, token: String, device: Device = Device(), configuration: Configuration = Configuration(),
        storage: Storage = .memory(), logger: PresenceLogger? = nil
    ) {
        self.init(
            url: url, token: { token }, tokenIsFixed: true, device: device, configuration: configuration,
            storage: storage, logger: logger, dialler: machineDialler(configuration, logger), time: SystemTime())
    }

    /// Makes a client for a library that knows more of the server's events.
    ///
    /// - Parameter listeners: by an event's `type`.
    package convenience init(
        url: URL, token: @escaping TokenProvider, device: Device, configuration: Configuration, storage: Storage,
        logger: PresenceLogger?, listeners: [String: EventListener]
    ) {
        self.init(
            url: url, token: token, device: device, configuration: configuration, storage: storage, logger: logger,
            listeners: listeners, dialler: machineDialler(configuration, logger), time: SystemTime())
    }

    /// Makes a client on another transport and in another time, for tests.
    init(
        url: URL, token: @escaping TokenProvider, tokenIsFixed: Bool = false, device: Device,
        configuration: Configuration, storage: Storage, logger: PresenceLogger? = nil,
        listeners: [String: EventListener] = [:], dialler: any Dialler, time: any Timekeeper,
        random: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) }
    ) {
        var device = device
        // With no id at all, each reconnect would look like another device beside the one that has just gone.
        if device.id == nil { device.id = storage.deviceID ?? UUID().uuidString.lowercased() }
        let engine = Engine(
            configuration: configuration, device: PresenceProtocol.Device(device),
            flaw: Self.flaw(url) ?? Self.flaw(device), tokenIsFixed: tokenIsFixed, random: random)
        let mailbox = Mailbox()
        let runner = Runner(
            engine: engine, url: url, dialler: dialler, time: time, storage: storage, mailbox: mailbox, logger: logger,
            listeners: listeners, token: token)
        self.mailbox = mailbox
        self.runner = runner
        follower =
            configuration.followsSystem
            ? SystemFollower { [weak runner] input in
                guard let runner, mailbox.post(input) else { return }
                Task { await runner.takeMail() }
            } : nil
    }

    /// Hands in what is not answered, without waiting.
    func post(_ input: Input) {
        guard mailbox.post(input) else { return }
        Task { [runner] in await runner.takeMail() }
    }

    deinit {
        Task { [runner] in await runner.handle(.abandon) }
    }

    private static func flaw(_ url: URL) -> PresenceError? {
        let isWebSocket = ["ws", "wss"].contains(url.scheme?.lowercased()) && url.host?.isEmpty == false
        return isWebSocket ? nil : PresenceError(.invalidURL, "not the address of a WebSocket: \(url)")
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
