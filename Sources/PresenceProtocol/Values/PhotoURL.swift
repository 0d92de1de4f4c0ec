/// The address of a profile's photo: an absolute https URL (RFC 3986) of at most 2,048 bytes, with a host, without user
/// information. Plain http is allowed for loopback hosts only, so that apps can be developed without certificates.
///
/// Parsed by hand, since every watcher's app will load the URL: an accepted URL must mean the same to all of them.
/// Characters outside ASCII are rejected: they must be percent-encoded, or punycode in hosts.
public enum PhotoURL {
    /// The longest URL, in bytes.
    public static let maximumBytes = 2048

    public static func isValid(_ url: String) -> Bool {
        let bytes = Array(url.utf8)
        guard bytes.count <= maximumBytes else { return false }
        if let rest = remainder(of: bytes, after: "https://") {
            return isValid(rest, needsLoopback: false)
        }
        if let rest = remainder(of: bytes, after: "http://") {
            return isValid(rest, needsLoopback: true)
        }
        return false
    }

    /// The text after the scheme, which is compared without regard to case.
    private static func remainder(of bytes: [UInt8], after scheme: String) -> ArraySlice<UInt8>? {
        let prefix = Array(scheme.utf8)
        guard bytes.count > prefix.count, bytes.prefix(prefix.count).map(lowercased) == prefix else { return nil }
        return bytes[prefix.count...]
    }

    private static func isValid(_ rest: ArraySlice<UInt8>, needsLoopback: Bool) -> Bool {
        let delimiters = Array("/?#".utf8)
        let authority = rest.prefix { !delimiters.contains($0) }
        return isValidAuthority(authority, needsLoopback: needsLoopback) && isValidPath(rest[authority.endIndex...])
    }

    // MARK: Host and port

    private static func isValidAuthority(_ authority: ArraySlice<UInt8>, needsLoopback: Bool) -> Bool {
        let host: ArraySlice<UInt8>
        if authority.first == UInt8(ascii: "[") {
            guard let bracket = authority.firstIndex(of: UInt8(ascii: "]")) else { return false }
            host = authority[...bracket]
        } else {
            host = authority.prefix { $0 != UInt8(ascii: ":") }
        }
        let name = String(decoding: host.map(lowercased), as: UTF8.self)
        let isLoopback = name == "localhost" || name == "[::1]" || isLoopbackAddress(name)
        return (isLoopback || !needsLoopback && isValidHost(name)) && isValidPort(authority[host.endIndex...])
    }

    private static func isValidPort(_ suffix: ArraySlice<UInt8>) -> Bool {
        guard suffix.first == UInt8(ascii: ":") else { return suffix.isEmpty }
        let digits = suffix.dropFirst()
        guard (1...5).contains(digits.count), digits.allSatisfy(isDigit) else { return false }
        return (1...65535).contains(digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) })
    }

    /// 127.0.0.0/8, written as four decimal numbers.
    private static func isLoopbackAddress(_ host: String) -> Bool {
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy(isOctet)
    }

    private static func isOctet(_ text: Substring) -> Bool {
        guard (1...3).contains(text.utf8.count), text.utf8.allSatisfy(isDigit) else { return false }
        return (text == "0" || text.utf8.first != UInt8(ascii: "0")) && Int(text)! <= 255
    }

    private static func isValidHost(_ host: String) -> Bool {
        if host.utf8.first == UInt8(ascii: "[") {
            return isIPv6(host.dropFirst().dropLast())
        }
        var labels = host.split(separator: ".", omittingEmptySubsequences: false)
        if labels.count > 1, labels.last == "" { labels.removeLast() }  // A name may end with the root's dot.
        guard host.utf8.count <= 253, labels.allSatisfy(isLabel) else { return false }
        // Browsers read a host whose last label is a number, such as `0x7f000001` or `1`, as an IPv4 address, and other
        // programs do not. So only the plain form of four decimal numbers is accepted.
        guard let last = labels.last, last.hasPrefix("0x") || last.utf8.allSatisfy(isDigit) else { return true }
        return labels.count == 4 && labels.allSatisfy(isOctet)
    }

    private static func isLabel(_ label: Substring) -> Bool {
        (1...63).contains(label.utf8.count)
            && label.utf8.allSatisfy { isAlphanumeric($0) || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") }
    }

    /// Eight groups of up to four hexadecimal digits. One run of zero groups may be `::`, and the last two may be an
    /// IPv4 address.
    private static func isIPv6(_ text: Substring) -> Bool {
        let halves = splitAtDoubleColon(text)
        guard halves.count <= 2 else { return false }
        var groups = 0
        for (index, half) in halves.enumerated() where !half.isEmpty {
            let parts = half.split(separator: ":", omittingEmptySubsequences: false)
            for (position, part) in parts.enumerated() {
                let isLast = index == halves.count - 1 && position == parts.count - 1
                if isLast, part.utf8.contains(UInt8(ascii: ".")) {
                    let octets = part.split(separator: ".", omittingEmptySubsequences: false)
                    guard octets.count == 4, octets.allSatisfy(isOctet) else { return false }
                    groups += 2
                } else {
                    guard (1...4).contains(part.utf8.count), part.utf8.allSatisfy(isHexadecimal) else { return false }
                    groups += 1
                }
            }
        }
        return halves.count == 2 ? groups <= 7 : groups == 8
    }

    private static func splitAtDoubleColon(_ text: Substring) -> [Substring] {
        var halves: [Substring] = []
        var start = text.startIndex
        var index = text.startIndex
        while index < text.endIndex {
            let next = text.index(after: index)
            if text[index] == ":", next < text.endIndex, text[next] == ":" {
                halves.append(text[start..<index])
                index = text.index(after: next)
                start = index
            } else {
                index = next
            }
        }
        return halves + [text[start...]]
    }

    // MARK: Path, query and fragment

    private static func isValidPath(_ path: ArraySlice<UInt8>) -> Bool {
        // RFC 3986's characters, and the brackets, which should be encoded in queries but usually are not.
        let marks = Array("-._~:/?#[]@!$&'()*+,;=".utf8)
        var index = path.startIndex
        while index < path.endIndex {
            let byte = path[index]
            if byte == UInt8(ascii: "%") {
                guard path.endIndex - index > 2, isHexadecimal(path[index + 1]), isHexadecimal(path[index + 2]) else {
                    return false
                }
                index += 3
            } else {
                guard isAlphanumeric(byte) || marks.contains(byte) else { return false }
                index += 1
            }
        }
        return true
    }
}
