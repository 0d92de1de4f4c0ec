import Foundation
import PresenceKit
import TerminalClients

/// Observes everything of a subject and tells an audience, one piece of news at a time, until it says how it ends.
///
/// The audience is waited for: while it is slow (a terminal that is held, a pipe that is full), the sequences of the
/// library keep nothing but the newest, so nothing piles up.
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
                await tell(audience, of: client.connectionStates) {
                    .connection($0, await client.serverTime)
                }
            }
            group.addTask { await tell(audience, of: client.roster(of: subject.users)) { .people($0) } }
            for conversation in Set(subject.conversations) {
                group.addTask { await tell(audience, of: client.typing(in: conversation)) { .typing($0) } }
            }
            group.addTask { await tell(audience, of: terminal) { .terminal($0) } }
            group.addTask {
                while (try? await Task.sleep(for: .seconds(1))) != nil {
                    if let outcome = await audience.take(.tick) { return outcome }
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

    private func tell<Source: AsyncSequence & Sendable>(
        _ audience: any Audience, of source: Source, as news: @Sendable (Source.Element) async -> News
    ) async -> Outcome? where Source.Failure == Never {
        for await element in source {
            if let outcome = await audience.take(await news(element)) { return outcome }
        }
        return nil
    }
}
