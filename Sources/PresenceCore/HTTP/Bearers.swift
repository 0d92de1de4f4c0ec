import PresenceProtocol
import Tokens
import WebSockets

/// A right that a call needs: `users:read`. Each call for backends has exactly one.
package struct CallScope: Hashable, Sendable {
    package let name: String

    package init(_ name: String) { self.name = name }

    package static let usersRead = CallScope("users:read")
    package static let usersWrite = CallScope("users:write")
}

/// A kind of bearer tokens of backends that are not signed: a feature looks up each of them.
struct BearerKind {
    /// The beginning of these tokens, which no signed token has.
    let prefix: String
    let look: (String) async throws(Refusal) -> BearerVerdict
}

/// A feature's verdict about a bearer token.
package enum BearerVerdict {
    /// It may make the calls of these scopes.
    case valid(Set<CallScope>)
    /// The sentence has the reason, without any part of the token.
    case refused(String)
}

extension Registry {
    /// A kind of bearer tokens of backends. `look` runs as a task of the shard, at each call with such a token.
    ///
    /// - Parameter prefix: The beginning of these tokens, which no signed token has.
    package mutating func bearers(
        prefix: String, look: @escaping (String) async throws(Refusal) -> BearerVerdict
    ) {
        precondition(bearerKind(of: prefix) == nil, "two features register the bearers \(prefix)")
        bearers.append(BearerKind(prefix: prefix, look: look))
    }

    func bearerKind(of token: String) -> BearerKind? { bearers.first { token.hasPrefix($0.prefix) } }
}

extension HTTPAPI {
    /// Checks the bearer of a call. No verdict is kept: a token that ends has no effect on any server from then on, and a
    /// server that cannot look accepts none.
    func judge(
        _ bearer: String, _ request: HTTPRequest, _ entry: HTTPRouteEntry,
        found: @escaping (Result<Admission, HeadRefusal>) -> Void
    ) {
        let address = logic.failedTokens.block(of: request.peer)
        if let wait = logic.failedTokens.wait(address, at: logic.clock.now) {
            return found(.failure(tooManyFailedTokens(retryAfter: wait)))
        }
        look(up: bearer, entry, from: request.peer) { refusal in
            found(
                refusal.map { .failure($0) }
                    ?? .success(Admission(caller: .backend, bearer: bearer, at: logic.clock.now)))
        }
    }

    /// - Parameter answer: Called with the rejection; `nil` if the bearer may make the call.
    func look(
        up bearer: String, _ entry: HTTPRouteEntry, from peer: PeerAddress, answer: @escaping (HeadRefusal?) -> Void
    ) {
        guard let kind = logic.registry.bearerKind(of: bearer), logic.link.isLive else {
            return answer(Self.revocationUnknown)
        }
        logic.tasks.run {
            do throws(Refusal) {
                switch try await kind.look(bearer) {
                case .valid(let scopes): answer(Self.refusal(entry, for: scopes))
                case .refused(let reason):
                    logic.recordFailedToken(from: logic.failedTokens.block(of: peer))
                    answer(HeadRefusal(response: Self.unauthorized(reason)))
                }
            } catch {
                answer(HeadRefusal(response: error.response))
            }
        }
    }

    private static func refusal(_ entry: HTTPRouteEntry, for scopes: Set<CallScope>) -> HeadRefusal? {
        var error = ServerMessage.ErrorMessage(code: .forbidden, message: "no key may do this")
        if let scope = entry.scope {
            if scopes.contains(scope) { return nil }
            error.message = "this key may not do this: it needs the scope \(scope.name)"
            error.scope = scope.name
        }
        return HeadRefusal(response: .error(403, error))
    }
}
