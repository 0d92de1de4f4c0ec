import Foundation
import Installation
import Passwords
import PresenceCore
import PresenceProtocol

/// Where events go, as the configuration has it.
struct WebhookEndpoint: Sendable, Equatable {
    let url: String
    let secret: WebhookSecret
    let events: Set<String>

    /// Types of events, as docs/protocol.md names them.
    static let types = [
        "user.online", "user.offline", "account.created", "account.deleted", "message.created", "message.changed",
        "push.due", "notification.created", "user.banned", "user.unbanned",
        "report.created",
    ]
    /// More endpoints than this would be a list of customers, which does not belong into a configuration.
    static let most = 16

    /// The name of its keys in Redis: the same URL has the same queue.
    var id: Identifier { Self.id(of: url) }

    static func id(of url: String) -> Identifier {
        Identifier(Array(Sodium.sha256(Array(url.utf8)).prefix(8)).hexadecimal)!
    }

    /// Whether an endpoint gets these events: it names them, or none.
    static func isTold(of type: String, in configuration: ServerConfiguration) -> Bool {
        configuration[Webhooks.endpoints].contains { row in
            let events = row.split(separator: " ").dropFirst(2)
            return events.isEmpty || events.contains(type[...])
        }
    }

    /// - Throws: what is wrong with the first that cannot be.
    static func all(_ configuration: ServerConfiguration) throws(InvalidConfiguration) -> [WebhookEndpoint] {
        var endpoints: [WebhookEndpoint] = []
        for row in configuration[Webhooks.endpoints] {
            func invalid(_ reason: String) -> InvalidConfiguration {
                InvalidConfiguration(key: Webhooks.endpoints.key, reason: reason)
            }
            let words = row.split(separator: " ").map(String.init)
            guard words.count >= 2 else { throw invalid("has an entry without url and secretFile") }
            let url = words[0]
            guard isAllowed(url) else {
                throw invalid("\(shown(url)) must be https://…, or http://… to this machine, without user or password")
            }
            for type in words[2...] where !types.contains(type) {
                throw invalid("\(type) is no event: there are " + types.joined(separator: ", "))
            }
            guard !endpoints.contains(where: { $0.url == url }) else { throw invalid("\(shown(url)) is there twice") }
            do throws(StartFailure) {
                endpoints.append(
                    WebhookEndpoint(
                        url: url, secret: try WebhookSecret(file: words[1]),
                        events: Set(words.count > 2 ? Array(words[2...]) : types)))
            } catch {
                throw invalid("secretFile of \(shown(url)): \(error)")
            }
        }
        guard endpoints.count <= most else {
            throw InvalidConfiguration(key: Webhooks.endpoints.key, reason: "has more than \(most) endpoints")
        }
        return endpoints
    }

    private static let loopback = ["localhost", "127.0.0.1", "::1", "[::1]"]

    /// Whether calls may go there: over TLS, or to this machine.
    static func isAllowed(_ text: String) -> Bool {
        guard text.utf8.count <= 2_048, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
            let url = URLComponents(string: text), let host = url.host, !host.isEmpty, url.user == nil,
            url.password == nil, url.fragment == nil
        else { return false }
        return url.scheme == "https" || url.scheme == "http" && loopback.contains(host)
    }

    /// As logs and errors show it: a query may be a secret.
    static func shown(_ url: String) -> String {
        guard var parts = URLComponents(string: url) else { return "the url" }
        (parts.user, parts.password, parts.fragment) = (nil, nil, nil)
        if parts.query != nil { parts.query = "…" }
        return parts.string?.removingPercentEncoding ?? "the url"
    }
}

extension Webhooks {
    static let endpoints = Setting<[String]>(
        "webhooks", [], columns: ["url", "secretFile", "events"],
        about: "Your servers that receive events, by Standard Webhooks: url (https, or http to this machine), "
            + "secretFile (whsec_…, not readable by others) and events (all, if left out).")
    static let queue = Setting<Int>(
        "webhookQueue", 100_000, in: 100...1_000_000,
        about: "How many events may wait for one endpoint, with at most 1 KiB of Redis' memory for each of them on "
            + "average. Beyond it, those of the user with most are dropped, then those whose next attempt is furthest away."
    )
}
