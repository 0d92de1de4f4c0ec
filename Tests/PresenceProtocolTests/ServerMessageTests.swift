import Expectations
import PresenceProtocol
import Testing

struct ServerMessageTests {
    static let profile = Profile(
        version: 3, displayName: "Bob \"B\" Ray", photoURL: "https://e.org/b", timezone: "UTC", locale: "en",
        createdAt: 1, updatedAt: 2)
    static let presence = Presence(version: 9, status: .busy, since: 8, text: "Out", devices: [.desktop, .phone])
    static let snapshots = [
        UserSnapshot(user: id("bob"), presence: presence, profile: .profile(profile)),
        UserSnapshot(user: id("zed"), presence: .unknown, profile: ProfileRegister.none),
        UserSnapshot(user: id("cy"), presence: nil, profile: .profile(Profile(version: 1))),
        UserSnapshot(user: id("di"), presence: presence, profile: nil),
    ]

    static let everyKind: [ServerMessage] = [
        .connected(
            id: 1,
            .init(
                user: id("ana"), session: "s", serverTime: 5, status: .init(status: .busy, text: "x", clearAt: 9),
                heartbeatInterval: 1, heartbeatTimeout: 2, linger: 3,
                limits: .init(maxMessageBytes: 4, maxServerMessageBytes: 5, subscriptions: 6, subscribeBatch: 7))),
        .connected(
            id: nil,
            .init(
                user: id("ana"), session: "s", serverTime: 5, status: nil, heartbeatInterval: 1, heartbeatTimeout: 2,
                linger: 3, limits: .init())),
        .refreshed(id: 2), .refreshed(id: nil), .ok(id: 3), .unsubscribed(id: 4), .unsubscribed(id: nil),
        .subscribed(id: 5, users: snapshots, conversations: [], more: true),
        .subscribed(
            id: nil, users: [], conversations: [.init(conversation: id("c"), version: 1, typing: ids("a", "b"))],
            more: false),
        .subscribed(
            id: 5, users: snapshots, conversations: [.init(conversation: id("c"), version: 0, typing: [])], more: true),
        .subscribed(id: 5, users: [], conversations: [], more: false),
        .users(id: 6, snapshots, more: false), .users(id: nil, [], more: true),
        .profileUpdated(id: 7, profile),
        .conversationCreated(id: 8, .init(id: id("c"), participants: ids("a", "b"))),
        .presence(user: id("bob"), presence, at: 1), .presence(user: id("bob"), .unknown, at: nil),
        .presence(user: id("bob"), Presence(version: 2, status: .offline, since: 1, lastSeen: 0), at: 1),
        .profile(user: id("bob"), .profile(profile), at: 1), .profile(user: id("bob"), .none, at: nil),
        .typing(.init(conversation: id("c"), version: 1, users: ids("a"), more: 3, at: 2)),
        .typing(.init(conversation: id("c"), version: 1, users: [])),
        .ownStatus(.init()), .ownStatus(.init(status: .invisible, text: "x", clearAt: 1)),
        .tokenExpiring(expiresIn: 60_000), .stale(since: 1), .stale(since: nil), .live,
        .error(.init(code: .badRequest, message: "no")),
        .error(.init(id: 1, code: .init(rawValue: "new"), message: "é\n", field: "a.b", retryAfter: 5)),
        .error(.init(id: 2, code: .unavailable, message: "lost", retryAfter: 1_000, outcomeUnknown: true)),
        .unknown(type: "later"), .unknown(type: "laterAnswer", id: 7),
    ]

    @Test(arguments: everyKind)
    func `every kind survives being encoded and decoded`(message: ServerMessage) throws {
        try expect(ServerMessage.decode(message.encoded()), equals: message)
    }

