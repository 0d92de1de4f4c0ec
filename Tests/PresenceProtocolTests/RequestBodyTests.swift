import Expectations
import PresenceProtocol
import Testing

struct RequestBodyTests {
    @Test func `lists of ids are read, each id once`() throws {
        try expect(RequestBody.users(Array(#" {"x":1,"users":["b","a","b"]} "#.utf8), limit: 3), equals: ids("b", "a"))
        try expect(RequestBody.users(Array(#"{"users":[]}"#.utf8), limit: 3), equals: [])
        try expect(RequestBody.participants(Array(#"{"participants":["a"]}"#.utf8)), equals: ids("a"))
    }

    @Test func `more ids than the limit are too many`() {
        let failure = #expect(throws: DecodingFailure.self) {
            try RequestBody.users(Array(#"{"users":["a","a","a","a"]}"#.utf8), limit: 3)
        }
        expect(failure?.code, equals: .tooMany)
    }

    @Test(arguments: [
        "", "hello", "[]", "null", "{}", #"{"users":null}"#, #"{"users":"bob"}"#, #"{"users":[7]}"#, #"{"users":[]}x"#,
        #"{"participants":[]}"#,
    ])
    func `any other body is a bad request`(json: String) {
        let failure = #expect(throws: DecodingFailure.self) { try RequestBody.users(Array(json.utf8), limit: 3) }
        expect(failure?.code, equals: .badRequest)
    }

    @Test func `a bad id is rejected with its list`() {
        let failure = #expect(throws: DecodingFailure.self) {
            try RequestBody.participants(Array(#"{"participants":["a b"]}"#.utf8))
        }
        expect(failure?.code, equals: .validationFailed)
        expect(failure?.field, equals: "participants")
    }

    @Test func `profile changes are read as in the message`() throws {
        let json = Array(#"{"displayName":" Bob ","photoURL":null,"x":[{}]}"#.utf8)
        try expect(
            ProfileChanges.decode(json: json), equals: ProfileChanges(displayName: .set("Bob"), photoURL: .remove))
        #expect(throws: DecodingFailure.self) { try ProfileChanges.decode(json: Array("[]".utf8)) }
        #expect(throws: DecodingFailure.self) { try ProfileChanges.decode(json: Array(#"{"locale":"e"}"#.utf8)) }
        #expect(throws: DecodingFailure.self) { try ProfileChanges.decode(json: Array(#"{"x":"\ud800"}"#.utf8)) }
    }

    @Test func `a close reason has the time to reconnect, and any other reason nothing`() {
        let advice = ReconnectAdvice(reconnectAfter: 1500)
        expect(String(json: advice.encoded()), equals: #"{"reconnectAfter":1500}"#)
        expect(ReconnectAdvice.decode(advice.encoded()), equals: advice)
        for reason in ["", "bye", "{}", #"{"reconnectAfter":-1}"#, #"{"reconnectAfter":"1"}"#, #"{"reconnectAfter":1"#]
        {
            expect(ReconnectAdvice.decode(Array(reason.utf8)), equals: nil)
        }
    }
}
