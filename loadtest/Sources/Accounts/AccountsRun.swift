import Foundation

/// The calls about accounts, one kind after the other, and many sign-ins at one moment.
struct AccountsRun {
    let clients: HTTPClients
    let atOnce: Int
    private let people: [String]
    private var tokens: [Tokens?]
    /// The next client's address.
    private var addresses = 0
    private(set) var measured: [Measured] = []

    /// Not on the list of common passwords.
    private static let password = "load test of accounts"
    private static let decoder = JSONDecoder()

    private struct Tokens: Decodable {
        var accessToken: String
        var refreshToken: String
    }

    /// One kind of call.
    struct Measured: Encodable {
        let name: String
        var calls = 0
        var seconds = 0.0
        var callsPerSecond: Double { Double(calls) / max(seconds, 1e-9) }
        var latencyMilliseconds: Latencies.Summary?
        /// Unexpected answers, by their status.
        var failed: [Int: Int] = [:]

        enum CodingKeys: CodingKey { case name, calls, seconds, callsPerSecond, latencyMilliseconds, failed }

        func encode(to encoder: any Encoder) throws {
            var values = encoder.container(keyedBy: CodingKeys.self)
            try values.encode(name, forKey: .name)
            try values.encode(calls, forKey: .calls)
            try values.encode(seconds, forKey: .seconds)
            try values.encode(callsPerSecond, forKey: .callsPerSecond)
            try values.encodeIfPresent(latencyMilliseconds, forKey: .latencyMilliseconds)
            try values.encode(Dictionary(uniqueKeysWithValues: failed.map { (String($0), $1) }), forKey: .failed)
        }
    }

    /// Many sign-ins at one moment.
    struct Burst: Encodable {
        let signIns: Int
        var began = Instant.now()
        var ended = Instant.now()
        var signedIn = 0
        /// Answers 503 with `retryAfter` and the header.
        var told = 0
        /// Other answers, by their status.
        var failed: [Int: Int] = [:]
        var signedInMilliseconds: Latencies.Summary?
        var toldMilliseconds: Latencies.Summary?

        enum CodingKeys: CodingKey { case signIns, seconds, signedIn, told, signedInMilliseconds, toldMilliseconds }

        func encode(to encoder: any Encoder) throws {
            var values = encoder.container(keyedBy: CodingKeys.self)
            try values.encode(signIns, forKey: .signIns)
            try values.encode((ended - began).inSeconds, forKey: .seconds)
            try values.encode(signedIn, forKey: .signedIn)
            try values.encode(told, forKey: .told)
            try values.encodeIfPresent(signedInMilliseconds, forKey: .signedInMilliseconds)
            try values.encodeIfPresent(toldMilliseconds, forKey: .toldMilliseconds)
        }
    }

    init(clients: HTTPClients, people count: Int, name: String, atOnce: Int) {
        self.clients = clients
        self.atOnce = atOnce
        people = (0..<count).map { "load-\(name)-\($0)@example.org" }
        tokens = Array(repeating: nil, count: count)
    }

    mutating func signUp() throws(Failure) {
        let people = people
        try measure("sign-ups", people.count, expected: 201, keepsTokens: true) { number in
            HTTPCall(method: "POST", path: "/v1/accounts", body: Self.credentials(people[number]))
        }
    }

    mutating func signIn(_ count: Int) throws(Failure) {
        let people = people
        try measure("sign-ins", count, expected: 200, keepsTokens: true) { number in
            HTTPCall(method: "POST", path: "/v1/sessions", body: Self.credentials(people[number % people.count]))
        }
    }

    /// Each person's token is used once in a round, as by a device that waits for its answer.
    mutating func refresh(_ count: Int) throws(Failure) {
        var left = count
        while left > 0 {
            let tokens = tokens
            let round = min(left, people.count)
            try measure("refreshes", round, expected: 200, keepsTokens: true) { number in
                let token = tokens[number]?.refreshToken ?? ""
                return HTTPCall(
                    method: "POST", path: "/v1/sessions/refresh", body: #"{"refreshToken":"\#(token)"}"#)
            }
            left -= round
        }
    }

    mutating func read(_ count: Int) throws(Failure) {
        let tokens = tokens
        try measure("GET /v1/me", count, expected: 200) { number in
            HTTPCall(method: "GET", path: "/v1/me", token: tokens[number % tokens.count]?.accessToken)
        }
    }

    mutating func checkNames(_ count: Int) throws(Failure) {
        try measure("name checks", count, expected: 200) { number in
            HTTPCall(method: "GET", path: "/v1/usernames/load.name\(number)")
        }
    }

    /// - Parameter count: at most three for each person: more at one moment count as guesses, which are slowed down.
    mutating func burst(_ count: Int) throws(Failure) -> Burst {
        var burst = Burst(signIns: count)
        var (signedIn, told) = (Latencies(), Latencies())
        let people = people
        try clients.make(count, atOnce: count, from: addresses) { number in
            HTTPCall(method: "POST", path: "/v1/sessions", body: Self.credentials(people[number % people.count]))
        } answered: { _, answer, latency in
            switch answer.status {
            case 200:
                burst.signedIn += 1
                signedIn.record(latency)
            case 503 where answer.saysWhen:
                burst.told += 1
                told.record(latency)
            default: burst.failed[answer.status, default: 0] += 1
            }
        }
        addresses += count
        burst.ended = .now()
        (burst.signedInMilliseconds, burst.toldMilliseconds) = (signedIn.summary, told.summary)
        return burst
    }

    private static func credentials(_ email: String) -> String {
        #"{"email":"\#(email)","password":"\#(password)","device":{"kind":"phone","name":"load"}}"#
    }

    private var latencies: [String: Latencies] = [:]

    /// Measurements with the same name are merged.
    private mutating func measure(
        _ name: String, _ count: Int, expected: Int, keepsTokens: Bool = false, call: (Int) -> HTTPCall
    ) throws(Failure) {
        if measured.last?.name != name { measured.append(Measured(name: name)) }
        var result = measured.removeLast()
        var times = latencies[name] ?? Latencies()
        var tokens = tokens
        let began = Instant.now()
        try clients.make(count, atOnce: atOnce, from: addresses, call: call) { number, answer, latency in
            times.record(latency)
            guard answer.status == expected else { return result.failed[answer.status, default: 0] += 1 }
            guard keepsTokens else { return }
            tokens[number % tokens.count] = try? Self.decoder.decode(Tokens.self, from: Data(answer.body))
        }
        addresses += count
        result.calls += count
        result.seconds += (Instant.now() - began).inSeconds
        result.latencyMilliseconds = times.summary
        latencies[name] = times
        self.tokens = tokens
        measured.append(result)
    }
}
