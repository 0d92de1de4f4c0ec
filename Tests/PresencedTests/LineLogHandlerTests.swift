import Expectations
import Foundation
import Logging
import Testing

@testable import presenced

@Suite struct LineLogHandlerTests {
    private func line(_ message: String, _ fields: Logger.Metadata = [:]) -> String {
        LineLogHandler.line(
            time: Date(timeIntervalSince1970: 1_763_712_000.5), level: .info, message: message, fields: fields)
    }

    @Test func `an event is one line with its fields by name`() {
        expect(
            line("listening", ["port": "4040", "address": "127.0.0.1"]),
            equals: "2025-11-21T08:00:00.500Z info listening address=127.0.0.1 port=4040")
    }

    @Test func `a value that is not plain is quoted`() {
        expect(line("x", ["a": "two words"]).hasSuffix(#" a="two words""#))
        expect(line("x", ["a": ""]).hasSuffix(#" a="""#))
        expect(line("x", ["a": #"say "hi" \o/"#]).hasSuffix(#" a="say \"hi\" \\o/""#))
        expect(line("x", ["a": "b=c"]).hasSuffix(#" a="b=c""#))
        expect(line("x", ["a": "Zoë"]).hasSuffix(#" a="Zoë""#))
    }

    @Test(arguments: ["\n", "\r", "\u{1B}[31m", "\u{85}", "\u{2028}", "\u{202E}", "\u{0}"])
    func `whatever a client sends, an event stays on one line`(nasty: String) {
        for line in [line("before\(nasty)after"), line("x", ["a": "before\(nasty)after"])] {
            expect(!line.unicodeScalars.contains { scalar in nasty.unicodeScalars.first == scalar })
            expect(line.contains("before") && line.contains("after"))
        }
    }

    @Test func `fields with names of secrets are hidden`() {
        for name in ["token", "Token", "secret", "authorization", "password"] {
            expect(!line("x", [name: "eyJhbGciOi"]).contains("eyJ"))
        }
    }
}
