import Foundation
import PresenceProtocol

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// The actions of people. Each knows their own passwords, identities and mails, and uses only those; any address can be written down.
extension SignInHistory {
    func step() throws {
        if !plans.isEmpty, draw(0...1) == 0 { return try plans.removeFirst()() }
        let person = pick(Self.people)
        let device = devices.filter { $0.person.name == person.name }.suffix(4).randomElement(using: &choice)
        switch draw(0...37) {
        case 0:
            enter(person, ["email": someAddress(of: person), "password": pick(person.passwords)], at: "/v1/accounts")
        case 1, 2: enter(person, ["guest": true], at: "/v1/accounts")
        case 3...6: enter(person, try token(of: person))
        case 7: enter(person, ["email": someAddress(of: person), "password": pick(person.passwords)])
        case 8: ask("POST", "/v1/signin/mail", ["email": someAddress(of: person)])
        case 9...11: useCode(of: person)
        case 12, 13: if let device { upgrade(device, to: someAddress(of: device.person)) }
        case 14, 15: if let device { ask("POST", "/v1/me/identities", try token(of: person), token: device.access) }
        case 16:
            if let device { ask("DELETE", "/v1/me/identities/\(pick(["test", "other"]))", token: device.access) }
        case 17, 18: ask("POST", "/v1/passwords/forgot", ["email": pick(person.addresses)])
        case 19...21: reset(person)
        case 22: if let device { changeAddress(device) }
        case 23, 24: verify(person)
        case 25...27: if let device { try delete(device) }
        case 28, 29: if let device { look(device) }
        case 30: if let device { refresh(device) }
        case 31: if let device { changePassword(device) }
        case 32: administer()
        case 33...36 where plans.isEmpty: takeAddress(person)
        // Guests become due.
        default: if draw(0...2) == 0 { world.redisEpoch += Self.keep / 2 }
        }
    }

    /// Mostly one of their own.
    private func someAddress(of person: Person) -> String {
        draw(0...3) == 0 ? pick(Self.addresses) : pick(person.addresses)
    }

    /// A token of one of the person's identities. A provider states only addresses of the person's as verified.
    private func token(of person: Person) throws -> [String: Any] {
        let (name, subject) = pick(person.identities)
        let provider = providers.first { $0.name == name }!
        switch draw(0...3) {
        case 0: return try provider.body(subject)
        case 1: return try provider.body(subject, pick(Self.addresses), isVerified: false)
        default: return try provider.body(subject, pick(person.addresses))
        }
    }

    // MARK: Mails

    /// A code from a mail, perhaps an outdated one, or an invented one.
    private func useCode(of person: Person) {
        let address = pick(person.addresses)
        guard draw(0...7) > 0 else { return enter(person, ["email": pick(Self.addresses), "mailCode": "123456"]) }
        let mails = accounts.mails(to: address).filter { $0.contains("/signin#") }
        guard let mail = mails.suffix(3).randomElement(using: &choice) else { return }
        enter(person, ["email": address, "mailCode": draw(0...1) == 0 ? Self.link(in: mail) : Self.digits(in: mail)])
    }

    static func link(in mail: String) -> String {
        String(mail.components(separatedBy: "&token=")[1].prefix { !$0.isWhitespace })
    }

    private static func digits(in mail: String) -> String {
        mail.split(whereSeparator: \.isNewline).map { $0.trimmingCharacters(in: .whitespaces) }
            .first { $0.utf8.count == 6 && $0.allSatisfy(\.isNumber) } ?? ""
    }

    private func reset(_ person: Person) {
        guard let token = accounts.tokens("reset", to: pick(person.addresses)).suffix(2).randomElement(using: &choice)
        else { return }
        ask("POST", "/v1/passwords/reset", ["token": token, "password": pick(person.passwords)])
    }

    /// People open links about their own accounts, and ignore mails about those of others.
    private func verify(_ person: Person) {
        let tokens = accounts.tokens("verify", to: pick(person.addresses)).suffix(3).filter {
            MailToken($0).map { past.holder(of: $0.user.string) == person.name } == true
        }
        if let token = tokens.randomElement(using: &choice) { ask("POST", "/v1/emails/verify", ["token": token]) }
    }

