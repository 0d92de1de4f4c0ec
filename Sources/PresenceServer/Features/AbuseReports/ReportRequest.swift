import PresenceCore
import PresenceProtocol

/// `{"user":"…","conversation":"…","message":"…","reason":"…","text":"…"}`.
struct ReportRequest {
    let user: UserID?
    let conversation: ConversationID?
    let message: String?
    let reason: String
    let text: String?

    static let mostOfReason = 100
    static let mostOfText = 2_000

    init(_ body: [UInt8]) throws(DecodingFailure) {
        self = try body.lend { (bytes) throws(DecodingFailure) in try Self(bytes) }
        guard user != nil || conversation != nil else { throw .missing("user") }
        guard message == nil || conversation != nil else { throw .missing("conversation") }
        guard !reason.isEmpty else { throw .invalid("reason", "must not be empty") }
        if let rule = FreeText.brokenRule(by: reason, maximumCharacters: Self.mostOfReason) {
            throw .invalid("reason", rule)
        }
        if let text, let rule = MessageRequest.brokenRule(by: text, characters: Self.mostOfText) {
            throw .invalid("text", rule)
        }
    }

    private init(_ bytes: UnsafeRawBufferPointer) throws(DecodingFailure) {
        var members = try RequestBody.object(bytes)
        var (user, conversation): (UserID?, ConversationID?)
        var (message, reason, text): (String?, String?, String?)
        try members.forEachMember { (key, value) throws(DecodingFailure) in
            guard value.kind != .null else { return }
            if key.equals("user") { user = try value.checkedIdentifier("user") }
            if key.equals("conversation") { conversation = try value.checkedIdentifier("conversation") }
            if key.equals("message") { message = try value.checkedCreationKey("message").string }
            if key.equals("reason") { reason = try value.checkedString("reason") }
            if key.equals("text") { text = try value.checkedString("text") }
        }
        guard let reason else { throw .missing("reason") }
        (self.user, self.conversation, self.message) = (user, conversation, message)
        (self.reason, self.text) = (reason, text)
    }
}

/// `{"action":"accept"}`; with `ban` also the members of a ban.
enum ReportAction: String, CaseIterable {
    case accept
    case dismiss
    case deleteMessage
    case ban

    init(_ body: [UInt8]) throws(DecodingFailure) {
        let text = try RequestObject(json: body).text("action")
        guard let action = Self(rawValue: text) else {
            throw .invalid("action", "must be one of " + Self.allCases.map(\.rawValue).joined(separator: ", "))
        }
        self = action
    }

    var state: ReportState { self == .dismiss ? .dismissed : .accepted }
}

enum ReportState: String, CaseIterable {
    case open
    case accepted
    case dismissed

    /// The list of reports in this state, as an id.
    var list: Identifier { Identifier(rawValue)! }
}

/// `?state=open&after=ID&limit=N`. Other names are ignored.
struct ReportQuery {
    let state: ReportState
    let after: Identifier?
    let limit: Int

    static let most = 100

    init(_ query: String) throws(DecodingFailure) {
        let members = CallQuery(query)
        limit = try members.limit(50, most: Self.most)
        guard let state = ReportState(rawValue: members["state"] ?? "open") else {
            throw .invalid("state", "must be open, accepted or dismissed")
        }
        self.state = state
        after = members["after"].flatMap { Identifier($0) }
        guard after != nil || members["after"] == nil else { throw .invalid("after", "must be the id of a report") }
    }
}
