import Observation
import PresenceKit

/// The own user: status, profile and what waits to be saved.
@MainActor @Observable
public final class MeModel {
    /// The own user, as ``run()`` heard it last.
    public private(set) var me = Me()
    /// Profile changes that wait for a connection.
    public private(set) var pending = PendingProfileChanges()
    /// Whether a choice is on its way.
    public var isSaving: Bool { saving > 0 }
    /// Whether a choice of a status waits for a connection: others do not see it yet. It ends when the choice is made or
    /// refused.
    public var isStatusQueued: Bool { me.queuedStatus != nil }
    /// Why the last choice was not taken, for people; also one that waited and was refused then.
    public private(set) var errorMessage: String?

    private let service: any MeService
    /// How many choices are on their way.
    private var saving = 0

    /// Makes a model that shows nothing before ``run()``.
    public init(_ service: any MeService) {
        self.service = service
    }

    /// The name that is shown: what waits to be saved counts.
    public var displayName: String? { pending.waiting?.displayName.value ?? me.profile?.displayName }

    /// Why nothing newer comes.
    public var problem: PresenceError? { me.problem }

    /// Follows the own user until its task is cancelled, or they sign out.
    public func run() async {
        async let pending: Void = followPending()
        for await me in service.meUpdates {
            if let refusal = me.statusRefusal, refusal != self.me.statusRefusal {
                errorMessage = refusal.localizedDescription
            }
            self.me = me
        }
        await pending
    }

    private func followPending() async {
        for await pending in service.pendingProfileUpdates { self.pending = pending }
    }

    /// Chooses a status. Without a connection it waits for one, which ``isStatusQueued`` tells.
    ///
    /// - Parameters:
    ///   - text: an empty one clears it; `nil` leaves it as it is.
    ///   - clearAfter: 1 s to 30 days.
    public func choose(_ status: ChosenStatus, text: String? = nil, clearAfter: Duration? = nil) async {
        saving += 1
        errorMessage = nil
        defer { saving -= 1 }
        do {
            let change = text.map { $0.isEmpty ? Change<String>.remove : .set($0) } ?? .keep
            try await service.setStatus(status, text: change, clearAfter: clearAfter)
        } catch is CancellationError {
        } catch {
            errorMessage = error.localizedDescription
        }
    }
}
