import PresenceProtocol

/// From whom it is hidden what comes to a member's devices, as Redis has it (`Scripts/mark.lua`): that says that they are there.
struct HiddenDelivery {
    /// What everybody else is shown; `nil`: what it is.
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

    /// What a viewer is shown instead; `nil` if nothing is hidden from them.
    func shown(to viewer: UserID) -> Int64? { shown[viewer] ?? others }
}
