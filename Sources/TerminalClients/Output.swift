import Foundation

/// A file descriptor for text output. It is not owned.
package struct Output: Sendable {
    private let descriptor: Int32

    package init(_ descriptor: Int32) { self.descriptor = descriptor }

    package static let standard = Output(STDOUT_FILENO)

    /// Writes the whole text, and waits if necessary; returns `false` if there is no reader any more.
    package func write(_ text: String) -> Bool {
        var text = text
        return text.withUTF8 { bytes in
            var rest = UnsafeRawBufferPointer(bytes)
            while let start = rest.baseAddress, rest.count > 0 {
                let count = Foundation.write(descriptor, start, rest.count)
                if count >= 0 {
                    rest = UnsafeRawBufferPointer(rebasing: rest[count...])
                } else if errno == EAGAIN {
                    // Another process made the descriptor non-blocking.
                    var poll = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                    Foundation.poll(&poll, 1, -1)
                } else if errno != EINTR {
                    return false
                }
            }
            return true
        }
    }

    /// Occupies the numbers of closed standard files, so that no socket gets such a number and receives their output.
    /// Writing to them still fails.
    package static func reservePlaces() {
        for descriptor: Int32 in 0...2 where fcntl(descriptor, F_GETFD) < 0 {
            // `open` takes the lowest free number, which is this one.
            _ = open("/dev/null", O_RDONLY)
        }
    }

    /// Whether there still is a reader, checked while there is nothing to write.
    package var hasReader: Bool {
        var poll = pollfd(fd: descriptor, events: 0, revents: 0)
        return Foundation.poll(&poll, 1, 0) <= 0 || poll.revents & Int16(POLLERR | POLLNVAL) == 0
    }
}