    @Test(arguments: [1, 28, 31, 32, 48, 60])
    func `nested content is read as deep as servers pass it on, and not without end`(depth: Int) throws {
        let data = String(repeating: #"{"a":"#, count: depth - 1) + "[]" + String(repeating: "}", count: depth - 1)
        for text in [
            #"{"type":"notification","notification":{"data":\#(data)},"version":1}"#,
            #"{"type":"subscribed","id":1,"users":[],"notifications":{"items":[{"data":\#(data)}]}}"#,
        ] {
            _ = try ServerMessage.decode(Array(text.utf8))
        }
        let endless = Array((String(repeating: "[", count: 1_000_000)).utf8)
        #expect(throws: DecodingFailure.self) {
            try ServerMessage.decode(Array(#"{"type":"x","data":"#.utf8) + endless)
        }
    }

    @Test(arguments: everyKind)
    func `every kind cut at any byte is refused`(message: ServerMessage) {
        let bytes = message.encoded()
        for length in 0..<bytes.count {
            #expect(throws: DecodingFailure.self) { try ServerMessage.decode(Array(bytes.prefix(length))) }
        }
    }

    // MARK: A later server

    @Test func `additions of a later server are ignored`() throws {
        try expect(server(#"{"type":"fireworks","colour":{"type":"live"}}"#), equals: .unknown(type: "fireworks"))
        try expect(server(#"{"new":[1,{"a":null}],"type":"live","id":null}"#), equals: .live)
        try expect(
            server(#"{"type":"presence","user":"b","mood":1,"presence":{"mood":[],"version":1,"status":"online"}}"#),
            equals: .presence(user: id("b"), Presence(version: 1, status: .online), at: nil))
        try expect(
            server(#"{"type":"ownStatus","status":{"status":"focused","until":"noon"}}"#),
            equals: .ownStatus(OwnStatus(status: .auto)))
        try expect(
            server(#"{"type":"error","code":"teapot"}"#),
            equals: .error(.init(code: ErrorCode(rawValue: "teapot"), message: "")))
    }

    @Test func `unknown devices become other, once and in order`() throws {
        let json = #"{"version":1,"status":"online","devices":["watch","web","tv","bot","web"]}"#
        let message = try server(#"{"type":"presence","user":"b","presence":\#(json)}"#)
        expect(
            message,
            equals: .presence(
                user: id("b"), Presence(version: 1, status: .online, devices: [.bot, .other, .web]), at: nil))
    }

    @Test func `an unknown status is away with live devices and offline without`() throws {
        func status(_ presence: String) throws -> PresenceStatus? {
            guard
                case .presence(_, let presence, _) = try server(
                    #"{"type":"presence","user":"b","presence":\#(presence)}"#)
            else { return nil }
            return presence.status
        }
        try expect(status(#"{"version":1,"status":"dancing","devices":["web"]}"#), equals: .away)
        try expect(status(#"{"devices":["watch"],"status":"dancing","version":1}"#), equals: .away)
        try expect(status(#"{"version":1,"status":"dancing"}"#), equals: .offline)
    }

    @Test func `absent settings in connected are the protocol's defaults`() throws {
        let message = try server(#"{"type":"connected","user":"ana","session":"s","serverTime":1}"#)
        expect(
            message,
            equals: .connected(
                id: nil,
                .init(
                    user: id("ana"), session: "s", serverTime: 1, status: nil, heartbeatInterval: 20_000,
                    heartbeatTimeout: 10_000, linger: 10_000, limits: ConnectionLimits())))
    }

    @Test(arguments: [
        "", "[]", "null", "{}", #"{"type":7}"#, #"{"type":"ok"}"#, #"{"type":"ok","id":"1"}"#, #"{"type":"live"}{}"#,
        #"{"type":"presence","user":"b"}"#, #"{"type":"presence","presence":{"version":1,"status":"online"}}"#,
        #"{"type":"presence","user":"b","presence":{"status":"online"}}"#,
        #"{"type":"presence","user":"b","presence":{"version":1}}"#,
        #"{"type":"presence","user":"b","presence":{"version":1.0,"status":"online"}}"#,
        #"{"type":"presence","user":"b c","presence":{"version":1,"status":"online"}}"#,
        #"{"type":"profile","user":"b","profile":{}}"#, #"{"type":"profile","user":"b","profile":7}"#,
        #"{"type":"typing","conversation":"c","users":[]}"#, #"{"type":"typing","conversation":"c","version":1}"#,
        #"{"type":"typing","conversation":"c","version":1,"users":[""]}"#, #"{"type":"tokenExpiring"}"#,
        #"{"type":"error"}"#, #"{"type":"connected"}"#, #"{"type":"connected","user":"a","session":"s"}"#,
        #"{"type":"subscribed","users":[{}]}"#, #"{"type":"subscribed","users":{}}"#,
        #"{"type":"subscribed","conversations":[{"conversation":"c"}]}"#, #"{"type":"ownStatus"}"#,
        #"{"type":"ownStatus","status":"busy"}"#, #"{"type":"conversationCreated","conversation":{}}"#,
        #"{"type":"profileUpdated"}"#, #"{"type":"stale","since":"now"}"#,
    ])
    func `a message without a required member is rejected`(json: String) {
        #expect(throws: DecodingFailure.self) { try server(json) }
    }

    // MARK: From pieces

    @Test func `events assembled from encoded registers are the same bytes`() {
        var output: [UInt8] = []
        ServerMessageWriter.presence(user: id("bob"), presence: Self.presence.encoded(), at: 5, to: &output)
        expect(output, equals: ServerMessage.presence(user: id("bob"), Self.presence, at: 5).encoded())
        output.removeAll()
        ServerMessageWriter.profile(user: id("bob"), profile: ServerMessageWriter.noProfile, at: 5, to: &output)
        expect(String(json: output), equals: #"{"type":"profile","user":"bob","profile":null,"at":5}"#)
        expect(ServerMessageWriter.unknownPresence, equals: Presence.unknown.encoded())
        expect(ServerMessageWriter.noProfile, equals: ProfileRegister.none.encoded())
        output.removeAll()
        ServerMessageWriter.profileUpdated(id: nil, profile: Self.profile.encoded(), to: &output)
        expect(output, equals: ServerMessage.profileUpdated(id: nil, Self.profile).encoded())
    }
}
