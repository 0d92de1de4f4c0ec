import Expectations
import Foundation
import PresenceKit
import PresenceMessages
import PresenceTesting
import Testing

/// The sentences of models, rules and errors: each is in the tables, in both languages.
struct SentenceTests {
    @Test func `each sentence is translated, with the same values`() {
        expect(Set(Sentence.german.keys), equals: Set(Sentence.allCases))
        func values(_ template: String) -> Set<Substring> { Set(template.matches(of: /%[0-9]/).map(\.output)) }
        for (sentence, german) in Sentence.german {
            expect(values(sentence.rawValue), equals: values(german), "\(sentence)")
            expect(german != sentence.rawValue || [.online, .offline, .video].contains(sentence))
        }
    }

    @Test func `values are put in once, whatever they contain`() {
        expect(Sentence.twoTyping.text("%2", "100 %"), equals: "%2 and 100 % are typing…")
        expect(Sentence.uploading.text(45), equals: "Uploading... 45%")
    }

    @Test @MainActor func `rules, errors and models speak German in a German app`() {
        Sentence.Language.$ofTask.withValue(.german) {
            expect(User.DisplayNameRule.fault(in: ""), equals: "Der Anzeigename darf nicht leer sein")
            let error = PresenceError(.rateLimited, retryAfter: .seconds(5))
            expect(error.localizedDescription, equals: "Das ging zu schnell.")
            expect(error.recoverySuggestion, equals: "Bitte versuchen Sie es in 5 Sekunden erneut.")
            let client = InMemoryServer().client(as: "ana")
            let model = ConversationModel(
                conversation: "c1", user: "ana", messages: PresenceMessenger(client), typing: client)
            let message = Message(conversationId: "c1", senderId: "ana", text: "Hallo")
            expect(model.statusText(of: message), equals: "Wird gesendet…")
        }
    }

    @Test func `no sentence stands outside of the tables`() throws {
        let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("Sources")
        // A message for developers, and a header.
        let exempt = ["Failed to get valid download URL", #"Bearer \(token)"#]
        var files = 0
        for module in ["PresenceKit", "PresenceMessages", "PresenceAccounts"] {
            let folder = sources.appendingPathComponent(module)
            for path in try FileManager.default.subpathsOfDirectory(atPath: folder.path)
            where path.hasSuffix(".swift") && !path.hasPrefix("Texts/") {
                files += 1
                let text = try String(contentsOf: folder.appendingPathComponent(path), encoding: .utf8)
                for line in text.split(separator: "\n") where !line.drop(while: { $0 == " " }).hasPrefix("//") {
                    // A literal of a capital and small letters, then a space or the end of a sentence; or a word alone.
                    let found = line.matches(of: /"([A-Z][a-z]+[ .…!,:][^"]*)"/).map { String($0.output.1) }
                    let words = line.matches(of: /(?:return|\?\?|:) "([A-Z][a-z]+)"/).map { String($0.output.1) }
                    let own = (found + words).filter { !exempt.contains($0) }
                    expect(own.isEmpty, "\(module)/\(path)")
                }
            }
        }
        expect(files > 100)
    }
}
