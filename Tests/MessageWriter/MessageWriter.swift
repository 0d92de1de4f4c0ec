import Foundation
import PresenceKit
import PresenceMessages

/// Writes messages again and again, online and offline, until it is killed by the tests of the outbox.
///
///     message-writer URL DIRECTORY FIRST     texts FIRST, FIRST+1, … into two conversations; lines "kept N" as promised
///     message-writer URL DIRECTORY changes FIRST   the same, and changes each: edits N.1, N.2 and N.3, the deletion N.d of
///                                            each third; then the conversation is muted for N thousand seconds more: N.m
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
        let messages = PresenceMessenger(client)
        client.connect()
        if arguments[3] == "changes" {
            for await state in client.connectionStates where state.isConnected { break }
            return try await change(messages, client, places, from: Int(arguments[4])!)
        }
        guard var number = Int(arguments[3]) else {
            for await count in messages.waiting where count == 0 { break }
            report("done")
            return await client.disconnect()
        }
        for await state in client.connectionStates where state.isConnected { break }
        while true {
            // Five of ten messages are written without a network.
            if number % 10 == 0 { client.networkChanged(isAvailable: true) }
            if number % 10 == 5 { client.networkChanged(isAvailable: false) }
            try await messages.send("\(number)", in: places[number % 2])
            report("kept \(number)")
            number += 1
        }
    }

    private static func change(
        _ messages: PresenceMessenger, _ client: PresenceClient, _ places: [String], from first: Int
    ) async throws {
        for number in first... {
            if number % 4 == 0 { client.networkChanged(isAvailable: true) }
            if number % 4 == 2 { client.networkChanged(isAvailable: false) }
            let place = places[number % 2]
            let message = try await messages.send("\(number)", in: place)
            report("kept \(number).0")
            for edit in 1...3 {
                try await messages.edit(message, text: "\(number).\(edit)")
                report("kept \(number).\(edit)")
            }
            if number % 3 == 0 {
                try await messages.delete(message)
                report("kept \(number).d")
            }
            try await messages.mute(place, for: .seconds(1_000 * number))
            report("kept \(number).m")
        }
    }

    /// Prints a complete line at once.
    private static func report(_ line: String) {
        FileHandle.standardOutput.write(Data("\(line)\n".utf8))
    }
}
