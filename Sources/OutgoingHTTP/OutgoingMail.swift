/// A mail to be handed to a server, over a connection of its own, which is ended without a QUIT once the mail was taken.
public struct OutgoingMail: Sendable {
    /// `smtp://HOST:PORT` or `smtps://HOST:PORT`.
    public var url: String
    /// What `smtp` must become before anything else is said; `smtps` is TLS from the start.
    public var startTLS = StartTLS.required
    public var credentials: Credentials?
    /// By which name the client greets.
    public var clientName = "localhost"
    /// The envelope: addresses without angle brackets.
    public var sender: String
    public var recipients: [String]
    /// Header and body, each line ended by CR LF.
    public var message: [UInt8]
    public var limits: TransferLimits = {
        var limits = TransferLimits()
        limits.total = 60
        return limits
    }()
    public var tls = OutgoingTLS()
    public var destinations = Destinations.all

    public init(_ url: String, from sender: String, to recipients: [String], message: [UInt8]) {
        self.url = url
        self.sender = sender
        self.recipients = recipients
        self.message = message
    }

    public enum StartTLS: Sendable {
        /// A server that does not offer it gets nothing.
        case required
        /// Everything goes in plain text: for a server on this machine, and for tests.
        case never
    }

    /// A user and a password. They are nowhere but on the connection.
    public struct Credentials: Sendable {
        public var user: String
        public var password: String

        public init(user: String, password: String) {
            self.user = user
            self.password = password
        }
    }
}
