import Installation
import Logging
import Redis
import Tokens
import WebSockets

extension AddressBudget {
    /// The budget for incomplete requests and messages.
    package convenience init(_ limits: ServerConfiguration.Limits) {
        self.init(limits.inboxBytes, countsLoopback: limits.limitLoopback)
    }
}

extension Shard {
    /// The parts of a shard, and those that it shares with the other shards of its process.
    package struct Parts: Sendable {
        package let configuration: ServerConfiguration
        package let authenticator: Authenticator
        package let redis: RedisLocation
        package let places: ConnectionPlaces
        package let addresses: AddressLimits
        package let failedTokens: FailedTokens
        package let outboxes: OutboxBudget
        package let inbox: AddressBudget
        package let workers: WorkerPools
        package let transfers: Transfers
        package let shared: SharedObjects
        /// No other process uses this Redis.
        package let isAlone: Bool
        package let logger: Logger
        package let name: String
        package let place: (number: Int, of: Int)
        /// `nil` without TLS.
        package let identity: TLSIdentity?
        package let features: [any Feature.Type]

        package init(
            configuration: ServerConfiguration, authenticator: Authenticator, redis: RedisLocation,
            places: ConnectionPlaces,
            addresses: AddressLimits, failedTokens: FailedTokens, outboxes: OutboxBudget, inbox: AddressBudget,
            workers: WorkerPools, transfers: Transfers, shared: SharedObjects, isAlone: Bool, logger: Logger,
            name: String, place: (number: Int, of: Int),
            identity: TLSIdentity?,
            features: [any Feature.Type]
        ) {
            self.configuration = configuration
            self.authenticator = authenticator
            self.redis = redis
            self.places = places
            self.addresses = addresses
            self.failedTokens = failedTokens
            self.outboxes = outboxes
            self.inbox = inbox
            self.workers = workers
            self.transfers = transfers
            self.shared = shared
            self.isAlone = isAlone
            self.logger = logger
            self.name = name
            self.place = place
            self.identity = identity
            self.features = features
        }
    }
}
