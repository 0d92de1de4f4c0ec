import Foundation
import PresenceKit
import TerminalClients

/// A single look: waits until the server has replied for all users, prints them, and exits.
@MainActor
final class Glance: Audience {
    enum Format: Sendable {
        case table(isColoured: Bool)
        case json
    }

    private let output: Output
    private let format: Format
    private var observer: Observer
    private var people: [Person] = []
    private var typing: [String: Typing] = [:]
    private let began = ContinuousClock.now

    /// A working server replies sooner; a server that has lost its data source may take too long.
    private static let patience = Duration.seconds(15)

    init(_ watching: Watching, to output: Output, as format: Format) {
        self.output = output
        self.format = format
        observer = Observer(watching.subject)
    }

    func handle(_ news: News) async -> Outcome? {
        if let failure = observer.handle(news) { return .failed(failure) }
        let now = observer.serverTime.now
        switch news {
        case .people(let roster): people = roster.people
        case .typing(let typing): self.typing[typing.conversation] = typing
        case .terminal(.stop(let signal)): return .stopped(signal)
        case .terminal, .connection: break
        case .tick:
            if began.duration(to: .now) >= Self.patience {
                return .failed(
                    Failure(
                        .noServer, "the server did not reply for all users within \(Self.patience.shortText)"))
            }
        }
        guard observer.isComplete, observer.board.connection.state.isConnected else { return nil }
        if let since = observer.board.staleSince {
            Complaint.print(
                "the server lost its data source \(Age(of: since, at: now).ago); its values may be outdated",
                by: "presence-watch")
        }
        return output.write(text(at: now)) ? .done : .failed(.outputLost)
    }

    private func text(at now: Date) -> String {
        let board = observer.board
        var lines: [String]
        switch format {
        case .table(let isColoured):
            let table = Table(board, now: now, width: nil)
            lines = board.rows.map { isColoured ? table.line(for: $0).colouredText : table.line(for: $0).plainText }
        case .json:
            lines = people.map { JSONLine(PersonRecord($0)).text }
            lines += typing.values.sorted { $0.conversation < $1.conversation }.map { JSONLine(TypingRecord($0)).text }
        }
        return lines.map { $0 + "\n" }.joined()
    }
}
