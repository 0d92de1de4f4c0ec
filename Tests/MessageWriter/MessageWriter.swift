import Foundation
import PresenceKit
import PresenceMessages

/// Writes messages again and again, online and offline, until it is killed: what the tests of the outbox kill.
///
///     message-writer URL DIRECTORY FIRST     texts FIRST, FIRST+1, … into two conversations; lines "kept N" as promised
///     message-writer URL DIRECTORY drain     sends what waits, says "done", and ends
///
/// MESSAGE_TOKEN is its token, MESSAGE_PLACES the ids of the two conversations (a and b).
@main
struct MessageWriter {
    static func main() async throws {
        let arguments = CommandLine.arguments
        let environment = ProcessInfo.processInfo.environment
        let places = environment["MESSAGE_PLACES"].map { $0.split(separator: " ").map(String.init) } ?? ["a", "b"]
        var configuration = PresenceClient.Configuration()
        configuration.reconnectBase = .milliseconds(5)
        configuration.reconnectCap = .milliseconds(20)
        let client = PresenceClient(
            url: URL(string: arguments[1])!, token: { environment["MESSAGE_TOKEN"] ?? "token" },
            configuration: configuration,
            storage: try .directory(URL(fileURLWithPath: arguments[2])))
        let messages = PresenceMessages(client)
        client.connect()
        guard var number = Int(arguments[3]) else {
            for await count in messages.waiting where count == 0 { break }
            say("done")
            return await client.disconnect()
        }
        for await state in client.connectionStates where state.isConnected { break }
        while true {
            // Five of ten are made without a network.
            if number % 10 == 0 { client.networkChanged(isAvailable: true) }
            if number % 10 == 5 { client.networkChanged(isAvailable: false) }
            try await messages.send("\(number)", in: places[number % 2])
            say("kept \(number)")
            number += 1
        }
    }

    /// A line, whole and at once.
    private static func say(_ line: String) {
        FileHandle.standardOutput.write(Data("\(line)\n".utf8))
    }
}
