import Expectations
import PresenceProtocol
import Testing

@testable import PresenceServer

@Suite struct VerdictTests {
    @Test(
        arguments: [
            (#"{"action":"allow"}"#, .allow), (#"{"action":"allow","text":1}"#, .allow),
            (#"{"action":"refuse"}"#, .refuse(reason: "")),
            (#"{"action":"refuse","reason":"No"}"#, .refuse(reason: "No")),
            (#"{"action":"refuse","reason":7}"#, .refuse(reason: "")),
            (#"{"action":"refuse","reason":"\u0000"}"#, .refuse(reason: "")),
            (#"{"action":"replace","text":"a\"b"}"#, .replace(text: Array(#""a\"b""#.utf8))),
            (#"{"action":"replace","text":""}"#, nil), (#"{"action":"replace"}"#, nil), (#"{"action":"no"}"#, nil),
            ("[]", nil), ("", nil), ("{}", nil),
        ] as [(String, Verdict?)])
    func `an answer is a decision, or none`(answer: String, verdict: Verdict?) {
        expect(Verdict(Array(answer.utf8), mayBeEmpty: false), equals: verdict)
        if let verdict { expect(Verdict(verdict.stored), equals: verdict) }
    }

    @Test func `a reason has at most 200 characters, a text 5,000`() {
        func answer(_ action: String, _ count: Int) -> Verdict? {
            let text = String(repeating: "x", count: count)
            return Verdict(
                Array(#"{"action":"\#(action)","text":"\#(text)","reason":"\#(text)"}"#.utf8), mayBeEmpty: true)
        }
        expect(answer("refuse", 200), equals: .refuse(reason: String(repeating: "x", count: 200)))
        expect(answer("refuse", 201), equals: .refuse(reason: ""))
        expect(answer("replace", 5_000) != nil && answer("replace", 5_001) == nil)
        expect(answer("replace", 0), equals: .replace(text: Array(#""""#.utf8)))
    }

    @Test func `while a server asks, there is no verdict`() {
        expect(Verdict("-") == nil && Verdict("") == nil)
    }
}
