import Observation
import PresenceKit

/// The own user: status, profile and what waits to be saved.
@MainActor @Observable
public final class MeModel {
    public private(set) var me = Me()
    /// Profile changes that wait for a connection.
    public private(set) var pending = PendingProfileChanges()
    public private(set) var isSaving = false
    /// Why the last choice was not taken, for people.
    public private(set) var errorMessage: String?

    private let service: any MeService

    public init(_ service: any MeService) {
        self.service = service
    }

    /// The name that is shown: what waits to be saved counts.
    public var displayName: String? { pending.waiting?.displayName.value ?? me.profile?.displayName }

    /// Follows the own user until its task is cancelled, or they sign out.
    public func run() async {
        async let pending: Void = followPending()
        for await me in service.meUpdates { self.me = me }
        await pending
    }

    private func followPending() async {
        for await pending in service.pendingProfileUpdates { self.pending = pending }
    }

    /// Chooses a status; an empty text clears it.
    public func choose(_ status: ChosenStatus, text: String? = nil, clearAfter: Duration? = nil) async {
        isSaving = true
        errorMessage = nil
        defer { isSaving = false }
        do {
            let change = text.map { $0.isEmpty ? Change<String>.remove : .set($0) } ?? .keep
            try await service.setStatus(status, text: change, clearAfter: clearAfter)
        } catch is CancellationError {
        } catch {
            errorMessage = error.localizedDescription
        }
    }
}
