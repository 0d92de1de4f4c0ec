import PresenceProtocol

/// Random values that keep to the protocol's bounds.
enum Invention {
    static func anyText(upTo length: Int, using random: inout SplitMix) -> String {
        var scalars = String.UnicodeScalarView()
        for _ in 0..<Int.random(in: 0...length, using: &random) {
            let limits: [UInt32] = [0x80, 0x80, 0x80, 0x800, 0x10000, 0x110000]
            let value = UInt32.random(in: 0..<limits.randomElement(using: &random)!, using: &random)
            if let scalar = Unicode.Scalar(value) { scalars.append(scalar) }
        }
        return String(scalars)
    }

    /// Allowed text, not empty and without white space at its ends.
    static func text(upTo characters: Int, using random: inout SplitMix) -> String {
        let pieces = ["a", "Z", "7", "é", "e\u{301}", "名", "😀", "👨‍👩‍👧", "🇩🇪", "\"", "\\", "/", "ب", "\u{200D}", "'", "<"]
        var text = "x"
        for _ in 0..<Int.random(in: 0..<characters - 1, using: &random) {
            text += pieces.randomElement(using: &random)!
        }
        return text
    }

    static func identifier(using random: inout SplitMix) -> Identifier {
        let length = Bool.random(using: &random) ? Int.random(in: 1...12, using: &random) : 128
        let bytes = (0..<length).map { _ in UInt8.random(in: 0x21...0x7E, using: &random) }
        return Identifier(String(decoding: bytes, as: UTF8.self))!
    }

    /// Ids without repetition, few or more than are compared one with another.
    static func identifiers(using random: inout SplitMix) -> [Identifier] {
        let count = Bool.random(using: &random) ? Int.random(in: 0...3, using: &random) : 40
        var seen: Set<Identifier> = []
        return (0..<count).map { _ in identifier(using: &random) }.filter { seen.insert($0).inserted }
    }

    static func maybe<Value>(using random: inout SplitMix, _ make: (inout SplitMix) -> Value) -> Value? {
        Bool.random(using: &random) ? make(&random) : nil
    }

    static func change(using random: inout SplitMix, _ make: (inout SplitMix) -> String) -> Change<String> {
        switch Int.random(in: 0..<3, using: &random) {
        case 0: .keep
        case 1: .remove
        default: .set(make(&random))
        }
    }

    static func message(using random: inout SplitMix) -> ClientMessage {
        ClientMessage(
            id: maybe(using: &random) { Int64.random(in: 1...ClientMessage.maximumID, using: &$0) },
            body(using: &random))
    }

    private static func body(using random: inout SplitMix) -> ClientMessage.Body {
        switch Int.random(in: 0..<17, using: &random) {
        case 0: .connect(connect(using: &random))
        case 1: .refresh(token: anyText(upTo: 300, using: &random))
        case 2: .subscribe(subscribe(using: &random))
        case 3: .unsubscribe(users: identifiers(using: &random), conversations: identifiers(using: &random))
        case 4: .get(users: identifiers(using: &random))
        case 5: .status(status(using: &random))
        case 6: .activity(Activity.allCases.randomElement(using: &random)!)
        case 7: .updateProfile(profileChanges(using: &random))
        case 8:
            .createConversation(
                participants: identifiers(using: &random),
                key: maybe(using: &random) { CreationKey(String(identifier(using: &$0).string.prefix(64)))! })
        case 9: .typing(conversation: identifier(using: &random), typing: Bool.random(using: &random))
        case 10:
            .setVisibility(
                .init(
                    presence: maybe(using: &random) { Audience.allCases.randomElement(using: &$0)! },
                    lastSeen: maybe(using: &random) { Audience.allCases.randomElement(using: &$0)! },
                    findable: maybe(using: &random) { Audience.allCases.randomElement(using: &$0)! }))
        case 11: .getVisibility
        case 12: .addContacts(identifiers(using: &random))
        case 13: .removeContacts(identifiers(using: &random))
        case 14: .block(identifiers(using: &random))
        case 15: .unblock(identifiers(using: &random))
        default: .disconnect
        }
    }

    private static func connect(using random: inout SplitMix) -> ClientMessage.Connect {
        ClientMessage.Connect(
            token: maybe(using: &random) { anyText(upTo: 300, using: &$0) },
            device: maybe(using: &random) { random in
                Device(
                    id: maybe(using: &random) { identifier(using: &$0) },
                    kind: DeviceKind.allCases.randomElement(using: &random)!,
                    name: maybe(using: &random) { text(upTo: 40, using: &$0) })
            },
            activity: Activity.allCases.randomElement(using: &random)!,
            status: maybe(using: &random) { status(using: &$0) })
    }

    private static func subscribe(using random: inout SplitMix) -> ClientMessage.Subscribe {
        let users = identifiers(using: &random)
        var known: [UserID: ClientMessage.KnownVersions] = [:]
        for user in users where Bool.random(using: &random) {
            known[user] = ClientMessage.KnownVersions(
                presence: maybe(using: &random) { Int64.random(in: .min ... .max, using: &$0) },
                profile: maybe(using: &random) { Int64.random(in: .min ... .max, using: &$0) })
        }
        return ClientMessage.Subscribe(users: users, known: known, conversations: identifiers(using: &random))
    }

    private static func status(using random: inout SplitMix) -> StatusChange {
        StatusChange(
            status: ChosenStatus.allCases.randomElement(using: &random)!,
            text: change(using: &random) { text(upTo: 40, using: &$0) },
            clearAfter: maybe(using: &random) { Int64.random(in: StatusChange.clearAfterBounds, using: &$0) })
    }

    private static func profileChanges(using random: inout SplitMix) -> ProfileChanges {
        ProfileChanges(
            displayName: Bool.random(using: &random) ? .keep : .set(text(upTo: 50, using: &random)),
            photoURL: change(using: &random) { "https://example.org/\($0.next())?a=%20" },
            timezone: change(using: &random) { ["UTC", "Etc/GMT+5", "Europe/Paris"].randomElement(using: &$0)! },
            locale: change(using: &random) { ["en", "pt-BR", "zh-Hant-TW"].randomElement(using: &$0)! })
    }
}
