import Foundation
import PresenceKit

/// The signed-in user's conversations and messages, over a ``PresenceKit/PresenceClient``.
///
/// ```swift
/// let messages = PresenceMessenger(client)
/// for await list in messages.messages(in: trip.id) { show(list) }      // all, oldest first, unsent ones at the end
/// try await messages.send("On my way", in: trip.id)                    // returns at once, even without a connection
/// ```
///
/// Guarantees: a message is in the client's storage before it is sent, and stays there until the server has replied. It
/// is sent once, in the order of its conversation, over restarts and lost connections. Observed conversations are
/// subscribed to again on every connection. They continue where the connection before ended, without gaps or duplicates.
///
/// Create one for each client. It belongs to the client's user: a sign-out deletes all data.
public actor PresenceMessenger: ClientLibrary {
    nonisolated let client: PresenceClient
    nonisolated let configuration: Configuration
    let clock: any Clock<Duration>
    nonisolated let tasks = ClosableTasks()
    var isRestored = false
    var restorations: [CheckedContinuation<Void, Never>] = []

    var own: String? {
        didSet {
            outbox.owner = own
            for id in talks.keys { talks[id]!.own = own ?? "" }
        }
    }
    var isOwnConfirmed = false
    private(set) var userNumber: UserNumber = 0
    var generation = 0
    var isConnected = false

    var outbox = Outbox()
    var waitingLoops = Loops<Int>()
    var refusedLoops = Loops<[MessageChange]>()

    var talks: [String: Talk] = [:]
    var messageLoops: [String: Loops<MessageRows>] = [:]
    /// The messages of each observed conversation, as its loops get them.
    var rows: [String: MessageRows] = [:]
    /// For each observed conversation, the observation that keeps the client's subscription.
    var typing: [String: ObservationShare] = [:]
    /// The conversations whose subscription is in progress.
    var following: Set<String> = []
    /// Why a conversation cannot be observed.
    var problems: [String: PresenceError] = [:]

    var conversations: [String: ChatConversation] = [:]
    /// The newest known version of each conversation, including conversations that the user has left.
    var versions: [String: Int64] = [:]
    var listLoops = Loops<[ChatConversation]>()
    var isListWanted = false
    var isListing = false
    /// Whether the list was received, or comes from the device.
    var isListKnown = false
    /// Whether it comes from the device, and was not received since.
    var isListStale = false
    /// The conversations and messages on the device.
    var history: History
    /// The history of an earlier process, until it may be shown.
    var records: [String: Data] = [:]
    /// Whether it may be shown: the user is known, or cannot be soon.
    var isHistoryShown = false
    /// Calls that wait for it.
    var recollections: [CheckedContinuation<Void, Never>] = []
    /// Stores the last of their changes.
    var lastKept: Task<Void, Never>?

    /// The HTTP transport; `nil` until it is needed.
    var transport: (any HTTPTransport)?
    let turns = UploadTurns()
    /// The uploads in progress or waiting.
    var uploads: [UUID: Task<Wire.Attachment, any Error>] = [:]

    var push = PushRegistration()

    /// The marks that the server has accepted on this connection, by conversation.
    var told: [String: Ask.Mark] = [:]

    /// - Parameters:
    ///   - client: the client whose connection and storage are used.
    ///   - configuration: the server of uploads, their timeout, and how much history stays on the device.
    public init(_ client: PresenceClient, configuration: Configuration = Configuration()) {
        self.init(client, configuration: configuration, transport: nil)
    }

    /// With another HTTP transport and clock, for tests.
    package init(
        _ client: PresenceClient, configuration: Configuration = Configuration(), transport: (any HTTPTransport)?,
        clock: any Clock<Duration> = ContinuousClock()
    ) {
        (self.client, self.configuration, self.transport) = (client, configuration, transport)
        self.clock = clock
        history = History(messages: configuration.keptMessages, conversations: configuration.keptConversations)
        Task { [weak self] in await client.attach { [weak self] in await self?.handle($0) } }
    }

    // MARK: Restoring

    private func restore() async {
        if let kept = try? await client.keptWrites(ofKinds: Outbox.messengerKinds) {
            own = kept.owner
            // Their owner is checked against the token or the first connection.
            outbox.recall(kept.writes)
            if own != nil { records = await client.keptRecords() }
        }
        endRestoration()
    }

    // MARK: Events

    private func handle(_ event: LibraryEvent) async {
        switch event {
        case .attached(let user):
            userNumber = user
            await restore()
        case .identified(let user):
            if let user, user != own { adopt(user) }
            showHistory()
        case .connected(let user): connected(user)
        case .event("message", let data):
            // Events of a later server that this version cannot read are ignored.
            if let event = try? Wire.read(Wire.OneMessage.self, data) { heard(event) }
        case .event("conversation", let data):
            if let event = try? Wire.read(Wire.OneConversation.self, data) { apply(event.conversation) }
        case .event("messagesReset", let data):
            if let event = try? Wire.read(Wire.Reset.self, data) { reset(event.conversation) }
        case .event: break
        case .forgotten(let user, let next):
            userNumber = user
            forget(next: next)
        case .closed: await close()
        }
    }

    private func connected(_ user: String) {
        generation += 1
        isConnected = true
        isOwnConfirmed = true
        if user != own { adopt(user) }
        outbox.confirm(user)
        told = [:]
        showHistory()
        for id in talks.keys { talks[id]!.begin() }
        if isListWanted { list() }
        for id in messageLoops.keys { follow(id) }
        pumpAll()
        recallDevice()
    }

    /// The token or the connection names another user than the storage. The outbox keeps the former one's entries until
    /// the server has confirmed the user.
    func adopt(_ user: String) {
        if own != nil {
            forgetHistory()
            told = [:]
        }
        own = user
        abandon(.signedOut)
        waitingLoops.publish(outbox.waiting)
        for id in messageLoops.keys { publish(id) }
    }

    private func forget(next: String?) {
        generation += 1
        (isConnected, isOwnConfirmed) = (false, false)
        own = next
        outbox.forget(keepingEntries: next != nil)
        told = [:]
        forgetDevice()
        abandon(.signedOut)
        forgetHistory()
        (problems, typing) = ([:], [:])
        waitingLoops.publish(outbox.waiting)
        for id in messageLoops.keys { publish(id) }
    }

    /// The app closed the client. The client has ended its calls, and closes the storage after this.
    private func close() async {
        generation += 1
        (isConnected, isOwnConfirmed) = (false, false)
        tasks.cancel()
        abandon(.clientClosed)
        for id in messageLoops.keys { messageLoops[id]!.finish() }
        records = [:]
        showHistory()
        listLoops.finish()
        waitingLoops.finish()
        refusedLoops.finish()
        typing = [:]
        await tasks.close()
        for upload in uploads.values { _ = await upload.result }
        _ = await push.last?.result
        await lastKept?.value
    }

    /// Fails the waiting calls.
    private func abandon(_ error: PresenceError) {
        for lane in outbox.outcomes.keys { release(lane, .refused(error)) }
        for upload in uploads.values { upload.cancel() }
        refusedLoops.publish(outbox.refused)
    }

    // MARK: Values

    func publish(_ id: String) {
        waitingLoops.publish(outbox.waiting)
        guard messageLoops[id] != nil else { return }
        updateRows(id)
        messageLoops[id]!.publish(rows[id]!)
    }

    /// Takes the changes of an observed conversation into its rows.
    func updateRows(_ id: String) {
        guard talks[id] != nil else { return }
        let unsent = outbox.shown(in: id) { talks[id]!.number(of: $0) != nil }
        rows[id, default: MessageRows()].update(
            &talks[id]!, unsent: unsent, changes: outbox.changes(in: id), at: Date())
    }

    /// A message as it is shown, with pending changes.
    func shown(_ message: String, in conversation: String) -> Message? {
        if talks[conversation] != nil {
            updateRows(conversation)
            return rows[conversation]!.messages.last { $0.id == message }
        }
        let unsent = outbox.shown(in: conversation) { _ in false }.first { $0.id == message }
        return unsent.map { outbox.changes(in: conversation).reduce(into: $0) { $1.apply(to: &$0) } }
    }

    func publishList() {
        if isListKnown { listLoops.publish(shownList) }
    }

    var shownList: [ChatConversation] {
        let now = conversations.values.map { conversation in
            var conversation = changed(conversation)
            conversation.isStale = isListStale
            return conversation
        }
        return now.sorted { ($0.listDate, $0.id) > ($1.listDate, $1.id) }
    }
}
