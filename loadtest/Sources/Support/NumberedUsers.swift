import PresenceProtocol

/// Ids that are a prefix and a number.
struct NumberedUsers {
    let prefix: String

    func user(_ number: Int) -> UserID { UserID(prefix + String(number))! }

    /// The number of a user who is one of these.
    func number(of user: UserID) -> Int? {
        let id = user.string.utf8
        guard id.count > prefix.utf8.count, id.starts(with: prefix.utf8) else { return nil }
        var number = 0
        for byte in id.dropFirst(prefix.utf8.count) {
            guard (0x30...0x39).contains(byte) else { return nil }
            number = number &* 10 &+ Int(byte - 0x30)
        }
        return number
    }
}
