import Expectations
import PresenceProtocol
import Testing

/// The encoding of who may see a user.
struct VisibilityTests {
    @Test func `a change has only the changed members`() throws {
        try expect(
            client(#"{"type":"setVisibility","visibility":{"lastSeen":"nobody","presence":null,"x":1}}"#).body,
            equals: .setVisibility(.init(lastSeen: .nobody)))
        try expect(client(#"{"type":"setVisibility","visibility":{}}"#).body, equals: .setVisibility(.init()))
    }

    @Test(arguments: [
        (#"{"type":"setVisibility"}"#, ErrorCode.badRequest, "visibility"),
        (#"{"type":"setVisibility","visibility":"nobody"}"#, .badRequest, "visibility"),
        (#"{"type":"setVisibility","visibility":{"presence":7}}"#, .badRequest, "visibility.presence"),
        (#"{"type":"setVisibility","visibility":{"lastSeen":"friends"}}"#, .validationFailed, "visibility.lastSeen"),
        (#"{"type":"setVisibility","visibility":{"findable":"friends"}}"#, .validationFailed, "visibility.findable"),
        (#"{"type":"block"}"#, .badRequest, "users"),
        (#"{"type":"addContacts","users":["a b"]}"#, .validationFailed, "users"),
    ])
    func `an invalid change is rejected with its field`(json: String, code: ErrorCode, field: String) {
        let refusal = refusal(of: Array(json.utf8))
        expect(refusal?.code, equals: code)
        expect(refusal?.field, equals: field)
    }

    @Test func `a list takes as many ids as any request`() throws {
        func block(_ count: Int) -> [UInt8] { ClientMessage(.block((0..<count).map { id("u\($0)") })).encoded() }
        #expect(throws: Never.self) { try ClientMessage.decode(block(1_000)) }
        expect(refusal(of: block(1_001))?.code, equals: .tooMany)
    }

    @Test func `a body adds and removes, but no user in both lists`() throws {
        let both = try ListChange.decode(json: Array(#"{"add":["a","b","a"],"remove":["c"]}"#.utf8), limit: 4)
        expect(both, equals: ListChange(add: ids("a", "b"), remove: ids("c")))
        try expect(ListChange.decode(json: Array(#"{"remove":[]}"#.utf8), limit: 4), equals: ListChange())
        for (json, code) in [
            (#"{}"#, ErrorCode.badRequest), (#"{"add":7}"#, .badRequest), (#"[]"#, .badRequest),
            (#"{"add":["a"],"remove":["a"]}"#, .validationFailed),
            (#"{"add":["a","b","c"],"remove":["d","e"]}"#, .tooMany),
        ] {
            do throws(DecodingFailure) {
                _ = try ListChange.decode(json: Array(json.utf8), limit: 4)
                Issue.record("taken: \(json)")
            } catch {
                expect(error.code, equals: code, "\(json)")
            }
        }
    }

    @Test func `long lists are split into parts within the limit, without losing a user`() {
        let contacts = (0..<300).map { id("contact-\($0)\"\\") }
        let blocks = (0..<200).map { id("block-\($0)") }
        let whole = VisibilityLists(visibility: .init(presence: .contacts), contacts: contacts, blocks: blocks)
        let parts = whole.parts(bytes: 1_000)
        expect(parts.count > 5)
        expect(parts.flatMap(\.contacts), equals: contacts)
        expect(parts.flatMap(\.blocks), equals: blocks)
        for part in parts {
            expect(part.visibility, equals: whole.visibility)
            let bytes = ServerMessage.visibility(id: .max, part, more: true).encoded()
            expect(bytes.count <= 1_256)
        }
        expect(VisibilityLists().parts(bytes: 1_000), equals: [VisibilityLists()])
    }

    @Test func `an audience of a later server counts as the audience without users`() throws {
        let json = #"{"type":"ownVisibility","visibility":{"presence":"friends","lastSeen":"contacts"},"contacts":2}"#
        try expect(
            server(json),
            equals: .ownVisibility(.init(visibility: .init(presence: .nobody, lastSeen: .contacts), contacts: 2)))
    }
}
