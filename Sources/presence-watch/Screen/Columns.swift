/// How wide the columns of the table are, and which of them there is room for. The dot is always there.
struct Columns: Hashable, Sendable {
    /// From left to right.
    enum Column: Int, CaseIterable, Sendable {
        case name, id, status, since, text, devices, delay
    }

    /// What is absent is not shown.
    private(set) var widths: [Column: Int]
    /// Spaces at the left edge.
    let margin: Int

    static let gap = 2
    /// The dot and the space after it.
    static let dot = 2

    /// What is given up, in this order, until the rest fits: a column narrowed to so many columns, or to 0, dropped.
    private static let concessions: [(column: Column, width: Int)] = [
        (.text, 24), (.id, 8), (.name, 18), (.text, 16), (.name, 16), (.delay, 0), (.devices, 14), (.text, 14),
        (.devices, 10), (.name, 14), (.id, 0), (.text, 10), (.devices, 0), (.text, 0), (.name, 10), (.since, 0),
        (.name, 6), (.status, 0),
    ]

    /// - Parameters:
    ///   - natural: how wide each column would like to be; 0 for one that has nothing to show.
    ///   - width: of the whole line; `nil` for as wide as need be.
    init(natural: [Column: Int], width: Int?) {
        margin = width.map { $0 >= 60 ? 1 : 0 } ?? 0
        widths = natural.filter { $0.value > 0 }
        guard let width else { return }
        let room = width - margin
        for concession in Self.concessions where total > room {
            guard let present = widths[concession.column] else { continue }
            widths[concession.column] = concession.width == 0 ? nil : min(present, concession.width)
        }
        if total > room { widths[.name] = max(0, room - Self.dot) }
        // What the last concession gave too much goes to those who can use it.
        for column in [Column.text, .name, .id, .devices] {
            guard let present = widths[column] else { continue }
            widths[column] = present + max(0, min(room - total, (natural[column] ?? 0) - present))
        }
    }

    subscript(column: Column) -> Int { widths[column] ?? 0 }

    /// Those shown, from left to right.
    var shown: [Column] { Column.allCases.filter { widths[$0] != nil } }

    /// Of the whole table, without the margin.
    var total: Int {
        Self.dot + widths.values.reduce(0, +) + max(0, widths.count - 1) * Self.gap
    }
}
