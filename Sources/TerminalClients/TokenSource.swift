import Foundation
import PresenceKit

/// The source of the token. A file is read each time a token is needed, so renewing the token in the file is enough to
/// run indefinitely.
package enum TokenSource: Hashable, Sendable {
    case fixed(String)
    case file(String)

    /// A flag takes precedence over the environment.
    package init(token: String?, file: String?, environment: [String: String]) throws(Failure) {
        if token != nil, file != nil { throw Failure(.usage, "--token and --token-file exclude each other") }
        if let file {
            self = .file(file)
        } else if let token = Self.trimmed(token ?? environment["PRESENCE_TOKEN"] ?? "") {
            self = .fixed(token)
        } else {
            throw Failure(
                .usage, "a token is needed: --token, --token-file or PRESENCE_TOKEN; `presenced token USER` makes one")
        }
        _ = try read()
    }

    /// Whether reading again may return another token.
    package var isRenewable: Bool {
        if case .file = self { true } else { false }
    }

    package func read() throws(Failure) -> String {
        switch self {
        case .fixed(let token): return token
        case .file(let path):
            let data: Data
            do {
                data = try Data(contentsOf: URL(fileURLWithPath: path))
            } catch {
                throw Failure(.usage, "the token file \(path) cannot be read")
            }
            guard let token = Self.trimmed(String(decoding: data, as: UTF8.self)) else {
                throw Failure(.usage, "the token file \(path) is empty")
            }
            return token
        }
    }

    /// Creates a client with this token. A fixed token is not requested again.
    package func client(at address: ServerAddress, device: Device, storage: Storage = .memory()) -> PresenceClient {
        if case .fixed(let token) = self {
            return PresenceClient(url: address.url, token: token, device: device, storage: storage)
        }
        return PresenceClient(
            url: address.url,
            token: {
                do throws(Failure) {
                    return try read()
                } catch {
                    throw PresenceError(.tokenUnavailable, error.sentence)
                }
            },
            device: device, storage: storage)
    }

    private static func trimmed(_ text: String) -> String? {
        let trimmed = text.trimmingCharacters(in: .whitespacesAndNewlines)
        return trimmed.isEmpty ? nil : trimmed
    }
}
