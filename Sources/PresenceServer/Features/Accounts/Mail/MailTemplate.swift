import CAssets
import Foundation
import Installation

/// The mails that there are, by the names of their templates.
enum MailKind: String, CaseIterable, Codable, Sendable {
    case verifyEmail = "verify-email"
    case resetPassword = "reset-password"
    case changeEmail = "change-email"
    case signInCode = "sign-in-code"
    case accountExists = "account-exists"
    case emailChanged = "email-changed"
    case identityAdded = "identity-added"
    case identityRemoved = "identity-removed"
    case passwordChanged = "password-changed"
    case newDevice = "new-device"

    /// The placeholders that its text must have, and those that it may have besides ``common``.
    var needed: [String] {
        switch self {
        case .verifyEmail, .resetPassword, .changeEmail: ["link"]
        case .signInCode: ["code"]
        case .identityAdded, .identityRemoved: ["provider"]
        case .accountExists, .emailChanged, .passwordChanged, .newDevice: []
        }
    }

    var allowed: Set<String> {
        switch self {
        case .signInCode: ["code", "link"]
        case .newDevice: ["device", "time"]
        default: Set(needed)
        }
    }

    /// In every mail: the account's display name, or its address if there is no account; and the address of the mail.
    static let common: Set<String> = ["displayName", "email"]

    /// The built-in text, in English.
    var builtIn: MailTemplate {
        let file =
            switch self {
            case .verifyEmail: asset_mail_verify_email()
            case .resetPassword: asset_mail_reset_password()
            case .changeEmail: asset_mail_change_email()
            case .signInCode: asset_mail_sign_in_code()
            case .accountExists: asset_mail_account_exists()
            case .emailChanged: asset_mail_email_changed()
            case .identityAdded: asset_mail_identity_added()
            case .identityRemoved: asset_mail_identity_removed()
            case .passwordChanged: asset_mail_password_changed()
            case .newDevice: asset_mail_new_device()
            }
        let text = String(decoding: UnsafeBufferPointer(start: file.bytes, count: file.count), as: UTF8.self)
        // The tests read all of them.
        return try! MailTemplate(self, text: text, html: nil)
    }
}

/// The text of a mail in one language, with placeholders such as `{{link}}`; and perhaps the same as HTML.
struct MailTemplate: Sendable, Equatable {
    let subject: String
    let text: String
    let html: String?

    /// Mail servers accept lines of 998 bytes (RFC 5321, 4.5.3.1.6), and values make lines longer.
    private static let longestLine = 400
    private static let longestSubject = 150

    /// - Parameter text: The subject in the first line, then the text; an empty line between them is not part of it.
    /// - Throws: What is wrong with it.
    init(_ kind: MailKind, text: String, html: String?) throws(StartFailure) {
        let lines = text.replacing("\r\n", with: "\n").split(
            separator: "\n", maxSplits: 1, omittingEmptySubsequences: false)
        subject = lines[0].trimmingCharacters(in: .whitespaces)
        guard !subject.isEmpty else { throw StartFailure("has no subject in its first line") }
        guard subject.count <= Self.longestSubject else {
            throw StartFailure("has a subject of more than \(Self.longestSubject) characters")
        }
        let body = lines.count > 1 ? lines[1] : ""
        self.text = String(body.hasPrefix("\n") ? body.dropFirst() : body)
        self.html = html?.replacing("\r\n", with: "\n")
        guard self.text.contains(where: { !$0.isWhitespace }) else {
            throw StartFailure("has no text after the subject")
        }
        guard self.text.split(separator: "\n").allSatisfy({ $0.utf8.count <= Self.longestLine }) else {
            throw StartFailure("has a line of more than \(Self.longestLine) bytes")
        }
        for part in [subject, self.text, self.html ?? ""] { try Self.check(part, kind) }
        let bodies = [self.text] + (self.html.map { [$0] } ?? [])
        for name in kind.needed where !bodies.allSatisfy({ $0.contains("{{\(name)}}") }) {
            throw StartFailure("lacks the placeholder {{\(name)}}")
        }
    }

    private static func check(_ text: String, _ kind: MailKind) throws(StartFailure) {
        guard !text.unicodeScalars.contains(where: { $0 != "\n" && $0 != "\t" && isControl($0) }) else {
            throw StartFailure("has a control character")
        }
        for name in placeholders(in: text) {
            guard kind.allowed.contains(name) || MailKind.common.contains(name) else {
                let known = kind.allowed.union(MailKind.common).sorted().map { "{{\($0)}}" }
                throw StartFailure(
                    "has the unknown placeholder {{\(name)}}; there are \(known.joined(separator: ", "))")
            }
        }
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool { scalar.properties.generalCategory == .control }

    private static func placeholders(in text: String) -> [String] {
        text.split(separator: "{{", omittingEmptySubsequences: false).dropFirst().map { part in
            part.range(of: "}}").map { String(part[..<$0.lowerBound]) } ?? part.prefix(20) + " …"
        }
    }

    // MARK: Filling

    /// The parts with values in place of placeholders. A value is one line: characters that would begin another become spaces, so
    /// that none adds a header or a paragraph. In HTML, characters with a meaning there are escaped.
    func filled(_ values: [String: String]) -> (subject: String, text: String, html: String?) {
        let plain = values.mapValues(Self.oneLine)
        return (
            String(Self.fill(subject, plain).prefix(2 * Self.longestSubject)), Self.fill(text, plain),
            html.map { Self.fill($0, plain.mapValues(Self.escaped)) }
        )
    }

    /// Values are put in at once, so a value with the form of a placeholder stays as it is.
    private static func fill(_ text: String, _ values: [String: String]) -> String {
        let parts = text.split(separator: "{{", omittingEmptySubsequences: false)
        var filled = String(parts[0])
        for part in parts.dropFirst() {
            guard let end = part.range(of: "}}") else { continue }
            filled += (values[String(part[..<end.lowerBound])] ?? "") + part[end.upperBound...]
        }
        return filled
    }

    private static let longestValue = 1_000

    static func oneLine(_ value: String) -> String {
        var scalars = String.UnicodeScalarView()
        for scalar in value.unicodeScalars.prefix(longestValue) {
            let breaks = isControl(scalar) || scalar == "\u{2028}" || scalar == "\u{2029}"
            scalars.append(breaks ? " " : scalar)
        }
        return String(scalars)
    }

    private static func escaped(_ value: String) -> String {
        var text = ""
        for character in value.unicodeScalars {
            switch character {
            case "&": text += "&amp;"
            case "<": text += "&lt;"
            case ">": text += "&gt;"
            case "\"": text += "&quot;"
            case "'": text += "&#39;"
            default: text.unicodeScalars.append(character)
            }
        }
        return text
    }
}
