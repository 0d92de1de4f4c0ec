import PresenceProtocol

/// Holds what every watcher shows, person by person, against the truth and against what the server says when asked.
struct Comparison {
    /// Everyone who is shown or true, by their places.
    let users: [UserID]
    let truths: [Truth]
    /// What a fresh `get` said.
    let asked: [Shown]

    /// A sentence for everything that is not as it should be.
    ///
    /// - Parameters:
    ///   - watchers: each watcher's place, whom they watch, and what they show, by place.
    ///   - typing: each watcher's place and what they show of a conversation in which nobody types any more.
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
                    found.append("\(who) shows \(shown.versions), and get says \(asked[place].versions)")
                }
            }
        }
        for entry in typing where !entry.users.isEmpty {
            found.append("\(users[entry.place]) shows \(entry.users[0]) typing for ever in \(entry.conversation)")
        }
        return found
    }
}

extension Shown {
    fileprivate var versions: String {
        "presence \(presence?.version ?? -1) and profile \(profile?.version ?? -1)"
    }
}
