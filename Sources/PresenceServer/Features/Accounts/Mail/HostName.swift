import Glibc

/// Host names for the greeting of mail servers.
enum HostName {
    /// Whether it is a name with a domain, neither an IP address nor a local name.
    static func isFull(_ name: String) -> Bool {
        let labels = name.lowercased().split(separator: ".", omittingEmptySubsequences: false)
        guard labels.count > 1, name.utf8.count <= 253, let last = labels.last, last != "localhost",
            last.contains(where: { !$0.isNumber })
        else { return false }
        return labels.allSatisfy(isLabel)
    }

    private static func isLabel(_ label: Substring) -> Bool {
        (1...63).contains(label.utf8.count)
            && label.utf8.allSatisfy { (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x2D }
    }

    /// This host's name in the system.
    static var own: String {
        var name = [CChar](repeating: 0, count: 256)
        guard gethostname(&name, name.count - 1) == 0 else { return "localhost" }
        let text = String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        return text.lowercased().split(separator: ".").allSatisfy(isLabel) && !text.isEmpty ? text : "localhost"
    }
}
