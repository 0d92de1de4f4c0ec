import PresenceCore

extension Usernames {
    static let reserved = Setting<String>(
        "accounts.reservedUsernames", standardReserved,
        about: "Usernames that users cannot choose, with commas or spaces between them.")

    static let directory = Setting<Bool>(
        "accounts.directory", false,
        about: "Whether users find others by the beginning of a username or display name, not only by a whole username."
    )

    /// Names that users would take for the operator's own, or that apps use in their addresses.
    private static let standardReserved =
        "about, abuse, account, accounts, admin, administrator, all, anonymous, api, app, billing, contact, everyone, "
        + "guest, help, here, hostmaster, info, legal, login, logout, mail, me, moderator, noreply, nobody, null, "
        + "official, owner, postmaster, presence, privacy, root, security, settings, signin, signup, staff, status, "
        + "support, sysadmin, system, team, terms, undefined, user, username, users, webmaster, www"

    static func reservedNames(_ text: String) -> Set<String> {
        Set(text.lowercased().split { ", \t\n".contains($0) }.map(String.init))
    }
}
