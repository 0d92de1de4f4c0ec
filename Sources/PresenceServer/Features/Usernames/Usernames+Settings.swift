import PresenceCore

extension FeatureSetting {
    static let reservedUsernames = text(
        "accounts.reservedUsernames", Usernames.reserved,
        about: "Usernames that users cannot choose, with commas or spaces between them.")
}

extension Usernames {
    /// Names that users would take for the operator's own, or that apps use in their addresses.
    static let reserved =
        "about, abuse, account, accounts, admin, administrator, all, anonymous, api, app, billing, contact, everyone, "
        + "guest, help, here, hostmaster, info, legal, login, logout, mail, me, moderator, noreply, nobody, null, "
        + "official, owner, postmaster, presence, privacy, root, security, settings, signin, signup, staff, status, "
        + "support, sysadmin, system, team, terms, undefined, user, username, users, webmaster, www"

    static func reservedNames(_ text: String) -> Set<String> {
        Set(text.lowercased().split { ", \t\n".contains($0) }.map(String.init))
    }
}
