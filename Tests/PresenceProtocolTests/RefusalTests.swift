import Expectations
import PresenceProtocol
import Testing

/// Rejected messages, with code, field and id.
struct RefusalTests {
    // MARK: Form

    @Test(arguments: [
        "", " ", "hello", "{", "[]", #"[{"type":"disconnect"}]"#, "null", "17", #""disconnect""#, "{}",
        #"{"type":17}"#, #"{"type":null}"#, #"{"type":["get"]}"#, #"{"users":[]}"#, #"{"type":"disconnect"} {}"#,
        #"{"type":"disconnect",}"#, #"{'type':'disconnect'}"#, "{\"type\":\"disconnect\"}\u{0}",
        "\u{FEFF}{\"type\":\"disconnect\"}", #"{"type":"disconnect","x":"\ud800"}"#,
        #"{"type":"disconnect","\udc00":1}"#,
        "{\"type\":\"disconnect\",\"x\":\"a\nb\"}", #"{"type":"disconnect","x":01}"#,
    ])
    func `anything but one object with a type is a bad request`(json: String) {
        expect(refusal(of: json)?.code, equals: .badRequest)
    }

    @Test func `an object nested 32 deep is taken and 33 deep is refused`() {
        let nested = { (depth: Int) in
            let inner = String(repeating: "[", count: depth - 1) + String(repeating: "]", count: depth - 1)
            return #"{"type":"disconnect","id":3,"x":\#(inner)}"#
        }
        expect(refusal(of: nested(32)), equals: nil)
        expect(refusal(of: nested(33))?.code, equals: .badRequest)
        expect(refusal(of: nested(33))?.id, equals: 3)
    }

