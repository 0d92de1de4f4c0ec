import Foundation
import PresenceKit
import TerminalClients

/// Observes a subject and passes events to an audience, one at a time, until it returns an outcome.
///
/// It waits for the audience. While the audience is slow (a paused terminal, a full pipe), the library's sequences keep
/// only the newest values, so nothing accumulates.
struct Watching: Sendable {
    let subject: Subject
    let client: PresenceClient

    init(_ subject: Subject) {
        self.subject = subject
        client = subject.token.client(at: subject.address, device: Device(kind: .other, name: "presence-watch"))
    }

    func run(_ audience: any Audience, terminal: AsyncStream<TerminalEvent>) async -> Outcome {
        await withTaskGroup(of: Outcome?.self) { group in
            group.addTask {
                await forward(audience, of: client.connectionStates) {
                    .connection($0, await client.serverTime)
                }
            }
            group.addTask { await forward(audience, of: client.roster(of: subject.users)) { .people($0) } }
            for conversation in Set(subject.conversations) {
                group.addTask { await forward(audience, of: client.typing(in: conversation)) { .typing($0) } }
            }
            group.addTask { await forward(audience, of: terminal) { .terminal($0) } }
            group.addTask {
                while (try? await Task.sleep(for: .seconds(1))) != nil {
                    if let outcome = await audience.handle(.tick) { return outcome }
                }
                return nil
            }
            for await outcome in group {
                guard let outcome else { continue }
                group.cancelAll()
                return outcome
            }
            return .done
        }
    }

    private func forward<Source: AsyncSequence & Sendable>(
        _ audience: any Audience, of source: Source, as news: @Sendable (Source.Element) async -> News
    ) async -> Outcome? where Source.Failure == Never {
        for await element in source {
            if let outcome = await audience.handle(await news(element)) { return outcome }
        }
        return nil
    }
}
