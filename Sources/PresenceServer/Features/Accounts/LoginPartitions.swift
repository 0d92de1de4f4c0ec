import Passwords
import PresenceCore
import PresenceProtocol

/// Places what users sign in with, e-mail addresses and providers' identities, in partitions by a keyed hash. A new user's id lies
/// in the partition of their e-mail address. With a public hash, an address could be tested against an id: a wrong guess would
/// pass only with a probability of one in the number of partitions.
struct LoginPartitions {
    static let keyBytes = 16
    let key: [UInt8]
    let partitions: Partitions

    func partition(of email: String) -> Int {
        Int(hash(email).prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) } % UInt64(partitions.count))
    }

    func keys(of email: String) -> PartitionKeys { partitions.keys(partition(of: email)) }

    /// The digest of a provider's identity, in hexadecimal. A normal address has no space.
    func identity(_ issuer: String, _ subject: String) -> String { hash("identity \(issuer) \(subject)").hexadecimal }

    /// The partition of an identity's claim, by its digest; `nil` if the text is none.
    func partition(ofIdentity digest: String) -> Int? {
        guard digest.utf8.count == 32, let number = UInt64(digest.prefix(16), radix: 16) else { return nil }
        return Int(number % UInt64(partitions.count))
    }

    func keys(ofIdentity digest: String) -> PartitionKeys? { partition(ofIdentity: digest).map { partitions.keys($0) } }

    /// The name under which guesses for an address are counted.
    func guesses(of email: String) -> Identifier { Identifier(hash(email).hexadecimal)! }

    /// The digest of a code that is mailed to an address, in hexadecimal. Codes are short, so it is keyed.
    func digest(of code: String, for email: String) -> String { hash("\(email) \(code)").hexadecimal }

    /// The mark of this installation's pictures. Another installation, or a Redis that has lost its data, has another mark.
    var installation: String { hash("installation").hexadecimal }

    private func hash(_ text: String) -> [UInt8] { Sodium.mac(Array(text.utf8), key: key) }
}

extension Collection where Element == UInt8 {
    /// Two digits per byte.
    var hexadecimal: String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}

extension Array where Element == UInt8 {
    init?(hexadecimal text: String) {
        let digits = text.compactMap(\.hexDigitValue)
        guard digits.count == text.utf8.count, digits.count.isMultiple(of: 2) else { return nil }
        self = stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }
}
