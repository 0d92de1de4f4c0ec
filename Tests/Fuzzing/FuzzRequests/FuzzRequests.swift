import PresenceProtocol

@testable import PresenceCore
@testable import PresenceServer
@testable import WebSockets

/// HTTP: the first bytes of a connection, the routes of their target, and the bodies of requests.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    // Unsafe: libFuzzer's memory, valid for the call.
    let bytes = UnsafeRawBufferPointer(start: start, count: count)
    if let head = readHead(bytes) {
        if case .api(_, let ids) = Route(head.method, head.path, in: routes) {
            ids.forEach { check($0, in: head.path) }
        }
    }
    _ = try? RequestBody.users(bytes, limit: 100)
    _ = try? RequestBody.participants(bytes, limit: 10)
    _ = try? ProfileChanges.decode(json: bytes)
    _ = try? VisibilityChange.decode(json: Array(bytes))
    _ = try? ListChange.decode(json: Array(bytes), limit: 10)
    readEndpoint(bytes)
    readForwarded(bytes)
    readChunks(bytes)
    return 0
}

/// An endpoint of Web Push: nothing but its own host can be the host of an accepted one.
private func readEndpoint(_ bytes: UnsafeRawBufferPointer) {
    _ = try? WebSubscription(json: Array(bytes))
    let text = "https://" + String(decoding: bytes, as: UTF8.self)
    guard let place = WebSubscription.Endpoint(text) else { return }
    let rest = text.utf8.dropFirst(8 + place.host.utf8.count)
    guard text.lowercased().hasPrefix("https://" + place.host), [nil, 0x2F, 0x3A, 0x3F].contains(rest.first),
        !rest.contains(where: { $0 <= 0x20 || $0 >= 0x7F || $0 == 0x5C || $0 == 0x23 }),
        !rest.prefix(while: { $0 != 0x2F && $0 != 0x3F }).contains(0x40)
    else { fatalError("an endpoint that leads elsewhere") }
}

/// A body in chunks: its result does not depend on how its bytes are cut, and it never exceeds its limit.
private func readChunks(_ bytes: UnsafeRawBufferPointer) {
    let most = 64
    func outcome(step: Int) -> (body: [UInt8], used: Int, status: Int?, hasEnded: Bool) {
        var chunks = ChunkedBody(most: most)
        var (body, used): ([UInt8], Int) = ([], 0)
        while used < bytes.count, !chunks.hasEnded {
            let piece = UnsafeRawBufferPointer(rebasing: bytes[used..<min(bytes.count, used + step)])
            do throws(RequestFault) {
                used += try chunks.read(piece) { body += $0 }
            } catch {
                return (body, 0, error.status, false)
            }
        }
        return (body, used, nil, chunks.hasEnded)
    }
    let (whole, single) = (outcome(step: max(1, bytes.count)), outcome(step: 1))
    guard whole == single else { fatalError("a body depends on the pieces that it comes in") }
    guard whole.body.count <= most else { fatalError("a body of \(whole.body.count) bytes") }
    guard !whole.hasEnded || bytes[..<whole.used].suffix(2).elementsEqual("\r\n".utf8) else {
        fatalError("chunks do not end")
    }
}

/// The head at the beginning of the bytes; it is the same in two pieces, and byte by byte.
private func readHead(_ bytes: UnsafeRawBufferPointer) -> RequestHead? {
    let whole = outcome(bytes, pieces: [bytes.count])
    let middle = bytes.isEmpty ? 0 : Int(bytes[bytes.count - 1]) % (bytes.count + 1)
    guard outcome(bytes, pieces: [middle, bytes.count]) == whole,
        outcome(bytes, pieces: Array(0...bytes.count)) == whole
    else { fatalError("the head depends on the pieces that it comes in") }
    guard case .head(let head, let length) = whole.reading else { return nil }
    guard length <= bytes.count, bytes[..<length].suffix(4).elementsEqual("\r\n\r\n".utf8) else {
        fatalError("a head of \(length) bytes does not end")
    }
    for name in ["host", "authorization", "content-length", "x-forwarded-for"] {
        if let value = head.headers[name], value.utf8.contains(where: { $0 < 0x20 && $0 != 9 || $0 == 0x7F }) {
            fatalError("a control character in \(name)")
        }
    }
    return head
}

private struct Outcome: Equatable {
    var reading = RequestHeadReader.Reading.incomplete
    var fault: RequestFault?

    static func == (one: Outcome, other: Outcome) -> Bool {
        switch (one.reading, other.reading) {
        case (.incomplete, .incomplete): one.fault?.status == other.fault?.status
        case (.head(let head, let length), .head(let otherHead, let otherLength)):
            length == otherLength && head.method == otherHead.method && head.path == otherHead.path
                && head.query == otherHead.query && head.host == otherHead.host
                && head.headers.count == otherHead.headers.count && head.contentLength == otherHead.contentLength
                && head.isChunked == otherHead.isChunked
        default: false
        }
    }
}

private func outcome(_ bytes: UnsafeRawBufferPointer, pieces: [Int]) -> Outcome {
    var reader = RequestHeadReader(maxBytes: 2_048, maxFields: 16)
    for count in pieces {
        do throws(RequestFault) {
            let reading = try reader.read(UnsafeRawBufferPointer(rebasing: bytes[..<count]))
            if case .head = reading { return Outcome(reading: reading) }
        } catch {
            return Outcome(fault: error)
        }
    }
    return Outcome()
}

/// As features register them.
/// Unsafe: made once, and read on libFuzzer's one thread.
private nonisolated(unsafe) let routes = [
    ("GET", "/v1/users/{id}"), ("POST", "/v1/users/get"), ("PATCH", "/v1/users/{id}/profile"),
    ("PUT", "/v1/conversations/{id}/participants"), ("DELETE", "/v1/a/{id}/b/{id}"),
].map { HTTPRouteEntry(method: $0.0, path: $0.1, audience: .backends) { _ in } }

/// The address that a proxy forwards, and the ranges of trusted proxies.
private func readForwarded(_ bytes: UnsafeRawBufferPointer) {
    let text = String(decoding: bytes, as: UTF8.self)
    let near = PeerAddress(host: "10.0.0.1")!
    let proxies = TrustedProxies([AddressRange("10.0.0.0/8")!])
    let client = proxies.client(of: near, text)
    guard PeerAddress(host: client.host, port: client.port) == client else {
        fatalError("\(client) is another when it is written")
    }
    let far = PeerAddress(host: "192.0.2.1")!
    guard proxies.client(of: far, text) == far else { fatalError("somebody who is not trusted was believed") }
    if let range = AddressRange(text), text.contains("/0"), !range.contains(near), !range.contains(far) {
        guard text.contains(":") else { fatalError("\(text) does not hold everything") }
    }
}

/// However an id is written, asking for it fully encoded reaches the same one.
private func check(_ id: Identifier, in target: String) {
    let encoded = id.withBytes { bytes in bytes.map { "%" + hex($0 >> 4) + hex($0 & 15) }.joined() }
    guard case .api(_, let same) = Route("GET", "/v1/users/\(encoded)", in: routes), same == [id] else {
        fatalError("\(target): its id is another one when it is encoded")
    }
}

private func hex(_ digit: UInt8) -> String { String(digit, radix: 16) }
