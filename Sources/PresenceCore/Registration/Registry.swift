import PresenceProtocol
import WebSockets

/// The registrations of a shard's features: by type of request, letter of event, path of call, …
package struct Registry {
    var requests: [RequestName: RegisteredRequest] = [:]
    /// Handlers, by the first byte of an event.
    package private(set) var events: [((StoreEvent) -> Void)?] = Array(repeating: nil, count: 256)
    /// Whether the event is only for shards with watchers, by the same byte.
    private(set) var isForWatchers = Array(repeating: false, count: 256)
    private(set) var mayOffer = Array(repeating: true, count: 256)
    private(set) var deadlines: [(DeadlineKey) -> Void] = []
    package private(set) var ownMessages: [(Connection) -> [UInt8]] = []
    package private(set) var routes: [HTTPRouteEntry] = []
    var bearers: [BearerKind] = []
    private(set) var metrics: [FeatureMetric] = []
    private(set) var topicKinds: [any TopicKind] = []
    private(set) var intents: [String: IntentExecutor] = [:]

    // MARK: Sessions and users: what features do each time, in the order of the features

    /// `connected` was sent to a client: first messages follow now.
    package var sessionGreeted: [(Session) -> Void] = []
    /// A client has reported whether its user is active, or whether it is in the background.
    package var activityChanged: [(Session) -> Void] = []
    /// A session of this shard has ended.
    package var sessionEnded: [(Session) -> Void] = []
    /// A user has chosen a status, whether this shard has the user or not.
    package var statusChosen: [(ChosenStatus, UserID) -> Void] = []
    /// The chosen status of a user of this shard has become known or was corrected.
    package var statusKnown: [(LocalUser) -> Void] = []
    /// The visibility of a user of this shard has become known, or has changed.
    package var visibilityKnown: [(LocalUser) -> Void] = []

    // MARK: Events and deadlines

    /// An event of the scripts, by its letter.
    ///
    /// - Parameters:
    ///   - audience: Its receivers with `redis.interests`: all shards, or only those that watch its subject (`publish` in
    ///   lib.lua).
    ///   - offers: Whether a script may `offer` something with it (lib.lua).
    package mutating func event(
        _ letter: Unicode.Scalar, for audience: EventAudience = .shards, offers: Bool = false,
        _ handle: @escaping (StoreEvent) -> Void
    ) {
        precondition(letter.isASCII && events[Int(letter.value)] == nil, "two features register the event \(letter)")
        let isCore = [StoreEvent.presence, StoreEvent.profile, StoreEvent.request].contains(UInt8(letter.value))
        precondition(!isCore, "the event \(letter) is the core's")
        events[Int(letter.value)] = handle
        isForWatchers[Int(letter.value)] = audience == .watchers
        mayOffer[Int(letter.value)] = offers
    }

    /// A kind of deadline: the shard calls `handle` with the key of the deadline.
    package mutating func deadline(_ handle: @escaping (DeadlineKey) -> Void) -> DeadlineKind {
        deadlines.append(handle)
        return DeadlineKind(index: UInt8(deadlines.count - 1))
    }

    // MARK: Messages and topics

    /// A message to a user's own connections of which only the newest counts: `encode` creates its frame when a
    /// connection is written to, or returns `[]` if there is nothing to send.
    package mutating func ownMessage(_ encode: @escaping (Connection) -> [UInt8]) -> OwnMessages {
        precondition(ownMessages.count < 8)
        ownMessages.append(encode)
        return OwnMessages(rawValue: 1 << UInt8(ownMessages.count - 1))
    }

    /// A kind of topics that connections can watch, besides people.
    package mutating func topics(_ kind: any TopicKind) -> TopicKindID {
        precondition(topicKinds.count < Int(UInt8.max), "there are too many kinds of topics")
        topicKinds.append(kind)
        return TopicKindID(rawValue: UInt8(topicKinds.count))
    }

    // MARK: Intents

    /// A kind of changes that span partitions (`Intents`).
    ///
    /// - Parameters:
    ///   - name: For Redis; without spaces, never changed.
    ///   - resume: Reads the state of a subject's intent, and continues from there.
    @discardableResult
    package mutating func intents(_ name: String, resume: @escaping IntentExecutor) -> IntentKind {
        precondition(!name.contains(" "), "the kind of intents \(name) contains a space")
        precondition(intents.updateValue(resume, forKey: name) == nil, "two features register the intents \(name)")
        return IntentKind(name: name)
    }

    // MARK: HTTP

    /// An HTTP call.
    ///
    /// - Parameters:
    ///   - path: `/v1/users/{id}/profile`: each `{id}` stands for one id, percent-encoded, and each `{text}` for any
    ///     text, which the feature validates.
    ///   - audience: The allowed callers. If no token is needed and the call has no valid one, `call.caller` is
    ///     `anyone`.
    ///   - scope: The right that keys of backends need. A call for backends has one.
    ///   - limits: Checked by the request's head, like its token. Bodies are collected in memory, so the longest
    ///     allowed is
    ///   ``RouteLimits/mostCollected``.
    package mutating func route(
        _ method: String, _ path: String, for audience: Route.Audience = .backends, scope: CallScope? = nil,
        limits: RouteLimits = .init(),
        _ handle: @escaping (HTTPCall) throws(DecodingFailure) -> Void
    ) {
        precondition(
            limits.bodyBytes <= RouteLimits.mostCollected, "\(path) keeps too much in memory: make it an upload")
        let route = HTTPRouteEntry(
            method: method, path: path, audience: audience, scope: scope, limits: limits, handle: handle)
        add(route, path)
    }

    /// A call that takes several steps: `answer` runs as a task of the shard. An error that it throws is the response.
    package mutating func route(
        _ method: String, _ path: String, for audience: Route.Audience = .backends, scope: CallScope? = nil,
        limits: RouteLimits = .init(),
        answer: @escaping (HTTPCall) async throws -> HTTPResponse
    ) {
        route(method, path, for: audience, scope: scope, limits: limits) { call in call.perform(answer) }
    }

    /// A call whose body is written to a file in the data directory, in pieces, at the speed of disk and client.
    /// `answer` gets the complete file; an error that it throws is the response. Afterwards the file is deleted unless
    /// it was kept (``UploadedFile/keep(at:)``, in a job). It is deleted too if the connection or the process ends
    /// before.
    ///
    /// The head is checked for: token, audience, rates, the length (411 without one, 413), no other upload of the user
    /// in progress (429), fewer than `limits.uploads` in the process (503), and space on the disk (503). Only then a
    /// client that sends `Expect: 100-continue` gets the 100. At the end, a revoked token is rejected again.
    ///
    /// - Parameters:
    ///   - limits: Its `bodyBytes` may be any number.
    ///   - judge: Further checks of the head, after token, audience and rates.
    package mutating func upload(
        _ method: String, _ path: String, for audience: Route.Audience = .users, limits: RouteLimits,
        judge: UploadJudge? = nil, answer: @escaping (HTTPCall, UploadedFile) async throws(Refusal) -> HTTPResponse
    ) {
        let route = HTTPRouteEntry(
            method: method, path: path, audience: audience, limits: limits, isUpload: true, judge: judge
        ) { call in
            call.perform { (call) async throws(Refusal) in
                guard let file = call.file else { throw Refusal(.badRequest, "a body is needed") }
                return try await answer(call, file)
            }
        }
        add(route, path)
    }

    private mutating func add(_ route: HTTPRouteEntry, _ path: String) {
        precondition(!routes.contains { $0.collides(with: route) }, "two features register \(route.method) \(path)")
        precondition(!Route.isCore(path), "the path \(path) is the core's")
        precondition(route.audience != .backends || route.scope != nil, "\(route.method) \(path) has no scope")
        routes.append(route)
    }

    // MARK: Metrics

    /// A counter; the page shows the sum over all shards, with `presence_` before the name.
    package mutating func counter(_ name: String, help: String) -> MetricCounter {
        let counter = MetricCounter()
        add(FeatureMetric(name: name, type: "counter", help: help) { counter.value })
        return counter
    }

    /// A gauge that is read for each page; the page shows the sum over all shards.
    package mutating func gauge(_ name: String, help: String, read: @escaping () -> Int) {
        add(FeatureMetric(name: name, type: "gauge", help: help, read: read))
    }

    private mutating func add(_ metric: FeatureMetric) {
        precondition(!metrics.contains { $0.name == metric.name }, "two features register the metric \(metric.name)")
        precondition(!metric.name.hasPrefix("presence_"), "the page puts presence_ before \(metric.name)")
        precondition(!MetricsSnapshot.isCore(metric.name), "the metric \(metric.name) is the core's")
        metrics.append(metric)
    }
}

/// The receivers of an event of the scripts, with `redis.interests`.
package enum EventAudience {
    /// All shards.
    case shards
    /// Shards that watch its subject.
    case watchers
}

/// A feature's counter.
package final class MetricCounter {
    package var value = 0
}

package struct FeatureMetric {
    package let name: String
    package let type: String
    let help: String
    package let read: () -> Int
}

/// Messages to a user's own connections that wait to be written, as bits.
package struct OwnMessages: OptionSet {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }
}

/// The kind of a deadline, as registered by a feature.
package struct DeadlineKind: Equatable {
    package let index: UInt8
}

/// The subject of a feature's deadline.
package enum DeadlineKey: Equatable {
    case none
    case number(UInt64)
    case id(Identifier)
}
