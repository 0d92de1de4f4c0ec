import Foundation
import PresenceKit

/// Changes its profile again and again, online and offline, until it is killed by the tests of the storage.
///
///     kit-writer URL DIRECTORY FIRST     display names FIRST, FIRST+1, …; lines "saved N" and "queued N" as answered
///     kit-writer URL DIRECTORY drain     sends what is queued, says "done", and ends
@main
struct KitWriter {
    static func main() async throws {
        let arguments = CommandLine.arguments
        var configuration = PresenceClient.Configuration()
        configuration.reconnectBase = .milliseconds(5)
        configuration.reconnectCap = .milliseconds(20)
        let client = PresenceClient(
            url: URL(string: arguments[1])!, token: { "token" }, configuration: configuration,
            storage: try .directory(URL(fileURLWithPath: arguments[2])))
        client.connect()
        guard var number = Int(arguments[3]) else {
            for await state in client.connectionStates where state.isConnected { break }
            for await pending in client.pendingProfileUpdates where pending.waiting == nil { break }
            report("done")
            return await client.disconnect()
        }
        while true {
            // Five of ten changes are made without a network.
            if number % 10 == 0 { client.networkChanged(isAvailable: true) }
            if number % 10 == 5 { client.networkChanged(isAvailable: false) }
            switch try await client.updateProfile(displayName: "\(number)") {
            case .saved: report("saved \(number)")
            case .queued: report("queued \(number)")
            }
            number += 1
        }
    }

    /// Prints a complete line at once.
    private static func report(_ line: String) {
        FileHandle.standardOutput.write(Data("\(line)\n".utf8))
    }
}
