import PresenceCore
import PresenceProtocol

/// `requestContact {"user","text"?}`, and the body of the same call of backends.
struct ContactAsk {
    let user: UserID
    let text: String?

    /// Characters of the text.
    static let mostOfText = 140

    init(_ members: ClientMembers) throws(DecodingFailure) {
        user = try members.contactUser
        let value = members.text.flatMap { $0.kind == .null ? nil : $0 }
        text = try value?.checkedString("text")
        try check()
    }

    init(_ body: RequestObject) throws(DecodingFailure) {
        guard let user = UserID(try body.text("user")) else {
            throw .invalid("user", "must be 1 to 128 printable ASCII characters without space")
        }
        self.user = user
        text = try body.optionalText("text")
        try check()
    }

    private func check() throws(DecodingFailure) {
        guard let text else { return }
        guard !text.isEmpty else { throw .invalid("text", "must not be empty") }
        if let rule = FreeText.brokenRule(by: text, maximumCharacters: Self.mostOfText) {
            throw .invalid("text", rule)
        }
    }
}

/// `answerContact {"user","accept"}`.
struct ContactAnswer {
    let user: UserID
    let isAccepted: Bool

    init(_ members: ClientMembers) throws(DecodingFailure) {
        user = try members.contactUser
        isAccepted = try members.needed(members["accept"], "accept").checkedBool("accept")
    }

    init(_ user: UserID, _ body: RequestObject) throws(DecodingFailure) {
        guard let isAccepted = try body.optionalBool("accept") else { throw .missing("accept") }
        (self.user, self.isAccepted) = (user, isAccepted)
    }
}

extension ClientMembers {
    fileprivate var contactUser: UserID {
        get throws(DecodingFailure) { try needed(self["user"], "user").checkedIdentifier("user") }
    }
}
