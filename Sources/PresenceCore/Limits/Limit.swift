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
    /// Bytes of messages of one user on one shard, in time.
    case userBytes = "user_bytes"
    /// Calls from one address that need no token, in time.
    case addressRequests = "address_requests"
    /// Uploads of the whole process, from one address, and of one user, at a time.
    case uploads
    case uploadsPerAddress = "uploads_per_address"
    case userUploads = "user_uploads"
    /// Files of the whole process that are sent, and those to one address, at a time.
    case downloads
    case downloadsPerAddress = "downloads_per_address"
    /// Accounts made and mails asked for from one address, and passwords tried there, in time.
    case signUps = "sign_ups"
    case guesses
    /// Passwords from one address that are hashed or wait for it, at a time.
    case workPerAddress = "work_per_address"
    /// What decoding pictures of one user, or from one address, takes of a core, in time.
    case decoding
    /// Tokens from one address that let nobody in, in time.
    case failedTokens = "failed_tokens"
    /// What uploads leave free of the disk.
    case diskReserve = "disk_reserve"
    /// People and conversations watched by one connection.
    case subscriptions
    /// What waits for all connections of the process that do not take it.
    case outboxBytes = "outbox_bytes"
    /// What is held of requests and messages that have not come whole.
    case inboxBytes = "inbox_bytes"
    /// What waits for Redis.
    case redisBytes = "redis_bytes"
}
