import Dispatch
import Glibc

/// Finds the addresses of a host without blocking a loop (libwebsockets' own lookup would).
enum NameLookup {
    /// Calls `found` on another thread, with the addresses as text in the order to try them, or with the reason of the
    /// failure.
    static func start(_ host: String, found: @escaping @Sendable (Result<[String], Failure>) -> Void) {
        DispatchQueue.global().async { found(addresses(of: host)) }
    }

    struct Failure: Error {
        let reason: String
    }

    private static func addresses(of host: String) -> Result<[String], Failure> {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var first: UnsafeMutablePointer<addrinfo>?
        let result = getaddrinfo(host, nil, &hints, &first)
        guard result == 0 else {
            return .failure(Failure(reason: "\(host): \(String(cString: gai_strerror(result)))"))
        }
        defer { freeaddrinfo(first) }
        var addresses: [String] = []
        var next = first
        while let entry = next?.pointee {
            next = entry.ai_next
            var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
            guard
                getnameinfo(
                    entry.ai_addr, entry.ai_addrlen, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST) == 0
            else { continue }
            let bytes = text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:))
            addresses.append(String(decoding: bytes, as: UTF8.self))
        }
        return .success(addresses)
    }
}
