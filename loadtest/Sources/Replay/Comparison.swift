import PresenceProtocol

/// Compares the state that every watcher shows, person by person, with the truth and with the server's answer.
struct Comparison {
    /// All shown or true people, by their places.
    let users: [UserID]
    let truths: [Truth]
    /// The answer of a fresh `get`.
    let asked: [Shown]

    /// Returns a sentence for each difference.
    ///
    /// - Parameters:
    ///   - watchers: each watcher's place, the people whom they watch, and the state that they show, by place.
    ///   - typing: each watcher's place and the state that they show of a conversation in which all have stopped
    ///     typing.
    func differences(
        watchers: [(place: Int, watched: [Int], shown: [Int: Shown])],
        typing: [(place: Int, conversation: ConversationID, users: [UserID])] = []
    ) -> [String] {
        var found: [String] = []
        for (place, truth) in truths.enumerated() {
            if let wrong = truth.contradiction(by: asked[place]) { found.append("get of \(users[place]) \(wrong)") }
        }
        for watcher in watchers {
            for place in watcher.watched {
                let shown = watcher.shown[place] ?? Shown()
                let who = "\(users[watcher.place]), of \(users[place]),"
                if let wrong = truths[place].contradiction(by: shown) {
                    found.append("\(who) \(wrong)")
                } else if shown != asked[place] {
                    found.append("\(who) shows \(shown.versions), and get returns \(asked[place].versions)")
                }
            }
        }
        for entry in typing where !entry.users.isEmpty {
            found.append("\(users[entry.place]) shows \(entry.users[0]) typing forever in \(entry.conversation)")
        }
        return found
    }
}

extension Shown {
    fileprivate var versions: String {
        "presence \(presence?.version ?? -1) and profile \(profile?.version ?? -1)"
    }
}
