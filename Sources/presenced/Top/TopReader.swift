import Foundation
import Installation
import OutgoingHTTP
import PresenceCore
import PresenceProtocol
import Tokens

/// Reads the numbers of a server, and the numbers of all servers from its console.
struct TopReader {
    let place: String
    private let client = OutgoingClient(name: "top", mostRunning: 2, mostQueued: 4)
    private let secret: TokenSecret?
    private let began = ContinuousClock.now

    /// The lifetime of a token for one request, in ms.
    private static let lifetime: Milliseconds = 60_000

    /// - Parameter folder: The data directory of the server. A missing secret is not created. A token is sent only to
    ///   the server of the configuration, or to a `--url` that was given together with `--data-dir`.
    init(_ place: String, secretIn folder: String?) {
        self.place = place.hasSuffix("/") ? String(place.dropLast()) : place
        let directory = folder.flatMap { path in
            FileManager.default.isReadableFile(atPath: path + "/secret") ? try? DataDirectory(path) : nil
        }
        secret = try? directory?.secret()
    }

    func read(into board: inout TopBoard) async {
        do throws(OutgoingFailure) {
            let answer = try await client.send(OutgoingRequest("GET", place + "/metrics"))
            guard answer.status == 200 else {
                board.failure = "HTTP \(answer.status)"
                return
            }
            let at = (ContinuousClock.now - began) / .seconds(1)
            board.add(MetricsText(String(decoding: answer.body, as: UTF8.self)), at: at)
        } catch {
            board.failure = "\(error) at \(place)"
        }
    }

    private struct Servers: Decodable {
        struct Server: Decodable { let state: String }
        let servers: [Server]
    }

    private struct Totals: Decodable { let users: Int }

    /// Users and shards of all servers, if the console has them; and the version.
    func facts(_ version: String?) async -> String {
        var facts: [String] = []
        if let totals: Totals = await fetch("/v1/console/totals") {
            let users = totals.users
            facts.append("\(TopRow.whole(Double(users))) \(users == 1 ? "user" : "users") here")
        }
        if let all: Servers = await fetch("/v1/console/servers") {
            let live = all.servers.count { $0.state == "live" }
            facts.append("\(live) of \(all.servers.count) shards of all servers live")
        }
        if let version { facts.append("version \(version)") }
        return facts.joined(separator: " · ")
    }

    private func fetch<Answer: Decodable>(_ path: String) async -> Answer? {
        guard let secret, let user = UserID("presenced-top") else { return nil }
        let now = Timestamp(Date().timeIntervalSince1970 * 1_000)
        guard
            let token = try? TokenMaker(secret: secret).make(
                user: user, lifetime: Self.lifetime, role: .backend, now: now)
        else { return nil }
        var request = OutgoingRequest("GET", place + path)
        request.headers = [("Authorization", "Bearer \(token)")]
        guard let answer = try? await client.send(request), answer.status == 200 else { return nil }
        return try? JSONDecoder().decode(Answer.self, from: Data(answer.body))
    }
}
