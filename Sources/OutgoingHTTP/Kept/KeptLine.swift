import EventLoops

/// A connection on the client's loop, with the call that uses it.
///
/// Confined to the loop's thread. The client has it while it rests, and the call while it has one.
final class KeptLine {
    private let connection: KeptConnection
    private unowned let client: KeptClient
    private var readable: ReadableWatcher!
    private var writable: WritableWatcher?

    private var call: UInt64?
    private var bytes: [UInt8] = []
    private var sent = 0
    private var reader: AnswerReader
    private var isOpen = true
    /// Whether it has carried an answer before.
    private var wasUsed = false
    private var hasBegun = false
    /// In ms of the loop.
    var restsSince: Int64 = 0

    init(_ connection: KeptConnection, _ client: KeptClient) {
        (self.connection, self.client) = (connection, client)
        reader = AnswerReader(most: client.mostBytes)
        readable = ReadableWatcher(client.loop, descriptor: connection.socket) { [unowned self] in receive() }
    }

    func send(_ bytes: [UInt8], of call: UInt64) {
        (self.call, self.bytes, sent, hasBegun) = (call, bytes, 0, false)
        reader = AnswerReader(most: client.mostBytes)
        sendMore()
    }

    /// The call ends without an answer: the connection may still bring it, so nothing else uses it.
    func forget() {
        if call != nil { close() }
    }

    func close() {
        guard isOpen else { return }
        (isOpen, call) = (false, nil)
        readable.cancel()
        writable?.cancel()
        client.closed(self)
    }

    private func sendMore() {
        while sent < bytes.count {
            guard let count = bytes.withUnsafeBytes({ connection.send(.init(rebasing: $0[sent...])) }) else {
                return lose()
            }
            guard count > 0 else {
                if writable == nil {
                    writable = WritableWatcher(client.loop, descriptor: connection.socket) { [unowned self] in
                        sendMore()
                    }
                }
                writable?.wait()
                return
            }
            sent += count
        }
    }

    private func receive() {
        // Until there is no more: what libcurl has read of a TLS connection makes its socket readable no more.
        while isOpen {
            switch connection.receive(into: client.room) {
            case .later: return
            case .ended: end(reader.end)
            case .bytes(let count):
                hasBegun = true
                let progress = reader.read(.init(rebasing: client.room[..<count]))
                guard progress == .more else { return end(progress) }
            }
        }
    }

    /// The answer is complete or cannot be read, or the connection is closed.
    private func end(_ progress: AnswerReader.Progress) {
        // Without a call, the server closes the connection, or sends an answer without a question.
        guard let call else { return close() }
        switch progress {
        case .whole:
            self.call = nil
            wasUsed = true
            if reader.isKept, sent == bytes.count { client.rest(self) } else { close() }
            client.end(call, .success(.init(status: reader.status, body: reader.body)))
        case .tooLarge: client.end(call, .failure(.tooLarge))
        case .broken, .more: lose()
        }
    }

    private func lose() {
        guard let call else { return }
        let mayRepeat = wasUsed && !hasBegun
        close()
        client.lost(call, mayRepeat: mayRepeat)
    }
}
