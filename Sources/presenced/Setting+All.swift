import Logging
import PresenceServer

extension Setting {
    /// Every key that there is, in the order of config/presenced.yaml.
    static let all: [Setting] = [
        .text("host", \.host),
        .number("port", \.port),
        .flag("sharePort", \.sharePort),
        .numberOrAutomatic("shards", \.shards),
        .optionalText("dataDirectory", \.dataDirectory),
        .number("partitions", \.partitions),

        .optionalText("redis.url", \.redis.url),
        .word("redis.appendfsync", \.redis.appendfsync),
        .number("redis.wait", \.redis.wait),

        .duration("heartbeat.interval", \.heartbeat.interval),
        .duration("heartbeat.timeout", \.heartbeat.timeout),
        .duration("linger", \.linger),
        .duration("lease.duration", \.lease.duration),
        .duration("lease.renewal", \.lease.renewal),
        .duration("lease.sweep", \.lease.sweep),
        .duration("typing.expiry", \.typing.expiry),
        .duration("connectTimeout", \.connectTimeout),
        .duration("tokenExpiringNotice", \.tokenExpiringNotice),
        .duration("slowConsumer.timeout", \.slowConsumer.timeout),
        .duration("commandTimeout", \.commandTimeout),
        .duration("staleAfter", \.staleAfter),
        .duration("drain.timeout", \.drain.timeout),

        .number("limits.maxMessageBytes", \.limits.maxMessageBytes),
        .number("limits.maxServerMessageBytes", \.limits.maxServerMessageBytes),
        .number("limits.subscriptions", \.limits.subscriptions),
        .number("limits.subscribeBatch", \.limits.subscribeBatch),
        .number("limits.participants", \.limits.participants),
        .number("limits.conversationsPerUser", \.limits.conversationsPerUser),
        .number("limits.contacts", \.limits.contacts),
        .number("limits.blocks", \.limits.blocks),
        .numberOrAutomatic("limits.maxConnections", \.limits.maxConnections),
        .number("limits.pendingRequests", \.limits.pendingRequests),
        .number("limits.badRequests", \.limits.badRequests),

        .keys("auth.keys", \.auth.keys),
        .optionalText("auth.jwksFile", \.auth.jwksFile),
        .optionalText("auth.issuer", \.auth.issuer),
        .optionalText("auth.audience", \.auth.audience),

        .word("logLevel", \.logLevel),
    ]
}
