import Foundation
import PresenceHTTP
import PresenceKit

/// The conversations of the own user and their messages, over a ``PresenceKit/PresenceClient``.
///
/// ```swift
/// let messages = PresenceMessages(client)
/// for await list in messages.messages(in: trip.id) { show(list) }      // whole, oldest first, own echoes at the end
/// try await messages.send("On my way", in: trip.id)                    // returns at once, also without a connection
/// ```
///
/// It guarantees: a message is in the client's storage before anything is sent, and stays there until the server has
/// answered: it is sent once, in the order written within its conversation, over restarts and breaks. What is followed is
/// followed again on every connection, from where it was left: nothing is missing, and nothing is there twice.
///
/// One of it for each client. It belongs to the client's user: a sign-out forgets everything.
public actor PresenceMessages: ClientLibrary {
    nonisolated let client: PresenceClient
    nonisolated let configuration: Configuration
    let clock: any Clock<Duration>
    private nonisolated let events: AsyncStream<LibraryEvent>.Continuation
    var isRestored = false
    var restorations: [CheckedContinuation<Void, Never>] = []

    var own: String? { didSet { outbox.owner = own } }
    var isOwnConfirmed = false
    var generation = 0
    var isConnected = false

    var outbox = Outbox()
    var waitingLoops = Loops<Int>()
    /// The conversations whose part of the outbox is being worked at.
    var sending: Set<String> = []
    /// Who waits for what becomes of a change, by conversation and change: until a request fails, or the user goes.
    var outcomes: [String: [String: CheckedContinuation<Outcome, Never>]] = [:]
    /// The conversations whose next request is retried after a delay. Callers do not wait for the changes behind it.
    var paused: Set<String> = []
    /// Writes that are done but could not be removed from the storage: the next removal includes them. Otherwise an older
    /// change would be made again over a newer one after a launch.
    var unremoved: [String] = []
    var refusedLoops = Loops<[MessageChange]>()

    var talks: [String: Talk] = [:]
    var messageLoops: [String: Loops<[Message]>] = [:]
    /// Of each conversation that is followed, what keeps the client's subscription to it.
    var typing: [String: ObservationShare] = [:]
    /// The conversations whose subscription is being asked for.
    var following: Set<String> = []
    /// Why a conversation cannot be followed.
    var problems: [String: PresenceError] = [:]

    var conversations: [String: ChatConversation] = [:]
    /// The newest version that is known of each, those included that the user has left.
    var versions: [String: Int64] = [:]
    var listLoops = Loops<[ChatConversation]>()
    var isListWanted = false
    var isListing = false
    /// Whether it was told once.
    var isListKnown = false

    /// What is sent over HTTP goes with it; `nil` until there is one.
    var transport: (any HTTPTransport)?
    let turns = UploadTurns()
    /// Those that run or wait.
    var uploads: [UUID: Task<Wire.Attachment, any Error>] = [:]

    var push = PushRegistration()

    /// Marks that the server has not been told.
    var marks: [String: Ask.Mark] = [:]
    var marking: Set<String> = []
    /// Those of them that are in the storage, or on their way into it.
    var keptMarks: [KeptMark] = []
    /// What the server has taken of each conversation.
    var told: [String: Ask.Mark] = [:]

    /// - Parameters:
    ///   - client: whose connection and storage it uses.
    ///   - configuration: how files are uploaded.
    ///   - transport: what they are uploaded with; URLSession, unless another one is given.
    ///   - clock: tells when to try again what the server found too fast.
    public init(
        _ client: PresenceClient, configuration: Configuration = Configuration(),
        transport: (any HTTPTransport)? = nil, clock: any Clock<Duration> = ContinuousClock()
    ) {
        self.client = client
        self.configuration = configuration
        self.transport = transport
        self.clock = clock
        let (stream, events) = AsyncStream.makeStream(of: LibraryEvent.self)
        self.events = events
        Task { [weak self] in
            await self?.restore()
            await client.attach { events.yield($0) }
            for await event in stream { await self?.handle(event) }
        }
    }

    deinit { events.finish() }

    // MARK: What an earlier process left

    private func restore() async {
        if let kept = try? await client.keptWrites(ofKinds: Outbox.kinds.union([Outbox.failureKind, KeptMark.kind])) {
            own = kept.owner
            // Whose they are may turn out with the token or the first connection.
            outbox.recall(kept.writes)
            keptMarks = kept.writes.filter { $0.kind == KeptMark.kind }.compactMap(KeptMark.init)
        }
        endRestoration()
    }

    // MARK: What happens

    private func handle(_ event: LibraryEvent) {
        switch event {
        case .connected(let user): connected(user)
        case .event("message", let data):
            // What a later server says otherwise is no news to this version.
            if let event = try? Wire.read(Wire.OneMessage.self, data) { heard(event) }
        case .event("conversation", let data):
            if let event = try? Wire.read(Wire.OneConversation.self, data) { take(event.conversation) }
        case .event("messagesReset", let data):
            if let event = try? Wire.read(Wire.Reset.self, data) { reset(event.conversation) }
        case .event: break
        case .forgotten: forget()
        }
    }

    private func connected(_ user: String) {
        generation += 1
        isConnected = true
        isOwnConfirmed = true
        outbox.removeAll(except: user)
        keptMarks.removeAll { $0.owner != user }
        recallMarks()
        if own != user { adopt(user) }
        for id in talks.keys { talks[id]!.begin() }
        if isListWanted { list() }
        for id in messageLoops.keys { follow(id) }
        for lane in outbox.lanes { pump(lane) }
        for id in marks.keys { pumpMarks(id) }
        recallDevice()
    }

    func adopt(_ user: String) {
        own = user
        abandon()
        waitingLoops.publish(outbox.waiting)
        for id in messageLoops.keys { publish(id) }
    }

    private func forget() {
        generation += 1
        (isConnected, isOwnConfirmed) = (false, false)
        own = nil
        // What was being appended while the storage was cleared may have come into it behind that.
        let ids = keptMarks.map(\.id) + outbox.entries.flatMap { [$0.id, Outbox.failureID($0.id)] }
        if !ids.isEmpty { Task { [client] in try? await client.removeWrites(ids) } }
        outbox.removeAll()
        (unremoved, keptMarks, told) = ([], [], [:])
        forgetDevice()
        abandon()
        talks = talks.reduce(into: [:]) { $0[$1.key] = Talk(id: $1.key) }
        (conversations, versions, marks, problems, typing) = ([:], [:], [:], [:], [:])
        if isListKnown { listLoops.publish([]) }
        isListKnown = false
        waitingLoops.publish(0)
        for id in messageLoops.keys { publish(id) }
    }

    /// What the former user waited for is not made.
    private func abandon() {
        let error = PresenceError(.signedOut, "the user signed out or was changed")
        for lane in outcomes.keys { release(lane, .refused(error)) }
        for upload in uploads.values { upload.cancel() }
        refusedLoops.publish(outbox.refused)
    }

    // MARK: What is shown

    func publish(_ id: String) {
        waitingLoops.publish(outbox.waiting)
        guard messageLoops[id] != nil else { return }
        messageLoops[id]!.publish(shown(id))
    }

    /// A conversation's messages, and behind them those on their way; with the changes that wait.
    func shown(_ id: String) -> [Message] {
        let held = talks[id]?.shown(to: own ?? "", at: Date()) ?? []
        let ids = Set(held.map(\.id))
        let all = held + outbox.shown(in: id) { ids.contains($0) }
        let changes = Dictionary(grouping: outbox.changes(in: id)) { $0.messageId ?? "" }
        guard !changes.isEmpty else { return all }
        return all.map { message in (changes[message.id] ?? []).reduce(into: message) { $1.apply(to: &$0) } }
    }

    func publishList() {
        if isListKnown { listLoops.publish(shownList) }
    }

    var shownList: [ChatConversation] {
        conversations.values.map { changed($0) }.sorted { ($0.listDate, $0.id) > ($1.listDate, $1.id) }
    }
}
