/// The limits that clients can meet, by their names on the metrics page.
package enum Limit: String, CaseIterable {
    /// Connections of the whole process.
    case connections
    case connectionsPerAddress = "connections_per_address"
    case connectionsPerUser = "connections_per_user"
    /// Request rate of one connection.
    case requests
    /// Request rate of one user on one shard.
    case userRequests = "user_requests"
    /// Bytes of messages of one user on one shard, as a rate.
    case userBytes = "user_bytes"
    /// Rate of calls without a token from one address.
    case addressRequests = "address_requests"
    /// Concurrent uploads of the whole process, from one address, and of one user.
    case uploads
    case uploadsPerAddress = "uploads_per_address"
    case userUploads = "user_uploads"
    /// Concurrent downloads of files of the whole process, and to one address.
    case downloads
    case downloadsPerAddress = "downloads_per_address"
    /// Rates of one address: accounts created and mails requested, and passwords tried.
    case signUps = "sign_ups"
    case guesses
    /// Passwords from one address that are being hashed or wait to be hashed.
    case workPerAddress = "work_per_address"
    /// Processor time for decoding pictures of one user, or from one address, as a rate.
    case decoding
    /// Rate of failed tokens from one address.
    case failedTokens = "failed_tokens"
    /// Disk space that uploads must leave free.
    case diskReserve = "disk_reserve"
    /// People and conversations watched by one connection.
    case subscriptions
    /// Pending bytes of the process for connections that accept no more.
    case outboxBytes = "outbox_bytes"
    /// Bytes of incomplete requests and messages.
    case inboxBytes = "inbox_bytes"
    /// Bytes that wait for Redis.
    case redisBytes = "redis_bytes"
}
