import Dispatch
import EventLoops
import Glibc

/// Resolves a host name on a thread of its own, since `getaddrinfo` blocks, for seconds if a name server does not
/// answer.
///
/// `found` is called once, on the loop, with numeric addresses (IPv4 first, as in hiredis) or with the reason of the
/// failure.
// @unchecked: `found` is used on the loop's thread only; nothing else changes.
final class HostLookup: @unchecked Sendable {
    typealias Found = (Result<[String], Failure>) -> Void
    struct Failure: Error { let reason: String }

    private let host: String
    private let loop: EventLoop
    private var found: Found?

    init(_ host: String, on loop: EventLoop, found: @escaping Found) {
        self.host = host
        self.loop = loop
        self.found = found
        DispatchQueue.global().async { [self] in
            let result = Self.addresses(of: host)
            loop.execute { [self] in
                let found = self.found.take()
                found?(result)
            }
        }
    }

    /// Whether `host` is an address already and needs no lookup.
    static func isNumeric(_ host: String) -> Bool {
        if case .success = addresses(of: host, flags: AI_NUMERICHOST) { true } else { false }
    }

    private static func addresses(of host: String, flags: CInt = 0) -> Result<[String], Failure> {
        var hints = addrinfo()
        hints.ai_flags = flags
        hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let error = getaddrinfo(host, nil, &hints, &list)
        guard error == 0 else {
            return .failure(Failure(reason: "cannot resolve \(host): \(String(cString: gai_strerror(error)))"))
        }
        defer { freeaddrinfo(list) }
        let entries = sequence(first: list) { $0?.pointee.ai_next }.prefix { $0 != nil }.map { $0!.pointee }
        let sorted = entries.filter { $0.ai_family == AF_INET } + entries.filter { $0.ai_family == AF_INET6 }
        return .success(sorted.compactMap(numeric))
    }

    private static func numeric(_ entry: addrinfo) -> String? {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(NI_MAXHOST)) { text in
            let error = getnameinfo(
                entry.ai_addr, entry.ai_addrlen, text.baseAddress, socklen_t(text.count), nil, 0, NI_NUMERICHOST)
            return error == 0 ? String(cString: text.baseAddress!) : nil
        }
    }
}
