import PresenceProtocol

/// Profile changes that are kept until the server has acknowledged them: in order, with the newest value per member.
///
/// What was sent and not answered when the connection broke is sent again: the values are whole, so a second time
/// changes nothing.
struct ProfileQueue: Sendable {
    /// On its way.
    private var sent: ProfileChanges?
    /// Waits until `sent` is answered.
    private var next: ProfileChanges?
    /// After a passing refusal, the uptime at which to try again.
    private(set) var retryAt: Duration?
    private(set) var refusal: PresenceError?

    /// Everything not acknowledged.
    var waiting: ProfileChanges? {
        guard let sent else { return next }
        return next.map { sent.merged(with: $0) } ?? sent
    }

    mutating func append(_ changes: ProfileChanges) {
        guard !changes.isEmpty else { return }
        next = next?.merged(with: changes) ?? changes
        refusal = nil
    }

    /// What to send now, if there is anything and nothing is on its way.
    mutating func take(at uptime: Duration) -> ProfileChanges? {
        guard sent == nil, let changes = next else { return nil }
        if let retryAt, retryAt > uptime { return nil }
        retryAt = nil
        sent = changes
        next = nil
        return changes
    }

    mutating func acknowledge() {
        sent = nil
    }

    /// The server said no. A member that it named is dropped and the others tried again; without a name all is lost,
    /// since it is unknown which members would be accepted.
    mutating func refuse(_ error: PresenceError) {
        refusal = error
        guard var changes = sent else { return }
        sent = nil
        guard let field = error.field, changes.drop(field), !changes.isEmpty else { return }
        next = next.map { changes.merged(with: $0) } ?? changes
    }

    /// The server could not: the same again at `uptime`.
    mutating func postpone(until uptime: Duration) {
        requeue()
        retryAt = uptime
    }

    /// The connection broke.
    mutating func requeue() {
        next = waiting
        sent = nil
        retryAt = nil
    }

    /// A later change of these members has been stored: an older kept one must not overwrite it.
    mutating func supersede(_ changes: ProfileChanges) {
        next?.remove(membersOf: changes)
        if next?.isEmpty == true { next = nil }
    }
}

extension ProfileChanges {
    var isEmpty: Bool { self == ProfileChanges() }

    func merged(with newer: ProfileChanges) -> ProfileChanges {
        func pick(_ member: KeyPath<ProfileChanges, TextChange>) -> TextChange {
            newer[keyPath: member] == .keep ? self[keyPath: member] : newer[keyPath: member]
        }
        return ProfileChanges(
            displayName: pick(\.displayName), photoURL: pick(\.photoURL), timezone: pick(\.timezone),
            locale: pick(\.locale))
    }

    /// Takes out a member by its name on the wire; whether there was one.
    mutating func drop(_ field: String) -> Bool {
        let before = self
        switch field {
        case "displayName": displayName = .keep
        case "photoURL": photoURL = .keep
        case "timezone": timezone = .keep
        case "locale": locale = .keep
        default: break
        }
        return self != before
    }

    mutating func remove(membersOf other: ProfileChanges) {
        if other.displayName != .keep { displayName = .keep }
        if other.photoURL != .keep { photoURL = .keep }
        if other.timezone != .keep { timezone = .keep }
        if other.locale != .keep { locale = .keep }
    }
}
