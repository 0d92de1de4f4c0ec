/// The actions of people in a real chat, minute by minute: rows of `time_ms,event,user,text_length`.
struct Trace {
    /// A row: the person and the action, in milliseconds since the first row.
    struct Row: Equatable {
        var time: Int
        var event: Event
        /// The person's place in `people`.
        var person: Int
        /// Characters of a message; 0 for other events.
        var textLength: Int
    }

    enum Event: String {
        case join, leave, message, rename
    }

    /// In the order of their first appearance in the trace.
    private(set) var people: [String] = []
    private(set) var rows: [Row] = []

    /// Parses a trace; errors name `file` and the line.
    init(_ text: String, file: String) throws(Failure) {
        var places: [String: Int] = [:]
        for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
            func wrong(_ what: String) -> Failure { Failure("\(file):\(index + 1): \(what)") }
            if index == 0 {
                guard line == "time_ms,event,user,text_length" else {
                    throw wrong("a trace begins with the line time_ms,event,user,text_length")
                }
                continue
            }
            guard !line.isEmpty else { continue }
            let fields = line.split(separator: ",", omittingEmptySubsequences: false)
            guard fields.count == 4 else { throw wrong("expected 4 fields, found \(fields.count)") }
            guard let time = Int(fields[0]), time >= 0 else { throw wrong("not a time in milliseconds: \(fields[0])") }
            guard time >= rows.last?.time ?? 0 else { throw wrong("\(time) comes before the row above it") }
            guard let event = Event(rawValue: String(fields[1])) else {
                throw wrong("not join, leave, message or rename: \(fields[1])")
            }
            guard !fields[2].isEmpty else { throw wrong("nobody is named") }
            guard let length = Int(fields[3]), length >= 0 else { throw wrong("not a length of text: \(fields[3])") }
            let name = String(fields[2])
            let person = places[name] ?? people.count
            if person == people.count {
                places[name] = person
                people.append(name)
            }
            rows.append(Row(time: time, event: event, person: person, textLength: length))
        }
        guard !rows.isEmpty else { throw Failure("\(file) holds no events") }
    }
}
