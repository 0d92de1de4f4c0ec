import PresenceProtocol

@testable import PresenceServer
@testable import WebSockets

/// HTTP: the first bytes of a connection, what their target asks for, and the bodies of requests.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    // Unsafe: libFuzzer's memory, valid for the call.
    let bytes = UnsafeRawBufferPointer(start: start, count: count)
    if let target = RequestTarget.target(bytes) {
        let method = String(decoding: bytes.prefix { $0 != 0x20 }, as: UTF8.self)
        let isWellFormed = RequestTarget.isWellFormed(target)
        switch Route(method, target) {
        case .badEscape:
            if isWellFormed { fatalError("\(target): libwebsockets is shown what the router cannot decode") }
        case .api(let call):
            if !isWellFormed { fatalError("\(target): the router decodes what is refused") }
            if let id = subject(of: call) { check(id, in: target) }
        default: break
        }
    }
    _ = try? RequestBody.users(bytes, limit: 100)
    _ = try? RequestBody.participants(bytes, limit: 10)
    _ = try? ProfileChanges.decode(json: bytes)
    _ = try? VisibilityChange.decode(json: Array(bytes))
    _ = try? ListChange.decode(json: Array(bytes), limit: 10)
    readForwarded(bytes)
    return 0
}

private func subject(of call: Route.Call) -> Identifier? {
    switch call {
    case .users: nil
    case .user(let id), .profile(let id), .disconnect(let id), .revokeTokens(let id), .visibility(let id),
        .setVisibility(let id), .changeContacts(let id), .changeBlocks(let id), .setParticipants(let id),
        .removeParticipants(let id):
        id
    }
}

/// The address that a proxy forwards, and the ranges of those who are believed.
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
    guard case .api(.user(let same)) = Route("GET", "/v1/users/\(encoded)"), same == id else {
        fatalError("\(target): its id is another one when it is encoded")
    }
}

private func hex(_ digit: UInt8) -> String { String(digit, radix: 16) }
