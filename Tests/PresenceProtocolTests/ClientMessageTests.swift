import Expectations
import PresenceProtocol
import Testing

/// The meaning of well-formed messages, member by member.
struct ClientMessageTests {
    @Test func `members come in any order, with white space, escapes and unknown ones among them`() throws {
        let json = """
             { "users" : [ "b\\u006fb" ] , "x":{"type":[1,{"id":0}]}, "id" : 7,\t"\\u0074ype" : "sub\\u0073cribe", "y":null}\n
            """
        try expect(client(json), equals: ClientMessage(id: 7, .subscribe(.init(users: ids("bob")))))
    }

    @Test func `of several members with one key the last counts`() throws {
        try expect(
            client(#"{"type":"x","type":"disconnect","id":"no","id":5}"#), equals: ClientMessage(id: 5, .disconnect))
        try expect(client(#"{"type":"get","users":7,"users":["bob"]}"#).body, equals: .get(users: ids("bob")))
    }

    @Test func `null is the same as absent where it has no meaning of its own`() throws {
        let json = """
            {"type":"connect","token":null,"device":{"id":null,"kind":null,"name":null},"activity":null,"status":null}
            """
        try expect(client(json).body, equals: .connect(.init(token: nil, device: Device())))
        try expect(client(#"{"type":"connect","device":null}"#).body, equals: .connect(.init(token: nil)))
        try expect(
            client(#"{"type":"subscribe","users":["a"],"known":null,"conversations":null}"#).body,
            equals: .subscribe(.init(users: ids("a"))))
        try expect(
            client(#"{"type":"subscribe","users":["a"],"known":{"a":null}}"#).body,
            equals: .subscribe(.init(users: ids("a"), known: [id("a"): .init()])))
        try expect(
            client(#"{"type":"status","status":"busy","clearAfter":null}"#).body, equals: .status(.init(status: .busy)))
    }

    @Test func `a status in connect is an object or only a string`() throws {
        let plain = try client(#"{"type":"connect","token":"t","status":"busy"}"#)
        expect(plain.body, equals: .connect(.init(token: "t", status: .init(status: .busy))))
        let object = try client(
            #"{"type":"connect","token":"t","status":{"clearAfter":1000,"text":"Out","status":"busy","x":1}}"#)
        expect(
            object.body,
            equals: .connect(.init(token: "t", status: .init(status: .busy, text: .set("Out"), clearAfter: 1000))))
    }

    @Test func `a status text is kept when absent and removed by null or nothing`() throws {
        try expect(
            client(#"{"type":"status","status":"auto"}"#).body, equals: .status(.init(status: .auto, text: .keep)))
        for nothing in ["null", "\"\""] {
            let message = try client(#"{"type":"status","status":"auto","text":\#(nothing)}"#)
            expect(message.body, equals: .status(.init(status: .auto, text: .remove)))
        }
    }

    @Test func `repeated ids count once, in the order of their first appearance`() throws {
        let few = try client(#"{"type":"subscribe","users":["c","a","c","b","a"],"conversations":["x","x"]}"#)
        expect(few.body, equals: .subscribe(.init(users: ids("c", "a", "b"), conversations: ids("x"))))
        let many = (0..<60).map { "\"u\($0 % 30)\"" }.joined(separator: ",")
        let message = try client(#"{"type":"get","users":[\#(many)]}"#)
        expect(message.body, equals: .get(users: (0..<30).map { id("u\($0)") }))
        let made = try client(#"{"type":"createConversation","participants":["b","a","b"]}"#)
        expect(made.body, equals: .createConversation(participants: ids("b", "a")))
        let keyed = try client(#"{"type":"createConversation","participants":["b"],"key":"k-1"}"#)
        expect(keyed.body, equals: .createConversation(participants: ids("b"), key: CreationKey("k-1")))
        let without = try client(#"{"type":"createConversation","participants":["b"],"key":null}"#)
        expect(without.body, equals: .createConversation(participants: ids("b")))
        let longest = String(repeating: "k", count: 64)
        let long = try client(#"{"type":"createConversation","participants":["b"],"key":"\#(longest)"}"#)
        expect(long.body, equals: .createConversation(participants: ids("b"), key: CreationKey(longest)))
    }

    @Test func `known versions count only for requested users`() throws {
        let json = #"{"type":"subscribe","users":["a"],"known":{"b":{"presence":1},"":{},"a":{"profile":0,"x":"y"}}}"#
        try expect(client(json).body, equals: .subscribe(.init(users: ids("a"), known: [id("a"): .init(profile: 0)])))
        // A version beyond 64 bits is one that no register has.
        let huge = #"{"type":"subscribe","users":["a"],"known":{"a":{"presence":99999999999999999999}}}"#
        try expect(client(huge).body, equals: .subscribe(.init(users: ids("a"), known: [id("a"): .init()])))
    }

    @Test func `known versions of conversations are integers, however large`() throws {
        func known(_ version: String) throws -> ClientMessage.Body {
            try client(#"{"type":"subscribe","conversationList":true,"known":{"c":\#(version)}}"#).body
        }
        var subscribe = ClientMessage.Subscribe()
        subscribe.conversationList = true
        for (written, version) in [("7", 7), ("9007199254740993", 0), ("99999999999999999999", 0)] {
            subscribe.knownConversations = [id("c"): Int64(version)]
            try expect(known(written), equals: .subscribe(subscribe))
        }
        for written in ["1.5", "1.0", "1e3", "1e400"] {
            #expect(throws: DecodingFailure.self, "\(written)") { try known(written) }
        }
    }

    @Test func `known versions are found among many people`() throws {
        let users = (0..<200).map { id("u\($0)") }
        let known = Dictionary(uniqueKeysWithValues: users.map { ($0, ClientMessage.KnownVersions(presence: 5)) })
        let message = ClientMessage(.subscribe(.init(users: users, known: known)))
        try expect(ClientMessage.decode(message.encoded()), equals: message)
    }

    @Test func `empty lists are taken`() throws {
        try expect(client(#"{"type":"get","users":[]}"#).body, equals: .get(users: []))
        try expect(client(#"{"type":"subscribe","users":[ ]}"#).body, equals: .subscribe(.init()))
        try expect(
            client(#"{"type":"unsubscribe","conversations":[]}"#).body,
            equals: .unsubscribe(users: [], conversations: []))
    }

    @Test func `profile changes set, keep and remove, and trim the name`() throws {
        let json = #"{"type":"updateProfile","changes":{"displayName":"\u3000 Bob Ray\n","locale":null,"shoeSize":43}}"#
        try expect(client(json).body, equals: .updateProfile(.init(displayName: .set("Bob Ray"), locale: .remove)))
        try expect(client(#"{"type":"updateProfile","changes":{}}"#).body, equals: .updateProfile(.init()))
    }

    @Test func `an empty device name counts as absent`() throws {
        let message = try client(#"{"type":"connect","device":{"id":"d","name":""}}"#)
        expect(message.body, equals: .connect(.init(token: nil, device: Device(id: id("d")))))
    }

    @Test func `messages are encoded compactly and in the documents' order`() {
        let connect = ClientMessage(
            id: 1, .connect(.init(token: "t", device: Device(id: id("d"), kind: .phone, name: "Ana's"))))
        expect(
            String(json: connect.encoded()),
            equals:
                #"{"type":"connect","id":1,"token":"t","device":{"id":"d","kind":"phone","name":"Ana's"},"activity":"active"}"#
        )
        expect(String(json: ClientMessage(.subscribe(.init())).encoded()), equals: #"{"type":"subscribe","users":[]}"#)
        expect(
            String(json: ClientMessage(id: 2, .updateProfile(.init())).encoded()),
            equals: #"{"type":"updateProfile","id":2,"changes":{}}"#)
        var output: [UInt8] = []
        ProfileChanges(photoURL: .remove, locale: .set("en")).encode(into: &output)
        expect(String(json: output), equals: #"{"photoURL":null,"locale":"en"}"#)
    }
}
