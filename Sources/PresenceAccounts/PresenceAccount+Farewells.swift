import Foundation
import PresenceHTTP
import PresenceKit

// Sessions that ended here, of which the server has not been told: without that it goes on pushing to this device.
extension PresenceAccount {
    /// The oldest go first.
    private static let mostFarewells = 10
    static let shortestFarewellPause = Duration.seconds(5)
    private static let longestFarewellPause = Duration.seconds(600)

    /// Changes what is kept. What cannot be kept is tried as long as the process lives.
    func keepFarewells(_ change: (inout [String]) -> Void) {
        // Another process of the app may have changed it.
        let kept = (try? store.loadFarewells()) ?? []
        var tokens = kept + farewells.filter { !kept.contains($0) }
        change(&tokens)
        farewells = Array(tokens.suffix(Self.mostFarewells))
        guard farewells != kept else { return }
        do {
            try storing { try $0.saveFarewells(farewells) }
        } catch {
            logger?.log(.error, "that the server has to be told of a sign-out cannot be kept: \(error)")
        }
    }

    /// Tells the server of one; whether that was the last word.
    @discardableResult
    func sayFarewell(of refreshToken: String, access: String? = nil) async -> Bool {
        do {
            var token = access
            if token == nil {
                token = try await server.send(Self.refresh(refreshToken), as: Answer.Tokens.self).accessToken
            }
            _ = try await server.send(.init("DELETE", "v1/sessions/current"), token: token)
        } catch let error as AccountError where error.isRefusal || error.code == .notFound || error.code == .forbidden {
            // An access token may have ended before its session.
            if access != nil { return await sayFarewell(of: refreshToken) }
        } catch {
            logger?.log(.notice, "the server is not told of a sign-out yet: \(error)")
            sayFarewellsLater()
            return false
        }
        keepFarewells { $0.removeAll { $0 == refreshToken } }
        return true
    }

    /// Tells the server of all that are left: at a launch, when the server has answered something else, and now and then.
    func sayFarewells() async {
        keepFarewells { _ in }
        for token in farewells where token != session?.stored.refreshToken {
            guard await sayFarewell(of: token) else { return }
        }
        farewellPause = Self.shortestFarewellPause
    }

    private func sayFarewellsLater() {
        guard farewellWait == nil else { return }
        let pause = farewellPause
        farewellPause = min(farewellPause * 2, Self.longestFarewellPause)
        farewellWait = Task { [weak self, sleep] in
            try? await sleep(pause)
            await self?.resumeFarewells()
        }
    }

    private func resumeFarewells() async {
        farewellWait = nil
        await sayFarewells()
    }
}
