import Foundation

/// One example message of the protocol's documents.
struct Example: CustomStringConvertible, Sendable {
    enum Sender: Sendable { case client, server }

    var sender: Sender
    var json: String
    /// Where it stands, to be found when a test fails.
    var place: String

    var type: String { String(json.split(separator: "\"")[3]) }
    var bytes: [UInt8] { Array(json.utf8) }
    var description: String { "\(place) \(json.prefix(60))" }

    /// All examples of both documents.
    static let all = protocolPage + asyncAPI

    /// Lines of protocol.md that begin with an arrow.
    static let protocolPage: [Example] = lines(of: "protocol.md").compactMap { number, line in
        let text = line.drop { $0 == " " }
        let place = "protocol.md:\(number)"
        if text.hasPrefix("→ ") { return Example(sender: .client, json: String(text.dropFirst(2)), place: place) }
        if text.hasPrefix("← ") { return Example(sender: .server, json: String(text.dropFirst(2)), place: place) }
        return nil
    }

    /// Lines of asyncapi.yaml with an example's payload. The name above it determines the sender.
    static let asyncAPI: [Example] = {
        var sender = Sender.client
        return lines(of: "asyncapi.yaml").compactMap { number, line in
            if line.hasPrefix("    Client") { sender = .client }
            if line.hasPrefix("    Server") { sender = .server }
            guard let payload = line.range(of: "payload: {\"") else { return nil }
            let json = String(line[line.index(payload.upperBound, offsetBy: -2)...])
            return Example(sender: sender, json: json, place: "asyncapi.yaml:\(number)")
        }
    }()

    private static func lines(of document: String) -> [(number: Int, line: Substring)] {
        let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let url = tests.deletingLastPathComponent().deletingLastPathComponent().appending(path: "docs/\(document)")
        guard let text = try? String(contentsOf: url, encoding: .utf8) else { return [] }
        return text.split(separator: "\n", omittingEmptySubsequences: false).enumerated().map { ($0 + 1, $1) }
    }
}
