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
    /// Whether the last choice of a status waits for a connection: ``me`` does not show it yet.
    public private(set) var isStatusQueued = false
    /// Why the last choice was not taken, for people.
    public private(set) var errorMessage: String?

    private let service: any MeService
    /// How many choices are on their way.
    private var saving = 0
    /// The last choice, if it waits.
    private var queued: ChosenStatus?

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
            self.me = me
            if let status = me.status, status.freshness.isLive, status.status == queued {
                (queued, isStatusQueued) = (nil, false)
            }
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
            let update = try await service.setStatus(status, text: change, clearAfter: clearAfter)
            isStatusQueued = update == .queued
            queued = isStatusQueued ? status : nil
        } catch is CancellationError {
        } catch {
            errorMessage = error.localizedDescription
        }
    }
}
