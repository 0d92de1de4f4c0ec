/// The limits that somebody can meet, by their names on the metrics page.
package enum Limit: String, CaseIterable {
    /// Connections of the whole process.
    case connections
    case connectionsPerAddress = "connections_per_address"
    case connectionsPerUser = "connections_per_user"
    /// Requests of one connection, in time.
    case requests
    /// Requests of one user on one shard, in time.
    case userRequests = "user_requests"
    /// Tokens from one address that let nobody in, in time.
    case failedTokens = "failed_tokens"
    /// People and conversations watched by one connection.
    case subscriptions
    /// What waits for all connections of the process that do not take it.
    case outboxBytes = "outbox_bytes"
    /// What is held of requests and messages that have not come whole.
    case inboxBytes = "inbox_bytes"
    /// What waits for Redis.
    case redisBytes = "redis_bytes"
}
