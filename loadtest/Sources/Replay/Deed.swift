/// One action of a person of the trace, at a time of the replay.
struct Deed: Equatable {
    /// Nanoseconds after the replay's beginning.
    var time: Nanoseconds
    var person: Int
    var act: Act

    enum Act: Equatable {
        /// Opens a connection. If the person has one, it was lost unnoticed, as when the logs lack a quit.
        case join
        case leave
        case rename
        case beginTyping
        /// Sends the message, of this many characters.
        case endTyping(length: Int)
    }
}

/// The actions of a trace: every row at its time, and typing before every message.
enum Screenplay {
    /// Typing speed in characters per second of the trace's time.
    static let typingSpeed = 5.0
    /// The longest time of typing one message, in seconds of the trace's time.
    static let longestTyping = 30.0

    /// - Parameter speed: the factor of acceleration.
    static func deeds(of trace: Trace, speed: Double) -> [Deed] {
        var deeds: [Deed] = []
        var isHere = Array(repeating: false, count: trace.people.count)
        var wasSeen = isHere
        /// The time of a person's last action, in seconds of the trace's time: a person types one message at a time.
        var last = Array(repeating: 0.0, count: trace.people.count)
        for row in trace.rows {
            let person = row.person
            let seconds = Double(row.time) / 1e3
            func add(_ act: Deed.Act, at time: Double) {
                deeds.append(Deed(time: .seconds(time / speed), person: person, act: act))
            }
            if row.event != .join, !isHere[person], row.event != .leave || !wasSeen[person] {
                add(.join, at: seconds)
                isHere[person] = true
                last[person] = seconds
            }
            switch row.event {
            case .join:
                add(.join, at: seconds)
                isHere[person] = true
            case .leave:
                if isHere[person] { add(.leave, at: seconds) }
                isHere[person] = false
            case .rename: add(.rename, at: seconds)
            case .message:
                let typing = min(longestTyping, max(1, Double(row.textLength) / typingSpeed))
                add(.beginTyping, at: max(last[person], seconds - typing))
                add(.endTyping(length: row.textLength), at: seconds)
            }
            wasSeen[person] = true
            last[person] = seconds
        }
        // Typing begins before earlier rows. Equal times keep their order, and so do each person's actions.
        return deeds.enumerated().sorted { ($0.element.time, $0.offset) < ($1.element.time, $1.offset) }.map(\.element)
    }
}
