import Foundation
import PresenceKit

// Ended sessions that the server has not been notified of. Until then it continues to push to this device.
extension PresenceAccount {
    /// The maximum number; the oldest are dropped first.
    private static let mostFarewells = 10
    static let shortestFarewellPause = Duration.seconds(5)
    private static let longestFarewellPause = Duration.seconds(600)

    /// Changes the stored tokens. If storing fails, they are kept for the life of the process.
    func keepFarewells(_ change: (inout [String]) -> Void) {
        // Another process of the app may have changed them.
        let kept = (try? store.loadFarewells()) ?? []
        var tokens = kept + farewells.filter { !kept.contains($0) }
        change(&tokens)
        farewells = Array(tokens.suffix(Self.mostFarewells))
        guard farewells != kept else { return }
        do {
            try storing { try $0.saveFarewells(farewells) }
        } catch {
            logger?.log(.error, "a pending sign-out cannot be stored: \(error)")
        }
    }

    /// Notifies the server of one sign-out; returns whether that is done.
    @discardableResult
    func sendFarewell(of refreshToken: String, access: String? = nil) async -> Bool {
        do {
            var token = access
            if token == nil {
                token = try await server.send(Self.refresh(refreshToken), as: Answer.Tokens.self).accessToken
            }
            _ = try await server.send(.init("DELETE", "v1/sessions/current"), token: token)
        } catch let error as PresenceError where error.isRefusal || error.code == .notFound || error.code == .forbidden
        {
            // An access token may end before its session.
            if access != nil { return await sendFarewell(of: refreshToken) }
        } catch {
            logger?.log(.notice, "the server was not notified of a sign-out yet: \(error)")
            sendFarewellsLater()
            return false
        }
        keepFarewells { $0.removeAll { $0 == refreshToken } }
        return true
    }

    /// Notifies the server of all pending sign-outs: at launch, after another response of the server, or after a delay.
    func sendFarewells() async {
        keepFarewells { _ in }
        for token in farewells where token != session?.stored.refreshToken {
            guard await sendFarewell(of: token) else { return }
        }
        farewellPause = Self.shortestFarewellPause
    }

    private func sendFarewellsLater() {
        guard !isFarewellDue else { return }
        let pause = farewellPause
        farewellPause = min(farewellPause * 2, Self.longestFarewellPause)
        isFarewellDue = true
        tasks.start { [weak self, sleep] in
            guard (try? await sleep(pause)) != nil else { return }
            await self?.resumeFarewells()
        }
    }

    private func resumeFarewells() async {
        isFarewellDue = false
        await sendFarewells()
    }
}
