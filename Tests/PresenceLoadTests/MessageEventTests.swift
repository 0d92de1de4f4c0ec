import Expectations
import Testing

@testable import presence_load

@Suite struct MessageEventTests {
    private func event(_ text: String) -> MessageEvent? { Array(text.utf8).withUnsafeBytes { MessageEvent($0) } }

    @Test func `an event and an answer are distinguished, with number and place`() throws {
        let message = #""message":{"id":"m417","seq":58,"version":61,"from":"ana","at":1763712000000,"text":"Hi"}"#
        let told = try #require(
            event(#"{"type":"message","conversation":"c1",\#(message),"conversationVersion":61,"at":1763712000000}"#))
        expect(told.kind == .event && told.number == 417 && told.seq == 58)
        let sent = try #require(event(#"{"type":"sent","id":427,"conversation":"c1",\#(message)}"#))
        expect(sent.kind == .answer && sent.number == 417 && sent.seq == 58)
    }

    @Test func `any other message is neither`() {
        expect(event(#"{"type":"messages","id":1,"messages":[]}"#) == nil)
        expect(event(#"{"type":"message","conversation":"c1","message":{"id":"x","seq":1}}"#) == nil)
        expect(event(#"{"type":"message","conversation":"c1","message":{"id":"m1"}}"#) == nil)
        expect(event("") == nil)
    }

    @Test func `options that cannot be measured are rejected`() {
        for flags in [["--members", "11"], ["--members", "1"], ["--rate", "0"], ["--characters", "0"]] {
            #expect(throws: (any Error).self) { try MessagesCommand.parse(flags) }
        }
    }
}