    @Test func `invalid UTF-8 is a bad request, also in ignored members`() {
        let bytes = Array(#"{"type":"disconnect","x":""#.utf8) + [0xFF] + Array("\"}".utf8)
        expect(refusal(of: bytes)?.code, equals: .badRequest)
    }

    @Test(arguments: ["", "connected", "GET", "get ", "🦆", "get\\u0000", String(repeating: "x", count: 50_000)])
    func `an unknown type has its own code, with the id`(type: String) {
        let failure = refusal(of: #"{"type":"\#(type)","id":9}"#)
        expect(failure?.code, equals: .unknownType)
        expect(failure?.id, equals: 9)
    }

    @Test(arguments: [
        #"{"type":"get"}"#, #"{"type":"get","users":null}"#, #"{"type":"get","users":"bob"}"#,
        #"{"type":"get","users":{}}"#, #"{"type":"get","users":[7]}"#, #"{"type":"get","users":[null]}"#,
        #"{"type":"get","users":[["bob"]]}"#, #"{"type":"subscribe"}"#, #"{"type":"subscribe","users":null}"#,
        #"{"type":"subscribe","users":["a"],"conversations":"c"}"#, #"{"type":"subscribe","users":["a"],"known":7}"#,
        #"{"type":"subscribe","users":["a"],"known":{"a":7}}"#, #"{"type":"subscribe","users":["a"],"known":{"z":7}}"#,
        #"{"type":"subscribe","users":["a"],"known":{"a":{"presence":"7"}}}"#,
        #"{"type":"subscribe","users":["a"],"known":{"a":{"profile":1.5}}}"#, #"{"type":"unsubscribe"}"#,
        #"{"type":"unsubscribe","users":true}"#, #"{"type":"refresh"}"#, #"{"type":"refresh","token":5}"#,
        #"{"type":"status"}"#, #"{"type":"status","status":null}"#, #"{"type":"status","status":7}"#,
        #"{"type":"status","status":"busy","text":7}"#, #"{"type":"status","status":"busy","clearAfter":"1000"}"#,
        #"{"type":"status","status":"busy","clearAfter":1500.5}"#,
        #"{"type":"status","status":"busy","clearAfter":1e4}"#,
        #"{"type":"status","status":"busy","clearAfter":2000.0}"#,
        #"{"type":"status","status":"busy","clearAfter":true}"#,
        #"{"type":"activity"}"#, #"{"type":"activity","state":null}"#, #"{"type":"activity","state":1}"#,
        #"{"type":"updateProfile"}"#, #"{"type":"updateProfile","changes":null}"#,
        #"{"type":"updateProfile","changes":"x"}"#, #"{"type":"updateProfile","changes":[]}"#,
        #"{"type":"updateProfile","changes":{"displayName":7}}"#, #"{"type":"updateProfile","changes":{"locale":[]}}"#,
        #"{"type":"createConversation"}"#, #"{"type":"createConversation","participants":"bob"}"#,
        #"{"type":"createConversation","participants":[7]}"#,
        #"{"type":"createConversation","participants":["b"],"key":7}"#, #"{"type":"typing"}"#,
        #"{"type":"typing","conversation":"c"}"#, #"{"type":"typing","typing":true}"#,
        #"{"type":"typing","conversation":7,"typing":true}"#, #"{"type":"typing","conversation":"c","typing":"yes"}"#,
        #"{"type":"typing","conversation":"c","typing":1}"#, #"{"type":"connect","token":17}"#,
        #"{"type":"connect","device":"phone"}"#, #"{"type":"connect","device":[]}"#,
        #"{"type":"connect","device":{"id":7}}"#, #"{"type":"connect","device":{"kind":7}}"#,
        #"{"type":"connect","device":{"name":7}}"#, #"{"type":"connect","activity":1}"#,
        #"{"type":"connect","status":7}"#, #"{"type":"connect","status":{}}"#,
        #"{"type":"connect","status":{"status":7}}"#, #"{"type":"connect","status":{"status":"busy","text":7}}"#,
    ])
    func `a member that is missing or of the wrong kind is a bad request`(json: String) {
        expect(refusal(of: json)?.code, equals: .badRequest)
    }

    // MARK: The request's id

    @Test(arguments: [
        "0", "-1", "1.0", "1.5", "1e3", "\"7\"", "9007199254740992", "99999999999999999999", "true", "null", "[1]",
        "{}",
    ])
    func `an id of another kind is a bad request, answered without id`(id: String) {
        let failure = refusal(of: #"{"type":"disconnect","id":\#(id)}"#)
        expect(failure?.code, equals: .badRequest)
        expect(failure?.field, equals: "id")
        expect(failure?.id, equals: nil)
    }

    @Test func `ids from 1 to 2^53-1 are taken`() throws {
        try expect(client(#"{"type":"disconnect","id":1}"#).id, equals: 1)
        try expect(client(#"{"type":"disconnect","id":9007199254740991}"#).id, equals: 9_007_199_254_740_991)
        try expect(client(#"{"type":"disconnect"}"#).id, equals: nil)
    }

    @Test(arguments: [
        #"{"id":5,"type":"get","users":7}"#, #"{"type":"get","users":7,"id":5}"#,
        #"{"users":[""],"type":"get","id":5}"#,
        #"{"type":"nonsense","id":5}"#, #"{"id":5}"#, #"{"type":7,"id":5}"#, #"{"id":5,"type":"get","users":["bob""#,
        #"{"id":5,"type":"get"}{}"#, #"{"id":5,"x":"\ud800"}"#, #"{"type":"get","x":{"id":6},"id":5}"#,
        #"{"type":"get","users":["a","b","c"],"id":5}"#,
    ])
    func `a failure knows the request's id wherever it stands`(json: String) {
        expect(refusal(of: json, limits: ConnectionLimits(subscribeBatch: 2))?.id, equals: 5)
    }

    @Test func `a failure becomes the error message that answers the request`() {
        let failure = refusal(of: #"{"type":"activity","id":5,"state":"asleep"}"#)
        expect(
            failure?.errorMessage,
            equals: .init(
                id: 5, code: .validationFailed, message: "state must be one of active, idle, background",
                field: "state"))
    }

    // MARK: Bounds

    @Test(arguments: [
        (#"{"type":"get","users":[""]}"#, "users"),
        (#"{"type":"get","users":["a b"]}"#, "users"),
        (#"{"type":"get","users":["é"]}"#, "users"),
        (#"{"type":"get","users":["\u0000"]}"#, "users"),
        (#"{"type":"get","users":["ok","\u007f"]}"#, "users"),
        (#"{"type":"unsubscribe","users":["a\tb"]}"#.replacing("\t", with: "\\t"), "users"),
        (#"{"type":"subscribe","conversations":["c 1"]}"#, "conversations"),
        (#"{"type":"createConversation","participants":["ana",""]}"#, "participants"),
        (#"{"type":"createConversation","participants":["ana"],"key":""}"#, "key"),
        (#"{"type":"createConversation","participants":["ana"],"key":"a b"}"#, "key"),
        (#"{"type":"createConversation","participants":["ana"],"key":"é"}"#, "key"),
        (
            #"{"type":"createConversation","participants":["ana"],"key":"\#(String(repeating: "k", count: 65))"}"#,
            "key"
        ),
        (#"{"type":"typing","conversation":"","typing":true}"#, "conversation"),
        (#"{"type":"activity","state":"asleep"}"#, "state"),
        (#"{"type":"activity","state":"ACTIVE"}"#, "state"),
        (#"{"type":"status","status":"online"}"#, "status"),
        (#"{"type":"status","status":""}"#, "status"),
        (#"{"type":"status","status":"busy","text":"a\nb"}"#, "text"),
        (#"{"type":"status","status":"busy","clearAfter":0}"#, "clearAfter"),
        (#"{"type":"status","status":"busy","clearAfter":-1}"#, "clearAfter"),
        (#"{"type":"status","status":"busy","clearAfter":99999999999999999999}"#, "clearAfter"),
        (#"{"type":"connect","activity":"asleep"}"#, "activity"),
        (#"{"type":"connect","status":"away"}"#, "status"),
        (#"{"type":"connect","status":{"status":"away"}}"#, "status.status"),
        (#"{"type":"connect","status":{"status":"busy","text":"\u202e"}}"#, "status.text"),
        (#"{"type":"connect","status":{"status":"busy","clearAfter":1}}"#, "status.clearAfter"),
        (#"{"type":"connect","device":{"id":"a b"}}"#, "device.id"),
        (#"{"type":"connect","device":{"kind":"fridge"}}"#, "device.kind"),
        (#"{"type":"connect","device":{"name":"\u0007"}}"#, "device.name"),
        (#"{"type":"updateProfile","changes":{"displayName":null}}"#, "displayName"),
        (#"{"type":"updateProfile","changes":{"displayName":""}}"#, "displayName"),
        (#"{"type":"updateProfile","changes":{"displayName":" \u3000\t"}}"#, "displayName"),
        (#"{"type":"updateProfile","changes":{"displayName":"a\u0000b"}}"#, "displayName"),
        (#"{"type":"updateProfile","changes":{"photoURL":""}}"#, "photoURL"),
        (#"{"type":"updateProfile","changes":{"displayName":"Bob","photoURL":"http://example.org"}}"#, "photoURL"),
        (#"{"type":"updateProfile","changes":{"timezone":"../etc"}}"#, "timezone"),
        (#"{"type":"updateProfile","changes":{"locale":"not a locale"}}"#, "locale"),
    ])
    func `a value out of bounds is rejected with its field`(json: String, field: String) {
        let failure = refusal(of: json)
        expect(failure?.code, equals: .validationFailed)
        expect(failure?.field, equals: field)
        expect(failure?.message.hasPrefix(field), equals: true)
    }

    @Test func `ids of 128 bytes are taken and of 129 are refused`() throws {
        let longest = String(repeating: "~", count: 128)
        try expect(client(#"{"type":"get","users":["\#(longest)"]}"#).body, equals: .get(users: ids(longest)))
        expect(refusal(of: #"{"type":"get","users":["!\#(longest)"]}"#)?.code, equals: .validationFailed)
        let escaped = String(repeating: "\\u007e", count: 128)
        try expect(client(#"{"type":"get","users":["\#(escaped)"]}"#).body, equals: .get(users: ids(longest)))
        expect(refusal(of: #"{"type":"get","users":["\#(escaped)\#(escaped)"]}"#)?.code, equals: .validationFailed)
        let everything = String(decoding: Array(UInt8(0x21)...0x7E), as: UTF8.self)
        let message = ClientMessage(.get(users: [id(everything)]))
        try expect(ClientMessage.decode(message.encoded()), equals: message)
    }

    @Test func `clearAfter is taken from one second to thirty days`() {
        let with = { (duration: Int64) in #"{"type":"status","status":"busy","clearAfter":\#(duration)}"# }
        expect(refusal(of: with(999))?.field, equals: "clearAfter")
        expect(refusal(of: with(1_000)), equals: nil)
        expect(refusal(of: with(2_592_000_000)), equals: nil)
        expect(refusal(of: with(2_592_000_001))?.field, equals: "clearAfter")
    }

    @Test func `a status text of 140 characters is taken and of 141 is refused`() {
        for character in ["x", "ä", "😀", "e\u{301}"] {
            let with = { (count: Int) in
                #"{"type":"status","status":"busy","text":"\#(String(repeating: character, count: count))"}"#
            }
            expect(refusal(of: with(140)), equals: nil, "\(character)")
            expect(refusal(of: with(141))?.field, equals: "text", "\(character)")
        }
    }

    @Test func `a device name of 128 characters is taken and of 129 is refused`() {
        let with = { (count: Int) in
            #"{"type":"connect","device":{"name":"\#(String(repeating: "é", count: count))"}}"#
        }
        expect(refusal(of: with(128)), equals: nil)
        expect(refusal(of: with(129))?.field, equals: "device.name")
    }

    // MARK: Number

    @Test func `as many ids as the limit are taken and one more is too many, repetitions counted`() {
        let limits = ConnectionLimits(subscribeBatch: 3)
        func code(_ json: String) -> ErrorCode? { refusal(of: json, limits: limits)?.code }
        for type in ["get", "subscribe", "unsubscribe"] {
            expect(code(#"{"type":"\#(type)","users":["a","b","c"]}"#), equals: nil)
            expect(code(#"{"type":"\#(type)","users":["a","b","c","d"]}"#), equals: .tooMany)
            expect(code(#"{"type":"\#(type)","users":["a","a","a","a"]}"#), equals: .tooMany)
        }
        expect(code(#"{"type":"subscribe","users":["a","b"],"conversations":["c"]}"#), equals: nil)
        expect(code(#"{"type":"subscribe","users":["a","b"],"conversations":["c","d"]}"#), equals: .tooMany)
        expect(code(#"{"type":"subscribe","conversations":["a","b","c","d"]}"#), equals: .tooMany)
        // The codec does not limit the participants of a conversation.
        expect(code(#"{"type":"createConversation","participants":["a","b","c","d"]}"#), equals: nil)
    }

    @Test func `the default limit takes a thousand ids`() {
        let with = { (count: Int) in
            #"{"type":"subscribe","users":[\#((0..<count).map { "\"u\($0)\"" }.joined(separator: ","))]}"#
        }
        expect(refusal(of: with(1_000)), equals: nil)
        expect(refusal(of: with(1_001))?.code, equals: .tooMany)
    }
}
