import EventLoops
import Glibc

/// The target of a connection's first request as it came: `/v1/users/a%2Fb`.
///
/// libwebsockets decodes and normalises paths before anyone sees them, so that `x%2F..%2Fbob` would become `bob`. What
/// the kernel holds is looked at, and left there, before libwebsockets gets the connection.
enum RequestTarget {
    enum Glance {
        /// Nothing has come yet.
        case nothing
        /// The peer has hung up.
        case gone
        /// Bytes are there, but not yet a whole line.
        case piece
        /// A line; `nil` when it is no request line, or too long.
        case line(target: String?)
    }

    /// Longer lines than this are not told.
    static let longest = 8 * 1024

    static func glance(_ descriptor: Int32) -> Glance {
        // Unsafe: the memory is this call's own.
        withUnsafeTemporaryAllocation(byteCount: longest, alignment: 1) { buffer in
            let count = recv(
                descriptor, buffer.baseAddress, buffer.count, Int32(MSG_PEEK | MSG_DONTWAIT))
            if count < 0 { return errno == EAGAIN || errno == EINTR ? .nothing : .gone }
            guard count > 0 else { return .gone }
            let bytes = buffer[..<count]
            guard count == longest || bytes.contains(0x0A) else { return .piece }
            return .line(target: target(UnsafeRawBufferPointer(rebasing: bytes)))
        }
    }

    /// The second word of the first line, without its query.
    static func target(_ bytes: some RandomAccessCollection<UInt8>) -> String? {
        guard let end = bytes.firstIndex(of: 0x0D) ?? bytes.firstIndex(of: 0x0A) else { return nil }
        let words = bytes[..<end].split(separator: 0x20, omittingEmptySubsequences: false)
        guard words.count == 3 else { return nil }
        return String(decoding: words[1].prefix { $0 != UInt8(ascii: "?") }, as: UTF8.self)
    }
}

extension RequestTarget {
    /// Whether each percent sign is followed by two hexadecimal digits; libwebsockets answers others with a page of its own.
    static func isWellFormed(_ target: String) -> Bool {
        var rest = target.utf8[...]
        while let sign = rest.firstIndex(of: UInt8(ascii: "%")) {
            let digits = rest[rest.index(after: sign)...].prefix(2)
            guard digits.count == 2, UInt8(String(decoding: digits, as: UTF8.self), radix: 16) != nil,
                digits.first != UInt8(ascii: "+")
            else { return false }
            rest = digits.isEmpty ? digits : rest[digits.endIndex...]
        }
        return true
    }

    /// Answers and hangs up, before libwebsockets has seen anything.
    static func refuse(_ descriptor: Int32, with response: [UInt8]) {
        // What has come is taken out first: closing over it would make the kernel throw our answer away.
        var buffer = [UInt8](repeating: 0, count: longest)
        while recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT)) == buffer.count {}
        _ = send(descriptor, response, response.count, Int32(MSG_DONTWAIT | MSG_NOSIGNAL))
        shutdown(descriptor, Int32(SHUT_WR))
        close(descriptor)
    }
}

/// A connection that has been accepted and has sent nothing yet.
final class Arrival {
    let descriptor: Int32
    let watcher: ReadableWatcher
    /// Looks again for the rest of a line: its descriptor stays readable, so waiting for that would spin.
    var again: LoopTimer?

    init(descriptor: Int32, watcher: ReadableWatcher) {
        self.descriptor = descriptor
        self.watcher = watcher
    }
}
