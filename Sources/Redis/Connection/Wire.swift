import Glibc

/// The bytes of one socket, plain or through TLS. The socket belongs to the caller.
struct Wire {
    let socket: CInt
    /// On the socket; `nil` without TLS.
    let tls: TLSSession?

    /// Sends the beginning of `bytes`, which are not empty.
    func send(_ bytes: UnsafeRawBufferPointer) -> TLSSession.Outcome {
        if let tls { return tls.write(bytes) }
        // MSG_NOSIGNAL: a disconnected server must not end the process by SIGPIPE.
        var count = 0
        repeat {
            count = Glibc.send(socket, bytes.baseAddress!, bytes.count, CInt(MSG_NOSIGNAL))
        } while count < 0 && errno == EINTR
        return outcome(count, errno, isEnd: false, otherwise: .wantsWrite)
    }

    /// Receives the available bytes, once.
    func receive(into bytes: UnsafeMutableRawBufferPointer) -> TLSSession.Outcome {
        if let tls { return tls.read(into: bytes) }
        var count = 0
        repeat { count = recv(socket, bytes.baseAddress!, bytes.count, 0) } while count < 0 && errno == EINTR
        return outcome(count, errno, isEnd: count == 0, otherwise: .wantsRead)
    }

    /// Receives as much as there is room for. Returns the number of bytes, and the reason why there are no more, or
    /// `.done`.
    ///
    /// Through TLS it continues while there is room for a whole record, so that nothing stays in the session, where no
    /// watcher of the socket would see it.
    func fill(_ bytes: UnsafeMutableRawBufferPointer) -> (count: Int, end: TLSSession.Outcome) {
        var count = 0
        repeat {
            let outcome = receive(into: .init(rebasing: bytes[count...]))
            guard case .done(let more) = outcome else { return (count, outcome) }
            count += more
        } while tls != nil && bytes.count - count >= TLSSession.longestRead
        return (count, .done(count))
    }

    private func outcome(
        _ count: Int, _ error: CInt, isEnd: Bool, otherwise: TLSSession.Outcome
    ) -> TLSSession.Outcome {
        if count > 0 { return .done(count) }
        if isEnd { return .ended }
        return count == 0 || error == EAGAIN || error == EWOULDBLOCK
            ? otherwise : .failed(String(cString: strerror(error)))
    }
}
