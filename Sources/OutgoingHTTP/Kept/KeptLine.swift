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
    /// Whether a byte of the answer has arrived.
    private var hasBegun = false
    /// When it had its latest answer or began to rest, in ms of the loop; `nil` before that. From then on the server may close
    /// it at any time.
    var restsSince: Int64?

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

    /// Whether the server has neither closed the connection nor sent anything since the last answer.
    var isClean: Bool {
        if case .later = connection.receive(into: client.room) { true } else { false }
    }

    /// A call ends without an answer: the connection may still bring it, so nothing else uses it.
    func forget(_ call: UInt64) {
        if self.call == call { close() }
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
            case .later:
                if hasBegun, call != nil { connection.acknowledge() }
                return
            case .ended: end(reader.end)
            case .bytes where call == nil: close()
            case .bytes(let count):
                hasBegun = true
                let progress = reader.read(.init(rebasing: client.room[..<count]))
                guard progress == .more else { return end(progress) }
            }
        }
    }

    /// The answer is complete or cannot be read, or the connection is closed.
    private func end(_ progress: AnswerReader.Progress) {
        // Without a call, the server has closed the connection.
        guard let call else { return close() }
        switch progress {
        case .whole:
            let isKept = reader.isKept && sent == bytes.count
            let answer = KeptClient.Answer(status: reader.status, body: reader.body)
            (self.call, bytes, reader) = (nil, [], AnswerReader(most: client.mostBytes))
            restsSince = client.loop.now
            client.end(call, .success(answer))
            if isKept { client.rest(self) } else { close() }
        case .tooLarge: client.end(call, .failure(.tooLarge))
        case .broken, .more: lose()
        }
    }

    private func lose() {
        guard let call else { return }
        let mayRepeat = restsSince != nil && !hasBegun
        close()
        client.lost(call, mayRepeat: mayRepeat)
    }
}
