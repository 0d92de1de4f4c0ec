/// The content of a terminal that received the given bytes, as far as the watcher's output requires it.
struct TerminalPicture: Sendable {
    /// Whether the alternate screen is shown.
    private(set) var isAlternate = false
    private(set) var isCursorHidden = false
    /// The lines of the alternate screen by their number, from 1.
    private(set) var lines: [Int: String] = [:]
    /// The text written to the main screen.
    private(set) var main = ""
    private var row = 1
    private var pending: [UInt8] = []

    var text: String { lines.keys.sorted().map { lines[$0]! }.joined(separator: "\n") }

    mutating func draw(_ bytes: some Sequence<UInt8>) {
        pending += bytes
        while let (piece, length) = Self.next(in: pending) {
            pending.removeFirst(length)
            switch piece {
            case .text(let text):
                if isAlternate { lines[row, default: ""] += text } else { main += text }
            case .sequence(let parameters, let final): obey(parameters, final)
            }
        }
    }

    private enum Piece {
        case text(String)
        case sequence(parameters: String, final: Character)
    }

    private static func next(in bytes: [UInt8]) -> (Piece, length: Int)? {
        guard let first = bytes.first else { return nil }
        guard first == 0x1B else {
            let end = bytes.firstIndex(of: 0x1B) ?? bytes.count
            // The character may be incomplete.
            guard let text = String(validating: bytes[..<end], as: UTF8.self) else { return nil }
            return (.text(text), end)
        }
        guard let end = bytes.dropFirst(2).firstIndex(where: { (0x40...0x7E).contains($0) }) else { return nil }
        let parameters = String(decoding: bytes[2..<end], as: UTF8.self)
        return (.sequence(parameters: parameters, final: Character(Unicode.Scalar(bytes[end]))), end + 1)
    }

    private mutating func obey(_ parameters: String, _ final: Character) {
        switch (parameters, final) {
        case ("?1049", "h"): isAlternate = true
        case ("?1049", "l"): isAlternate = false
        case ("?25", "l"): isCursorHidden = true
        case ("?25", "h"): isCursorHidden = false
        case ("2", "J"): lines = [:]
        case ("2", "K"): lines[row] = ""
        case (let place, "H"): row = place.split(separator: ";").first.flatMap { Int($0) } ?? 1
        // Columns, colours and wrapping can be ignored, because the output is padded.
        default: break
        }
    }
}
