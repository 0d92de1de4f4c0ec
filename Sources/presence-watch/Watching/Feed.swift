import Foundation
import PresenceKit
import TerminalClients

/// One line for each change, for pipes, logs and terminals without colours.
@MainActor
final class Feed: Audience {
    private let address: String
    private let output: Output
    private let isJSON: Bool
    private var observer: Observer
    private var shown: [String: PersonRecord] = [:]
    /// The initial state, which is not printed.
    private var shownConnection = ConnectionRecord(.idle)
    private var shownTyping: [String: TypingRecord] = [:]

    init(_ watching: Watching, to output: Output, isJSON: Bool) {
        address = watching.subject.address.shortText
        self.output = output
        self.isJSON = isJSON
        observer = Observer(watching.subject)
    }

    func handle(_ news: News) async -> Outcome? {
        let failure = observer.handle(news)
        let now = observer.serverTime.now
        let lines: [String]
        switch news {
        case .people(let roster): lines = roster.people.compactMap { line(on: $0, roster.changed, now) }
        case .typing(let typing): lines = failure == nil ? line(on: typing, now) : []
        case .connection(let state, _): lines = failure == nil ? line(on: state, now) : []
        case .terminal(let event):
            if case .stop(let signal) = event { return .stopped(signal) }
            return nil
        case .tick:
            // Notices that the reader has exited, even without output.
            return output.hasReader ? nil : .done
        }
        if let failure { return .failed(failure) }
        // A reader that has exited loses nothing; a full disk loses output.
        for line in lines where !output.write(line + "\n") { return errno == EPIPE ? .done : .failed(.outputLost) }
        return nil
    }

    private func line(on person: Person, _ changed: Set<String>, _ now: Date) -> String? {
        guard changed.contains(person.user) else { return nil }
        let record = PersonRecord(person)
        let former = shown.updateValue(record, forKey: person.user)
        if isJSON { return record == former ? nil : JSONLine(record).text }
        // Losing and regaining the connection has its own line.
        if let former, record.hasSameValues(as: former) { return nil }
        return PlainLine(person, now: now).text
    }

    private func line(on typing: Typing, _ now: Date) -> [String] {
        let record = TypingRecord(typing)
        let former = shownTyping.updateValue(record, forKey: typing.conversation)
        if isJSON { return record == former ? [] : [JSONLine(record).text] }
        if record.users == former?.users ?? [] { return [] }
        return [PlainLine(typing, now: now).text]
    }

    private func line(on state: ConnectionState, _ now: Date) -> [String] {
        if isJSON {
            let record = ConnectionRecord(state)
            defer { shownConnection = record }
            return record == shownConnection ? [] : [JSONLine(record).text]
        }
        switch state {
        case .idle, .connecting, .closed: return []
        case .live: return [PlainLine("live from \(address)", now: now).text]
        case .stale, .reconnecting:
            return [PlainLine(ConnectionText(observer.board, now: now, address: address).text, now: now).text]
        }
    }
}
