import PresenceProtocol

extension Device {
    /// The device of a user who has only one. Its id is as long as the UUID that an app makes at its installation. It
    /// is the same at every connect, so that a returning client replaces its lost session.
    static func only(of user: String, kind: DeviceKind = .bot) -> Device {
        // FNV-1a: it need only be the same for the same user.
        let seed = user.utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        var random = SeededRandom(seed: seed)
        let digits = [random.next(), random.next()].map { number in
            let text = String(number, radix: 16)
            return String(repeating: "0", count: 16 - text.count) + text
        }.joined()
        var id = ""
        for (place, digit) in digits.enumerated() {
            if [8, 12, 16, 20].contains(place) { id.append("-") }
            id.append(digit)
        }
        return Device(id: DeviceID(id), kind: kind)
    }
}
