import PresenceProtocol

/// What bodies of profiles hold in the place of how some of their addresses begin, and what is told instead: where the server is
/// reached, which is not the same for good, nor for every server.
///
/// A body is what Redis holds and passes on unparsed. It is filled once, where a server takes it in, and not for each watcher.
package struct BodyMark {
    /// What stands at the beginning of a value.
    private let mark: [UInt8]
    private let told: [UInt8]

    /// - Parameters:
    ///   - mark: No address that clients may give begins so.
    ///   - told: As a plain text.
    package init(_ mark: String, told: String) {
        // A quote within a string has a backslash before it, so this stands between a member's name and its value only.
        self.mark = Array((#"":""# + mark).utf8)
        var encoded: [UInt8] = []
        JSONWriter.string(told, to: &encoded)
        self.told = Array(#"":"#.utf8) + encoded.dropLast()
    }

    /// A body as clients are told it; `nil` if it is that already.
    func filling(_ body: UnsafeRawBufferPointer) -> [UInt8]? {
        var (filled, from, at): ([UInt8], Int, Int) = ([], 0, 0)
        while at + mark.count <= body.count {
            guard body[at] == mark[0], body[at..<at + mark.count].elementsEqual(mark) else {
                at += 1
                continue
            }
            filled += body[from..<at]
            filled += told
            at += mark.count
            from = at
        }
        guard from > 0 else { return nil }
        return filled + body[from...]
    }
}

extension BodyMark? {
    /// A profile's body as clients are told it.
    package func filled(_ body: [UInt8]) -> [UInt8] {
        guard let self else { return body }
        return body.withUnsafeBytes { self.filling($0) } ?? body
    }
}

extension ShardLogic {
    /// The event of a register whose body Redis sent.
    func frame(_ kind: RegisterKind, of user: UserID, _ event: StoreEvent) -> Register {
        func frame(_ body: UnsafeRawBufferPointer) -> Register {
            RegisterFrame.event(kind, user: user, version: event.version, body: body, at: event.at)
        }
        guard kind == .profile, let filled = bodyMark?.filling(event.rest) else { return frame(event.rest) }
        return filled.withUnsafeBytes { frame($0) }
    }
}
