import Observation

/// The signed-in user: status, profile and pending changes.
@MainActor @Observable
public final class MeModel {
    /// The latest value received by ``run()``.
    public private(set) var me = Me()
    /// Profile changes that are queued.
    public private(set) var pending = ProfileChanges.Pending()
    /// Whether a choice is being sent.
    public var isSaving: Bool { saving > 0 }
    /// Whether a chosen status is queued until there is a connection. Others do not see it until the server has
    /// accepted it.
    public var isStatusQueued: Bool { me.queuedStatus != nil }
    /// Why the last choice failed, as a text for users; includes rejections of queued choices.
    public private(set) var errorMessage: String?

    private let client: PresenceClient
    /// The number of choices being sent.
    private var saving = 0

    /// Creates a model; it is empty until ``run()``.
    public init(_ client: PresenceClient) {
        self.client = client
    }

    /// The displayed name, including a pending change.
    public var displayName: String? { pending.waiting?.displayName.value ?? me.profile?.displayName }

    /// Why the value is not updated.
    public var problem: PresenceError? { me.problem }

    /// Observes the signed-in user until its task is cancelled, or they sign out.
    public func run() async {
        async let pending: Void = observePending()
        for await me in client.meUpdates {
            if let refusal = me.statusRefusal, refusal != self.me.statusRefusal {
                errorMessage = refusal.localizedDescription
            }
            self.me = me
        }
        await pending
    }

    private func observePending() async {
        for await pending in client.pendingProfileUpdates { self.pending = pending }
    }

    /// Chooses a status. Without a connection it is queued (``isStatusQueued``).
    ///
    /// - Parameters:
    ///   - text: an empty text removes the current one; `nil` keeps it.
    ///   - clearAfter: 1 s to 30 days.
    public func choose(_ status: ChosenStatus, text: String? = nil, clearAfter: Duration? = nil) async {
        saving += 1
        errorMessage = nil
        defer { saving -= 1 }
        let change = text.map { $0.isEmpty ? Change<String>.remove : .set($0) } ?? .keep
        let fault = await failure { try await client.setStatus(status, text: change, clearAfter: clearAfter) }
        if let fault { errorMessage = fault }
    }
}
