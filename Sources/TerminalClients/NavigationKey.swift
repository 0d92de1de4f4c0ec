/// A key that a terminal sends as `ESC [ parameters final` or `ESC O final`.
package enum NavigationKey: Hashable, Sendable {
    case up, down, right, left, home, end, delete, pageUp, pageDown

    /// `nil` for a key without a meaning in either client.
    package init?(_ parameters: ArraySlice<UInt8>, _ final: UInt8) {
        switch final {
        case UInt8(ascii: "A"): self = .up
        case UInt8(ascii: "B"): self = .down
        case UInt8(ascii: "C"): self = .right
        case UInt8(ascii: "D"): self = .left
        case UInt8(ascii: "H"): self = .home
        case UInt8(ascii: "F"): self = .end
        case UInt8(ascii: "~"):
            // A modifier may follow after a semicolon.
            switch String(decoding: parameters.prefix { $0 != UInt8(ascii: ";") }, as: UTF8.self) {
            case "1", "7": self = .home
            case "4", "8": self = .end
            case "3": self = .delete
            case "5": self = .pageUp
            case "6": self = .pageDown
            default: return nil
            }
        default: return nil
        }
    }
}
