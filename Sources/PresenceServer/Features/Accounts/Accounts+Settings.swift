import Foundation
import Installation
import PresenceCore
import PresenceProtocol

/// The settings of accounts; config/presenced.yaml has each with its description.
extension Accounts {
    static let enabled = Setting<Bool>(
        "accounts.enabled", false,
        about: "Whether users can sign up and sign in on this server. If off, every path of accounts is answered 404.")
    static let passwordMinimum = Setting<Int>(
        "accounts.password.minimum", 8, in: 6...64,
        about: "The minimum length of a password in characters. NIST requires 15 if nothing else protects an account; "
            + "below 8 the server logs a warning.")
    static let hideExisting = Setting<Bool>(
        "accounts.hideExisting", false,
        about: "Whether the server hides which addresses have an account.")
    static let defaultDisplayName = Setting<DefaultDisplayName>(
        "accounts.defaultDisplayName", .email,
        about: "The displayName of users who enter none: the part of their address before the @, which other users "
            + "see, or User.")
    enum DefaultDisplayName: String, CaseIterable, SettingValue { case email, neutral }
    static let idle = Setting<Milliseconds>(
        "accounts.idle", 7_776_000_000, in: 60_000...31_536_000_000,
        about: "How long a device stays signed in without being used.")
    static let mostDevices = Setting<Int>(
        "accounts.devices", 100, in: 1...1_000,
        about: "The most devices on which one user is signed in; one more signs out the one unused for longest.")
    static let blockedPasswordsFile = Setting<String>(
        "accounts.blockedPasswordsFile", "", about: "A file of forbidden passwords, one a line.")
    static let perAddress = Setting<Int>(
        "accounts.perAddress", 100, in: 0...100_000,
        about: "How many sign-ups and mails one address may request in a burst on each shard; then one a minute. 0: "
            + "no limit.")
    static let guests = Setting<Bool>(
        "accounts.guests.enabled", false,
        about: "Whether users may have an account without an address and a password, which they can upgrade later.")
    static let keepGuests = Setting<Milliseconds>(
        "accounts.guests.keepFor", 2_592_000_000, in: 60_000...31_536_000_000,
        about: "How long a guest is kept without being used; then the guest is deleted like any account.")
    static let mailCodeSignUp = Setting<Bool>(
        "accounts.mailCodeSignUp", false,
        about: "Whether a code by mail also signs up an address that has no account.")
    static let linkBase = Setting<String>(
        "accounts.linkBase", "",
        about: "The beginning of links in mails: the address of the app's pages; empty: the address that the server "
            + "listens on.")

    static let mailURL = Setting<String>(
        "mail.url", "",
        about: "The server to which mails are sent, smtp:// or smtps://; empty: each is a file in the data "
            + "directory's outbox.")
    static let mailFrom = Setting<String>(
        "mail.from", "Presence <no-reply@localhost>", about: "The sender of mails.")

    static let mailTemplates = Setting<String>(
        "mail.templates", "",
        about:
            "A folder with texts of mails, NAME.LANGUAGE.txt and perhaps .html, in the languages of accounts; empty: "
            + "all mails are in English.")

    static let settings: [any AnySetting] = [
        mailURL, mailFrom, mailTemplates, enabled, passwordMinimum, hideExisting, defaultDisplayName, idle, mostDevices,
        blockedPasswordsFile, perAddress, guests, keepGuests, mailCodeSignUp, providers, returnURLs,
        linkBase,
    ]
}

extension ServerConfiguration {
    /// The display name of users who enter none.
    func defaultDisplayName(of email: EmailAddress) -> String {
        guard self[Accounts.defaultDisplayName] == .email else { return "User" }
        return DisplayName.normalized(String(email.local.prefix(DisplayName.maximumCharacters))) ?? "User"
    }
}

extension Accounts {
    /// How long an access token is valid.
    static let tokenLifetime: Milliseconds = 3_600_000
    /// How long a hundred failures for an address are remembered after the last one; fewer failures, for their share of this
    /// time.
    static let guessMemory: Milliseconds = 30 * 24 * 3_600_000
    /// How long a repeated sign-up counts as the same one.
    static let repetition: Milliseconds = 600_000
    /// Bodies are small, because they are read before the caller is authenticated.
    static let mostBytes = 16_384

    static func check(_ configuration: ServerConfiguration) throws(InvalidConfiguration) {
        guard configuration[Accounts.enabled] else { return }
        let base = configuration[Accounts.linkBase]
        let url = URL(string: base)
        let isGood = ["http", "https"].contains(url?.scheme) && url?.fragment == nil && url?.host?.isEmpty == false
        guard base.isEmpty || isGood else {
            throw InvalidConfiguration(key: Accounts.linkBase.key, reason: "must be an http or https URL")
        }
        _ = try blockedPasswords(configuration)
        _ = try Provider.all(configuration)
        _ = try MailTemplates.read(configuration)
        for address in configuration[Accounts.returnURLs] where !WebhookEndpoint.isAllowed(address) {
            throw InvalidConfiguration(
                key: Accounts.returnURLs.key,
                reason: "\(address) must be https://…, or http://… to this machine, without user, password or #")
        }
        let mail = configuration[Accounts.mailURL]
        guard mail.isEmpty || MailSender.server(mail) != nil else {
            throw InvalidConfiguration(
                key: Accounts.mailURL.key, reason: "must be smtp://HOST:PORT or smtps://HOST:PORT")
        }
        let sender = configuration[Accounts.mailFrom]
        guard Mail.isHeader(sender), Mail.address(in: sender).contains("@") else {
            throw InvalidConfiguration(
                key: Accounts.mailFrom.key, reason: "must be an address, as in Presence <no-reply@example.org>")
        }
    }

    static func warnings(_ configuration: ServerConfiguration) -> [String] {
        guard configuration[Accounts.enabled] else { return [] }
        var warnings: [String] = []
        if configuration[Accounts.passwordMinimum] < 8 {
            warnings.append("accounts.password.minimum is below 8, the least that NIST SP 800-63B allows: raise it")
        }
        guard !configuration[Accounts.mailURL].isEmpty else { return warnings }
        let base = configuration[Accounts.linkBase]
        let url = URLComponents(string: base.isEmpty ? configuration.ownURL : base)
        if url?.scheme != "https" || url?.host.map(isOfThisMachine) ?? true {
            let links = base.isEmpty ? "accounts.linkBase is empty: links in mails begin with" : "accounts.linkBase is"
            warnings.append(
                "\(links) \(base.isEmpty ? configuration.ownURL : base), but must be the https address at which people "
                    + "reach the app's pages")
        }
        let sender =
            Mail.address(in: configuration[Accounts.mailFrom]).split(separator: "@").last.map(String.init) ?? ""
        if isOfThisMachine(sender) {
            warnings.append("mail.from is an address at \(sender): mail servers refuse it, or treat its mails as spam")
        }
        return warnings
    }

    /// Whether a host name is reachable only from this machine.
    private static func isOfThisMachine(_ host: String) -> Bool {
        let name = host.lowercased()
        return name == "localhost" || name.hasSuffix(".localhost") || ["127.0.0.1", "[::1]", "::1"].contains(name)
    }

    static func blockedPasswords(_ configuration: ServerConfiguration) throws(InvalidConfiguration) -> String {
        let file = configuration[Accounts.blockedPasswordsFile]
        guard !file.isEmpty else { return "" }
        do {
            return String(decoding: try PlainFile.read(file), as: UTF8.self)
        } catch {
            throw InvalidConfiguration(key: Accounts.blockedPasswordsFile.key, reason: "\(error)")
        }
    }
}
