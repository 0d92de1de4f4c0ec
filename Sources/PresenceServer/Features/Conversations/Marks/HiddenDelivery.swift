import PresenceProtocol

/// The viewers from whom a member's `delivered` mark is hidden, as Redis has it (`Scripts/mark.lua`). The mark would show
/// them that the member is online.
struct HiddenDelivery {
    /// The number that all viewers see who are not in `shown`; `nil`: the true one.
    private let others: Int64?
    private let shown: [UserID: Int64]

    init(_ value: String) {
        let words = value.split(separator: " ")
        others = words.first.flatMap { Int64($0) }
        let pairs = stride(from: 1, to: words.count - 1, by: 2).compactMap { place in
            UserID(String(words[place])).flatMap { user in Int64(words[place + 1]).map { (user, $0) } }
        }
        shown = Dictionary(pairs) { $1 }
    }

    /// The number that a viewer sees instead; `nil` if nothing is hidden from them.
    func shown(to viewer: UserID) -> Int64? { shown[viewer] ?? others }
}
