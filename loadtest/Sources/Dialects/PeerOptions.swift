import ArgumentParser

/// The kind of server to measure: ours, unless a peer's templates are given.
struct PeerOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Measure a peer's server at --url instead of ours: how it is spoken to (loadtest/peers has examples).",
            valueName: "file"))
    var peer: String?

    @Option(
        help: ArgumentHelp(
            """
            The length of a delivered change; 0 is that of our own shortest event of a text, \
            \(PresenceDialect.shortestEvent) bytes.
            """, valueName: "bytes"))
    var messageBytes = 0

    @Flag(help: "Our own clients name no device; the server then does not search for an earlier session of the device.")
    var noDevice = false

    func validate() throws {
        guard messageBytes == 0 || messageBytes >= PresenceDialect.shortestEvent || peer != nil else {
            throw ValidationError("Our events have at least \(PresenceDialect.shortestEvent) bytes.")
        }
        guard (0...FrameHeader.longestPayload).contains(messageBytes) else {
            throw ValidationError("--message-bytes is from 0 to \(FrameHeader.longestPayload).")
        }
    }

    /// The protocol between `crowd` and `server`.
    func dialect(_ server: ServerOptions, crowd: Crowd, kind: ChangeKind = .text) throws -> any Dialect {
        guard let peer else {
            return try PresenceDialect(
                crowd: crowd, mint: server.mint(), kind: kind, messageBytes: messageBytes, namesDevice: !noDevice)
        }
        let length = messageBytes > 0 ? messageBytes : PresenceDialect.shortestEvent
        return try PeerDialect(
            PeerTemplate(file: peer), channel: crowd.subject(0), messageBytes: length, mint: server.mint)
    }
}

/// The changed register: the status text of the presence, or the profile's displayName.
enum ChangeKind: String, ExpressibleByArgument, CaseIterable, Codable { case text, name }
