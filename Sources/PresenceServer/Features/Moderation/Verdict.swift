import PresenceCore
import PresenceProtocol

/// The decision about a message or an edit. Redis keeps it for the same request, sent again: `A`, `T` and the text as JSON, or
/// `R` and the reason.
enum Verdict: Sendable, Equatable {
    case allow
    /// - Parameter text: JSON.
    case replace(text: [UInt8])
    /// - Parameter reason: For the sender; empty if there is none.
    case refuse(reason: String)

    /// `nil` while a server asks.
    init?(_ stored: String) {
        let rest = stored.dropFirst()
        switch stored.first {
        case "A": self = .allow
        case "T": self = .replace(text: Array(rest.utf8))
        case "R": self = .refuse(reason: String(rest))
        default: return nil
        }
    }

    var stored: String {
        switch self {
        case .allow: "A"
        case .replace(let text): "T" + String(decoding: text, as: UTF8.self)
        case .refuse(let reason): "R" + reason
        }
    }

    var isRefusal: Bool {
        if case .refuse = self { true } else { false }
    }

    /// How long it is kept.
    var life: Milliseconds { isRefusal ? 600_000 : 60_000 }

    private static let mostOfReason = 200

    /// A server's answer; `nil` for one that is no decision.
    ///
    /// - Parameter mayBeEmpty: Whether the message needs no text.
    init?(_ answer: [UInt8], mayBeEmpty: Bool) {
        guard let object = try? RequestObject(json: answer) else { return nil }
        switch try? object.text("action") {
        case "allow": self = .allow
        case "refuse":
            let reason = (try? object.optionalText("reason")).flatMap { $0 } ?? ""
            // A reason that cannot be shown makes no message acceptable.
            let isShown = FreeText.brokenRule(by: reason, maximumCharacters: Self.mostOfReason) == nil
            self = .refuse(reason: isShown ? reason : "")
        case "replace":
            guard let text = try? object.text("text"), MessageRequest.brokenRule(by: text) == nil,
                mayBeEmpty || !text.isEmpty
            else { return nil }
            self = .replace(text: MessageRequest.json(text))
        default: return nil
        }
    }

    static func refusal(_ reason: String) -> Refusal {
        Refusal(.refused, "this text was refused: nothing was changed", reason: reason.isEmpty ? nil : reason)
    }

    /// No decision was made, so a later attempt may succeed.
    static let undecided = Refusal(.refused, "this text could not be checked: nothing was changed")
}

/// The action that a script which stores a text takes on its verdict.
struct VerdictStep {
    /// `nil` if the text needs none.
    var key: String?
    /// For how many ms this server asks; 0: the script stores the text.
    var ask: Milliseconds = 0
    /// For `ask`: the script only looks for a verdict.
    static let look: Milliseconds = -1
    /// JSON; empty: the sender's.
    var replacement: [UInt8] = []

    /// The text needs no verdict.
    static let none = VerdictStep()
    /// The scripts' replies about it.
    static let words = ["ASK", "VERDICT"]
}
