package import PresenceProtocol

/// A provider's verified notice about a person, from its server to this one.
package struct ProviderNotice: Sendable, Equatable {
    /// The provider's word for what has happened.
    package let type: String
    package let issuer: String
    package let subject: String
    /// In ms since 1970.
    package let issuedAt: Timestamp

    /// Its claim `events`: `{"type":"consent-revoked","sub":"…","event_time":…}`.
    struct Event {
        private(set) var type: String?
        private(set) var subject: String?

        init(json: [UInt8]) throws(AuthenticationFailure) {
            try forEachMember(of: json) { name, value throws(AuthenticationFailure) in
                switch name {
                case "type": type = value.string
                case "sub": subject = value.string
                default: break
                }
            }
        }
    }
}
