import Foundation
import PresenceKit
import PresenceProtocol

// HTTP in memory.
extension InMemoryServer: HTTPTransport {
    /// Reports half of the body as sent, waits as the test has set, and then responds.
    package func send(
        _ request: HTTPRequest, progress: (@Sendable (_ sentBytes: Int) -> Void)?
    ) async throws -> HTTPResponse {
        let body = try request.body ?? request.bodyFile.map { try Data(contentsOf: $0) } ?? Data()
        var asked = Self.object(body) ?? [:]
        let line = "\(request.method) \(request.url.path)"
        asked["type"] = line
        let query = URLComponents(url: request.url, resolvingAgainstBaseURL: true)?.queryItems ?? []
        for item in query { asked[item.name] = item.value }
        let due = try change { [asked] state in
            guard state.isThere else { throw HTTPFailure("the test is offline", wasSent: false) }
            state.asked.append(asked)
            return state.delay.map { clock.now.advanced(by: $0) }
        }
        if !body.isEmpty { progress?(body.count / 2) }
        if let due { try await clock.sleep(until: due) }
        await waitWhileHeld()
        try Task.checkCancellation()
        progress?(body.count)
        let (token, contentType) = (request.headers["Authorization"], request.headers["Content-Type"] ?? "")
        let response = change { [asked] in
            $0.respond(to: line, asked, body, contentType, token?.replacing("Bearer ", with: ""))
        }
        return try request.download.map { try response.written(to: $0) } ?? response
    }

    /// Waits until the test releases the request, or its task is cancelled.
    private func waitWhileHeld() async {
        let number = state.withLock { state in
            state.lastHeld += 1
            return state.lastHeld
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isHeld = state.withLock { state in
                    guard state.isHolding, !Task.isCancelled else { return false }
                    state.held[number] = continuation
                    return true
                }
                if !isHeld { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.held.removeValue(forKey: number) }?.resume()
        }
    }
}

extension InMemoryServer.State {
    mutating func respond(
        to line: String, _ asked: Object, _ body: Data, _ contentType: String, _ token: String?
    ) -> HTTPResponse {
        if let refusal = takeRefusal(line) {
            let error = ["type": "error", "message": "no"].merging(refusal) { $1 }
            return .json(error, status: Self.status(of: refusal["code"] as? String ?? ""))
        }
        do throws(Refusal) {
            if let response = try openRequest(line, asked) { return response }
            if line.hasPrefix("GET /v1/usernames/"), !line.hasSuffix("/user") { return try username(line, token) }
            guard let token, let user = try user(of: token)?.string else { throw .unauthorized(nil) }
            if let grant = grant(of: token), let response = try accountRequest(line, asked, body, user, grant) {
                return response
            }
            return try request(line, asked, body, contentType, user)
        } catch {
            let object = InMemoryServer.object(ServerMessage.error(error).encoded()) ?? [:]
            return .json(object, status: Self.status(of: error.code.rawValue))
        }
    }

    private mutating func request(
        _ line: String, _ asked: Object, _ body: Data, _ contentType: String, _ user: String
    ) throws(Refusal) -> HTTPResponse {
        let parts = line.split(separator: "/")
        switch line {
        case "PUT /v1/me/devices/current": devices[user] = asked.filter { $0.key != "type" }
        case "DELETE /v1/me/devices/current": devices[user] = nil
        case "GET /v1/server": return .json(capabilities)
        case "GET /v1/people":
            return try people(asked.compactMapValues { $0 as? String }, for: UserID(user)!)
        case "POST /v1/reports": return try report(asked, by: user)
        case "GET /v1/me/export": return export(of: user)
        case "GET /v1/me/notificationSettings": return .json(settings(of: user))
        case "PUT /v1/me/notificationSettings": return .json(try setSettings(asked, of: user))
        case let line where line.hasPrefix("GET /v1/usernames/"):
            guard let found = find(String(parts[3]), by: UserID(user)!) else {
                throw Refusal(code: .notFound, message: "no such user")
            }
            return .json(found)
        case let line where line.hasPrefix("POST /v1/conversations/"):
            return try upload(body, contentType, to: String(parts[3]), by: user)
        default: throw Refusal(code: .notFound, message: "no such path")
        }
        return HTTPResponse(status: 204)
    }

    /// Stores a file; a picture gets a thumbnail.
    private mutating func upload(
        _ body: Data, _ contentType: String, to talk: String, by user: String
    ) throws(Refusal) -> HTTPResponse {
        guard talks[talk]?.members.contains(user) == true else { throw .forbidden("not a member") }
        uploads.append(body)
        let id = "upload-\(uploads.count)"
        let isImage = ["image/jpeg", "image/png"].contains(contentType)
        var attachment: Object = [
            "id": id, "kind": isImage ? "image" : contentType.hasPrefix("video/") ? "video" : "file",
            "url": "https://example.org/\(id)", "sizeBytes": body.count,
        ]
        if isImage { attachment["thumbnailURL"] = "https://example.org/\(id)-small" }
        return .json(["attachment": attachment], status: 201)
    }

    // MARK: Usernames

    /// Whether a name is available; a token distinguishes the user's own.
    private func username(_ line: String, _ token: String?) throws(Refusal) -> HTTPResponse {
        let name = String(line.dropFirst("GET /v1/usernames/".count))
        let reason = availability(
            of: name, for: try token.flatMap { (token) throws(Refusal) in try user(of: token)?.string })
        var answer: Object = ["username": name, "available": reason == nil]
        answer["reason"] = reason
        return .json(answer)
    }

    // MARK: Tokens

    /// The user that a token names; `nil` if it names none.
    ///
    /// - Throws: `unauthorized` if its session has ended.
    func user(of token: String) throws(Refusal) -> UserID? {
        guard let user = PresenceClient.user(of: token) else { return nil }
        if claims(of: token)["sid"] != nil, grant(of: token) == nil { throw .unauthorized(nil) }
        return UserID(user)
    }

    /// The session of a token of an account.
    func grant(of token: String) -> Int? {
        guard let id = claims(of: token)["sid"] as? Int, grants[id] != nil else { return nil }
        return id
    }

    private func claims(of token: String) -> Object {
        let parts = token.split(separator: ".")
        guard parts.count == 3 else { return [:] }
        var text = String(parts[1]).replacing("-", with: "+").replacing("_", with: "/")
        while text.count % 4 != 0 { text += "=" }
        return Data(base64Encoded: text).flatMap { InMemoryServer.object($0) } ?? [:]
    }

    private static func status(of code: String) -> Int {
        switch code {
        case "unauthorized": 401
        case "forbidden": 403
        case "not_found", "not_offered": 404
        case "conflict": 409
        case "too_large": 413
        case "validation_failed": 422
        case "rate_limited": 429
        case "unavailable": 503
        default: 400
        }
    }
}

extension HTTPResponse {
    /// The response of a download, whose body is in a file.
    func written(to download: HTTPRequest.Download) throws -> HTTPResponse {
        guard (200..<300).contains(status) else { return self }
        try body.write(to: download.file)
        download.progress(body.count, body.count)
        return HTTPResponse(status: status, headers: headers)
    }

    static func json(_ object: InMemoryServer.Object, status: Int = 200) -> HTTPResponse {
        HTTPResponse(
            status: status, headers: ["content-type": "application/json"], body: Data(InMemoryServer.bytes(object)))
    }
}
