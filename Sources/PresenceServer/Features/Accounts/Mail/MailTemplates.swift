import EventLoops
import Foundation
import Installation
import Logging
import PresenceCore
import PresenceProtocol

/// The templates of all mails, by language: those of `mail.templates`, and the built-in ones in English.
struct MailTemplates: Sendable, Equatable {
    /// Languages are in lower case.
    private var all: [MailKind: [String: MailTemplate]] = [:]

    private static let english = "en"
    static let mostFiles = 1_000
    private static let mostBytes = 65_536

    static let builtIn = MailTemplates()

    private init() {
        for kind in MailKind.allCases { all[kind] = [Self.english: kind.builtIn] }
    }

    /// The template for a person's language: `de-AT`, else `de`, else English.
    func template(_ kind: MailKind, for language: String?) -> MailTemplate {
        let languages = all[kind] ?? [:]
        var parts = (language ?? "").lowercased().split(separator: "-")
        while !parts.isEmpty {
            if let found = languages[parts.joined(separator: "-")] { return found }
            parts.removeLast()
        }
        return languages[Self.english] ?? kind.builtIn
    }

    // MARK: The folder

    /// Blocks: for the start, and for threads apart.
    ///
    /// - Throws: The first file that cannot be used, with the reason.
    static func read(_ configuration: ServerConfiguration) throws(InvalidConfiguration) -> MailTemplates {
        let folder = configuration[Accounts.mailTemplates]
        guard !folder.isEmpty else { return builtIn }
        func invalid(_ name: String, _ reason: String) -> InvalidConfiguration {
            InvalidConfiguration(key: Accounts.mailTemplates.key, reason: "\(folder)/\(name) \(reason)")
        }
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: folder) else {
            throw InvalidConfiguration(
                key: Accounts.mailTemplates.key, reason: "\(folder) is not a folder that can be read")
        }
        let files = names.filter { !$0.hasPrefix(".") }.sorted()
        guard files.count <= mostFiles else { throw invalid("", "has more than \(mostFiles) files") }
        var templates = MailTemplates()
        for name in files {
            guard let (kind, language, isHTML) = parts(of: name) else {
                throw invalid(name, "is not a template: NAME.LANGUAGE.txt or .html, as in verify-email.de.txt")
            }
            let text = name.dropLast(isHTML ? 5 : 4) + ".txt"
            guard files.contains(String(text)) else { throw invalid(name, "has no \(text) beside it") }
            guard !isHTML else { continue }
            let html = String(name.dropLast(4)) + ".html"
            do throws(StartFailure) {
                templates.all[kind]?[language.lowercased()] = try MailTemplate(
                    kind, text: try content(folder + "/" + name),
                    html: files.contains(html) ? try content(folder + "/" + html) : nil)
            } catch {
                throw invalid(name, error.message)
            }
        }
        return templates
    }

    private static func parts(of name: String) -> (MailKind, language: String, isHTML: Bool)? {
        let words = name.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard words.count == 3, let kind = MailKind(rawValue: words[0]), LanguageTag.isWellFormed(words[1]),
            ["txt", "html"].contains(words[2])
        else { return nil }
        return (kind, words[1], words[2] == "html")
    }

    private static func content(_ path: String) throws(StartFailure) -> String {
        let data = try PlainFile.read(path)
        guard data.count <= mostBytes else { throw StartFailure("has more than \(mostBytes) bytes") }
        guard let text = String(validating: data, as: UTF8.self) else { throw StartFailure("is not UTF-8") }
        return text.hasPrefix("\u{FEFF}") ? String(text.dropFirst()) : text
    }
}

/// The templates that a server's shards use.
final class CurrentMailTemplates: Sendable {
    private let current: Locked<MailTemplates>
    /// The reason that was logged last, until the folder is usable again.
    private let complaint = Locked<String?>(nil)

    /// Reads the folder at the server's start. `Accounts.check` has accepted it before.
    init(_ configuration: ServerConfiguration) { current = Locked((try? .read(configuration)) ?? .builtIn) }

    var templates: MailTemplates { current.withLock { $0 } }

    /// Reads the folder again. If it is unusable, the templates stay, and the reason is logged once.
    func reload(_ configuration: ServerConfiguration, _ logger: Logger) async {
        let result = await PlainFile.apart { Result { try MailTemplates.read(configuration) } }
        switch result {
        case .success(let templates):
            complaint.withLock { $0 = nil }
            guard templates != self.templates else { return }
            current.withLock { $0 = templates }
            logger.notice("templates of mails read anew")
        case .failure(let error):
            let isNew = complaint.withLock { complaint in
                defer { complaint = "\(error)" }
                return complaint != "\(error)"
            }
            if isNew {
                logger.error("templates of mails not read anew: the old ones stay", metadata: ["reason": "\(error)"])
            }
        }
    }
}
