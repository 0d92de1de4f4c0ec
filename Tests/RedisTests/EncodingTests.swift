import Expectations
import TestSupport
import Testing

@testable import Redis

struct EncodingTests {
    @Test func `a command is an array of bulk strings`() {
        var bytes: [UInt8] = []
        bytes.append(command: ["SET", .bytes([0, 13, 10, 255]), "ü", 0, -17, .integer(.min), 1_234_567_890])
        let expected: [[UInt8]] = [
            Array("*7\r\n$3\r\nSET\r\n$4\r\n".utf8), [0, 13, 10, 255],
            Array("\r\n$2\r\nü\r\n$1\r\n0\r\n$3\r\n-17\r\n".utf8),
            Array("$20\r\n-9223372036854775808\r\n$10\r\n1234567890\r\n".utf8),
        ]
        expect(bytes, equals: expected.flatMap(\.self))
    }

    @Test func `a script's call names its digest, its number of keys, keys and arguments`() {
        let script = RedisScript(name: "one", source: "return 1")
        var call: [UInt8] = []
        call.append(evaluating: script, keys: ["a", "b"], arguments: [7])
        var plain: [UInt8] = []
        plain.append(command: ["EVALSHA", .string(script.sha1), 2, "a", "b", 7])
        expect(call, equals: plain)
    }

    @Test(arguments: [
        ("", "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
        ("abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
        ("return 1", "e0e1f9fabfc9d4800c877a703b823ac0578ff8db"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "84983e441c3bd26ebaae4aa1f95129e5e54670f1"
        ),
        (String(repeating: "a", count: 1_000), "291e9a6c66994949b57ba5e650361e98fc36b1ba"),
    ])
    func `digests are those of the standard`(text: String, digest: String) {
        expect(RedisScript(name: "", source: text).sha1, equals: digest)
    }

    @Test func `digests of every length agree with Redis`() throws {
        let server = try RedisServer()
        let admin = try server.admin()
        for length in 0..<200 {
            let source = "return 1" + String(repeating: " ", count: length)
            try expect(
                admin.command("SCRIPT", "LOAD", .string(source)).string,
                equals: RedisScript(name: "", source: source).sha1)
        }
    }

    @Test func `values are read in the shape that is asked for`() {
        expect(RedisValue.bytes(Array("12".utf8)).int, equals: 12)
        expect(RedisValue.bytes([255]).string, equals: nil)
        expect(RedisValue.status("OK").bytes, equals: Array("OK".utf8))
        expect(RedisValue.array([.null]).array, equals: [.null])
        expect(RedisValue.null.int == nil && RedisValue.null.isNull)
    }
}
