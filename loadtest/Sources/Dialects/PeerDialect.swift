import Glibc

/// A peer's protocol by its template.
struct PeerDialect: Dialect {
    private let template: PeerTemplate
    /// Makes the tokens that the template requires; `nil` if it requires none.
    private let mint: TokenMint?
    private let payloadBytes: Int
    /// The marks that identify answers; the first match wins.
    private let marks: [(bytes: [UInt8], meaning: Incoming)]

    var subprotocol: String? { template.subprotocol }
    var answersGreetings: Bool { template.connected != nil }
    var subscribesAhead: Bool { !answersGreetings }
    var answersSubscriptions: Bool { template.subscribed != nil }
    var answersChanges: Bool { template.acknowledged != nil }
    var keepsNewest: Bool { template.keepsNewest ?? false }

    /// - Parameters:
    ///   - mint: called only if the template requires tokens.
    ///   - channel: one of the watched channels; all have the same length.
    ///   - messageBytes: the intended length of a delivered message.
    init(
        _ template: PeerTemplate, channel: String, messageBytes: Int, mint: () throws(Failure) -> TokenMint
    ) throws(Failure) {
        self.template = template
        let asksForTokens = (template.connect ?? []).contains { $0.contains("{token}") }
        self.mint = asksForTokens ? try mint() : nil
        let around = Self.fill(template.delivered, ["channel": channel, "payload": ""]).utf8.count
        payloadBytes = messageBytes - around
        guard payloadBytes >= NumberedPayload.shortest else {
            let least = around + NumberedPayload.shortest
            throw Failure("a message of \(template.name) has at least \(least) bytes, not \(messageBytes)")
        }
        let meanings: [(String?, Incoming)] = [
            (template.refused, .refused("something")),
            (template.connected, .connected(subscriptions: .max, batch: .max)), (template.subscribed, .subscribed),
            (template.acknowledged, .acknowledged(number: nil)),
        ]
        marks = meanings.compactMap { mark, meaning in mark.map { (Array($0.utf8), meaning) } }
    }

    func greeting(of user: String) -> [[UInt8]] {
        let token = mint?.token(user: user) ?? ""
        return (template.connect ?? []).enumerated().map { index, message in
            Array(Self.fill(message, ["user": user, "token": token, "id": String(index + 1)]).utf8)
        }
    }

    func subscription(to people: [String], batch: Int) -> [[UInt8]] {
        guard let subscribe = template.subscribe, !people.isEmpty else { return [] }
        let channels = subscribe.contains("{channel}") ? people : [""]
        return channels.enumerated().map { index, channel in
            Array(Self.fill(subscribe, ["channel": channel, "id": String(index + 1_000)]).utf8)
        }
    }

    func message(_ change: NumberedChange, by user: String) -> [UInt8] {
        let payload = NumberedPayload.bytes(change, length: payloadBytes)
        let id = String(Int(change.number) + 1_000_000)
        return Array(Self.fill(template.publish, ["channel": user, "payload": payload, "user": user, "id": id]).utf8)
    }

    func read(_ message: UnsafeRawBufferPointer) -> [Incoming] {
        let changes = NumberedPayload.changes(in: message)
        guard changes.isEmpty else { return changes.map(Incoming.change) }
        if let ping = template.ping, message.elementsEqual(ping.message.utf8) {
            return [.asked(Array(ping.answer.utf8))]
        }
        // All occurrences count: a server may combine several answers in one message.
        for mark in marks {
            let count = Self.occurrences(of: mark.bytes, in: message)
            guard count > 0 else { continue }
            if case .refused = mark.meaning {
                return [.refused("something: \(String(decoding: message.prefix(200), as: UTF8.self))")]
            }
            return Array(repeating: mark.meaning, count: count)
        }
        return []
    }

    private static func fill(_ message: String, _ values: [String: String]) -> String {
        values.reduce(message) { $0.replacing("{\($1.key)}", with: $1.value) }
    }

    private static func occurrences(of mark: [UInt8], in message: UnsafeRawBufferPointer) -> Int {
        guard !mark.isEmpty, message.count >= mark.count else { return 0 }
        var count = 0
        var place = 0
        while place + mark.count <= message.count {
            if memcmp(message.baseAddress! + place, mark, mark.count) == 0 {
                count += 1
                place += mark.count
            } else {
                place += 1
            }
        }
        return count
    }
}
