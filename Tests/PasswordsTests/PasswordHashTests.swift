import Expectations
import Testing

@testable import Passwords

@Suite("How passwords are kept") struct PasswordHashTests {
    private let cheap = PasswordHash.Parameters(memory: 64, passes: 1)

    @Test("a hash matches its password, and no other") func matches() {
        let hash = PasswordHash(of: "correct horse", cheap)
        expect(hash.matches("correct horse"))
        expect(!hash.matches("correct horsE"))
        expect(!hash.matches(""))
        expect(PasswordHash(of: "correct horse", cheap) != hash, "each has a salt of its own")
    }

    @Test("it is read back from its bytes, which fit a small field of Redis") func bytes() throws {
        let hash = PasswordHash(of: "correct horse", cheap)
        expect(hash.bytes.count, equals: 54)
        let read = try #require(PasswordHash(hash.bytes))
        expect(read == hash && read.matches("correct horse"))
        expect(read.parameters, equals: cheap)
        expect(read.isWeaker() && !PasswordHash(of: "x").isWeaker())
    }

    @Test("what is no hash is none") func damaged() {
        let bytes = PasswordHash(of: "correct horse", cheap).bytes
        expect(PasswordHash(Array(bytes.dropLast())), equals: nil)
        expect(PasswordHash([2] + bytes.dropFirst()), equals: nil)
        expect(PasswordHash([1, 255, 255, 255, 255] + bytes.dropFirst(5)), equals: nil, "4 TiB of memory")
        expect(PasswordHash([]), equals: nil)
    }

    @Test("the standard parameters are OWASP's: 19 MiB, two passes") func standard() {
        let hash = PasswordHash.ofNobody
        expect(hash.parameters, equals: .init(memory: 19_456, passes: 2))
        expect(!hash.matches(""))
    }

    @Test("only where a test says so they are cheaper") func scope() {
        PasswordHash.Parameters.$standard.withValue(cheap) {
            expect(PasswordHash(of: "x").parameters == cheap && PasswordHash.ofNobody.parameters == cheap)
            expect(!PasswordHash(of: "x", cheap).isWeaker())
        }
        expect(PasswordHash(of: "x").parameters == .init() && PasswordHash.ofNobody.parameters == .init())
    }

    @Test("the same letters written in another way are the same password") func normalised() {
        expect(PasswordHash(of: "caf\u{E9} ﬁne", cheap).matches("cafe\u{301} fine"))
    }

    @Test("a known HMAC and a known digest come out") func vectors() {
        // RFC 4231, test case 2; FIPS 180-2.
        let mac = Sodium.mac(Array("what do ya want for nothing?".utf8), key: Array("Jefe".utf8))
        expect(mac.map { String($0, radix: 16) }.prefix(4) == ["5b", "dc", "c1", "46"] && mac.count == 16)
        expect(Sodium.sha256(Array("abc".utf8)).prefix(4), equals: [0xBA, 0x78, 0x16, 0xBF])
        expect(
            Sodium.areEqual([1, 2], [1, 2]) && !Sodium.areEqual([1, 2], [1, 3]) && !Sodium.areEqual([1], [1, 2]))
    }
}

@Suite("What a password must be") struct PasswordRulesTests {
    private let rules = PasswordRules(blocked: PasswordRules.list("  Acme-2026\n\nzebra zebra\n"))

    @Test(
        "good ones are taken, whatever characters they have",
        arguments: [
            "correct horse battery", "xK9 flow", "пароль-длинный", "🦊🦊🦊🦊🦊🐙🐙🐙", "        a",
        ])
    func good(_ password: String) { expect(rules.brokenRule(by: password, names: ["ana"]), equals: nil) }

    @Test(
        "short, common, blocked and monotonous ones are not",
        arguments: [
            "7 chars", "", "password", "PassWord1", "iloveyou", "12345678", "ACME-2026", "zebra zebra", "zzzzzzzzzzzz",
            String(repeating: "ab", count: 513),
        ])
    func bad(_ password: String) { expect(rules.brokenRule(by: password, names: []) != nil) }

    @Test("the bounds of the length are exact") func bounds() {
        expect(rules.brokenRule(by: "abcdefgz", names: []), equals: nil)
        expect(rules.brokenRule(by: "abcdefz", names: []) != nil)
        let longest = String(repeating: "xy", count: 512)
        expect(rules.brokenRule(by: longest, names: []), equals: nil)
        expect(PasswordRules(minimum: 6).brokenRule(by: "zk4 wq", names: []), equals: nil)
    }

    @Test("it does not contain the own name, unless that is too short to mean anything") func names() {
        expect(rules.brokenRule(by: "my-ROBERTA-pw", names: ["roberta"]) != nil)
        expect(rules.brokenRule(by: "my-roberta-pw", names: ["bob", "ro"]), equals: nil)
        expect(rules.brokenRule(by: "banana split", names: ["na"]), equals: nil)
    }

    @Test("the program knows more than a thousand common ones, in the form that they are compared in") func list() {
        expect(PasswordRules(minimum: 1).brokenRule(by: "qwertyuiop", names: []) != nil)
    }
}