    // MARK: Signed in

    /// An account with an identity gets the address of another person, who then proves it. The account's maker tries to stay.
    private func takeAddress(_ person: Person) {
        let owner = pick(Self.people.filter { $0.name != person.name })
        let address = pick(owner.addresses)
        plans = [
            { [unowned self] in enter(person, try providers[0].body(person.name)) },
            { [unowned self] in if let device = newestDevice(of: person) { upgrade(device, to: address) } },
            { [unowned self] in
                ask("POST", "/v1/passwords/forgot", ["email": address])
                ask("POST", "/v1/signin/mail", ["email": address])
            },
            { [unowned self] in if draw(0...1) == 0 { reset(owner) } else { useCode(of: owner) } },
            { [unowned self] in if let device = newestDevice(of: person) { look(device) } },
        ]
    }

    private func newestDevice(of person: Person) -> Device? { devices.last { $0.person.name == person.name } }

    private func upgrade(_ device: Device, to address: String) {
        let body = ["email": address, "password": pick(device.person.passwords)]
        ask("POST", "/v1/me/upgrade", body, token: device.access) { [unowned self] call in
            guard call.status == 200 else { return }
            count("upgrades")
            let account = call.json["account"] as? [String: Any] ?? [:]
            if account["user"] as? String != device.user { fail("an upgrade has made \(account) of \(device.user)") }
        }
    }

    private func changeAddress(_ device: Device) {
        let body = ["password": pick(device.person.passwords), "email": someAddress(of: device.person)]
        ask("POST", "/v1/me/email", body, token: device.access)
    }

    private func changePassword(_ device: Device) {
        let body = ["password": pick(device.person.passwords), "newPassword": pick(device.person.passwords)]
        ask("POST", "/v1/me/password", body, token: device.access)
    }

    private func delete(_ device: Device) throws {
        var body: [String: Any] = [:]
        switch draw(0...2) {
        case 0: body = ["password": pick(device.person.passwords)]
        case 1: break
        default: body = try token(of: device.person)
        }
        let since = world.now
        ask("DELETE", "/v1/me", body, token: device.access) { [unowned self] call in
            guard call.status == 204 else { return }
            if !past.held(device.user, device.person.name, since: since) {
                fail("\(device.person.name) has deleted \(past.name(device.user))")
            }
        }
    }

    private func look(_ device: Device) {
        let since = world.now
        ask("GET", "/v1/me", token: device.access) { [unowned self] call in
            guard call.status == 200 else { return }
            let account = call.json["account"] as? [String: Any] ?? [:]
            if account["user"] as? String != device.user { fail("\(device.user) has \(account)") }
            if !past.held(device.user, device.person.name, since: since) {
                fail("\(device.person.name) sees \(past.name(device.user))")
            }
        }
    }

    private func refresh(_ device: Device) {
        let since = world.now
        ask("POST", "/v1/sessions/refresh", ["refreshToken": device.refresh]) { [unowned self] call in
            guard let access = call.json["accessToken"] as? String, let next = call.json["refreshToken"] as? String
            else { return }
            if !past.held(device.user, device.person.name, since: since) {
                fail("\(device.person.name) stays in \(past.name(device.user))")
            }
            guard let place = devices.firstIndex(where: { $0.refresh == device.refresh }) else { return }
            (devices[place].access, devices[place].refresh) = (access, next)
        }
    }

    /// A backend disables and bans accounts, and ends both.
    private func administer() {
        guard let user = devices.randomElement(using: &choice)?.user else { return }
        switch draw(0...4) {
        case 0: ask("POST", "/v1/users/\(user)/account/disable", token: "!backend")
        case 1: ask("PUT", "/v1/users/\(user)/ban", ["reason": "a ban", "scope": "all"], token: "!backend")
        case 2: ask("DELETE", "/v1/users/\(user)/ban", token: "!backend")
        default: ask("POST", "/v1/users/\(user)/account/enable", token: "!backend")
        }
    }
}
