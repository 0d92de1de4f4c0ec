import Foundation
import PresenceProtocol

/// A user's wishes for notifications and pushes, on all devices.
///
/// The store has it as JSON in one form, because scripts search it as text (`push-lib.lua`).
struct NotificationSettings: Decodable, Sendable, Equatable {
    /// A user's wishes for a kind of backends' notifications.
    struct Kind: Decodable, Sendable, Equatable {
        var inbox = true
        var push = true
    }

    /// Which messages of a sort of conversations are pushed.
    enum Scope: String, Decodable, CaseIterable, Sendable { case all, none }

    struct Messages: Decodable, Sendable, Equatable {
        var direct = Scope.all
        var groups = Scope.all
    }

    /// Whether pushes are made while the user is busy.
    enum WhileBusy: String, Decodable, CaseIterable, Sendable { case push, hold }

    var kinds: [String: Kind] = [:]
    var messages = Messages()
    /// Whether pushes have texts.
    var preview = true
    var quiet: QuietHours?
    var whileBusy = WhileBusy.push

    /// In ms: a held push is decided at the latest after so long, though it will be held further. It bounds what a clock that is set back,
    /// or a lost event, may delay.
    static let longestHold: Milliseconds = 3_600_000

    init() {}

    /// - Parameter text: As the store has it; empty if the user has set nothing. Unreadable settings permit no texts.
    init(stored text: String) {
        self.init()
        guard !text.isEmpty else { return }
        guard let settings = try? JSONDecoder().decode(Self.self, from: Data((text + "}").utf8)) else {
            preview = false
            return
        }
        self = settings
    }

    /// For the store: JSON without the last brace.
    var stored: String {
        var json = Array(#"{"kinds":{"#.utf8)
        for (place, (name, kind)) in kinds.sorted(by: { $0.key < $1.key }).enumerated() {
            if place > 0 { json.append(UInt8(ascii: ",")) }
            JSONWriter.string(name, to: &json)
            json += Array(#":{"inbox":\#(kind.inbox),"push":\#(kind.push)}"#.utf8)
        }
        json += Array(
            #"},"messages":{"direct":"\#(messages.direct)","groups":"\#(messages.groups)"},"preview":\#(preview)"#.utf8)
        if let quiet { json += Array(#","quiet":\#(quiet.json)"#.utf8) }
        json += Array(#","whileBusy":"\#(whileBusy)""#.utf8)
        return String(decoding: json, as: UTF8.self)
    }

    /// The object that clients get.
    static func object(stored text: String, version: Int64) -> [UInt8] {
        Array(((text.isEmpty ? Self().stored : text) + #","version":\#(version)}"#).utf8)
    }

    func wants(_ conversation: ConversationRecord) -> Bool {
        (conversation.isDirect ? messages.direct : messages.groups) != .none
    }

    /// Until when a push is held, if it is; at most for ``longestHold``.
    ///
    /// - Parameters:
    ///   - time: Now, in ms since 1970.
    ///   - isUrgent: Whether its backend calls it urgent.
    ///   - zone: That of the quiet hours.
    func hold(at time: Timestamp, isBusy: Bool, isUrgent: Bool, in zone: ZoneRules?) -> Timestamp? {
        var end: Timestamp?
        if isBusy, whileBusy == .hold { end = time + Self.longestHold }
        if let quiet, let zone, !(isUrgent && quiet.allow.contains(.urgent)), let over = quiet.end(at: time, in: zone) {
            end = max(end ?? 0, over)
        }
        return end.map { min($0, time + Self.longestHold) }
    }
}
