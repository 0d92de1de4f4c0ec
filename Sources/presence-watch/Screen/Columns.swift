/// The widths of the table's columns, and which of them fit. The dot is always there.
struct Columns: Hashable, Sendable {
    /// From left to right.
    enum Column: Int, CaseIterable, Sendable {
        case name, id, status, since, text, devices, delay
    }

    /// Columns that are not shown have no width.
    private(set) var widths: [Column: Int]
    /// Spaces at the left edge.
    let margin: Int

    static let gap = 2
    /// The dot and the space after it.
    static let dot = 2

    /// The steps that are taken in this order until the rest fits: a column is narrowed to the given width, or dropped
    /// if that is 0.
    private static let concessions: [(column: Column, width: Int)] = [
        (.text, 24), (.id, 8), (.name, 18), (.text, 16), (.name, 16), (.delay, 0), (.devices, 14), (.text, 14),
        (.devices, 10), (.name, 14), (.id, 0), (.text, 10), (.devices, 0), (.text, 0), (.name, 10), (.since, 0),
        (.name, 6), (.status, 0),
    ]

    /// - Parameters:
    ///   - natural: the preferred width of each column; 0 for an empty one.
    ///   - width: the width of the whole line; `nil` if unlimited.
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
        // Gives the space that the last step freed in excess to columns that can use it.
        for column in [Column.text, .name, .id, .devices] {
            guard let present = widths[column] else { continue }
            widths[column] = present + max(0, min(room - total, (natural[column] ?? 0) - present))
        }
    }

    subscript(column: Column) -> Int { widths[column] ?? 0 }

    /// The columns that are shown, from left to right.
    var shown: [Column] { Column.allCases.filter { widths[$0] != nil } }

    /// The width of the whole table, without the margin.
    var total: Int {
        Self.dot + widths.values.reduce(0, +) + max(0, widths.count - 1) * Self.gap
    }
}
