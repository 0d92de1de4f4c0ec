import Foundation

/// A descriptor that whole texts are written to. It is not owned.
package struct Output: Sendable {
    private let descriptor: Int32

    package init(_ descriptor: Int32) { self.descriptor = descriptor }

    package static let standard = Output(STDOUT_FILENO)

    /// Writes all of it, waiting if need be; `false` if nobody reads any more.
    package func write(_ text: String) -> Bool {
        var text = text
        return text.withUTF8 { bytes in
            var rest = UnsafeRawBufferPointer(bytes)
            while let start = rest.baseAddress, rest.count > 0 {
                let count = Foundation.write(descriptor, start, rest.count)
                if count >= 0 {
                    rest = UnsafeRawBufferPointer(rebasing: rest[count...])
                } else if errno == EAGAIN {
                    // Another process made it non-blocking.
                    var poll = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                    Foundation.poll(&poll, 1, -1)
                } else if errno != EINTR {
                    return false
                }
            }
            return true
        }
    }

    /// Takes the places of standard files that are closed, so that no socket of ours gets them and is written to as if it
    /// were one of those. Writing there still fails.
    package static func reservePlaces() {
        for descriptor: Int32 in 0...2 where fcntl(descriptor, F_GETFD) < 0 {
            // The lowest free number is taken, which is this one.
            _ = open("/dev/null", O_RDONLY)
        }
    }

    /// Whether anybody can still read what is written: asked while there is nothing to write.
    package var hasReader: Bool {
        var poll = pollfd(fd: descriptor, events: 0, revents: 0)
        return Foundation.poll(&poll, 1, 0) <= 0 || poll.revents & Int16(POLLERR | POLLNVAL) == 0
    }
}
