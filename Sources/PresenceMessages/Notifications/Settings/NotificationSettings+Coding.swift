import Foundation

/// The form of the protocol, in which they are also stored.
extension NotificationSettings: Codable {
    private enum CodingKeys: String, CodingKey { case kinds, messages, preview, quiet, whileBusy, version }
    private enum MessageKeys: String, CodingKey { case direct, groups }

    /// Missing members have their defaults.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            kinds: try values.decodeIfPresent([String: Channels].self, forKey: .kinds) ?? [:],
            showsPreview: try values.decodeIfPresent(Bool.self, forKey: .preview) ?? true,
            quiet: try values.decodeIfPresent(QuietHours.self, forKey: .quiet),
            holdsWhileBusy: try values.decodeIfPresent(String.self, forKey: .whileBusy) == "hold")
        version = try values.decodeIfPresent(Int64.self, forKey: .version) ?? 0
        guard values.contains(.messages) else { return }
        let messages = try values.nestedContainer(keyedBy: MessageKeys.self, forKey: .messages)
        direct = try messages.decodeIfPresent(Messages.self, forKey: .direct) ?? .all
        groups = try messages.decodeIfPresent(Messages.self, forKey: .groups) ?? .all
    }

    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encode(kinds, forKey: .kinds)
        try values.encode(showsPreview, forKey: .preview)
        try values.encodeIfPresent(quiet, forKey: .quiet)
        try values.encode(holdsWhileBusy ? "hold" : "push", forKey: .whileBusy)
        try values.encode(version, forKey: .version)
        var messages = values.nestedContainer(keyedBy: MessageKeys.self, forKey: .messages)
        try messages.encode(direct, forKey: .direct)
        try messages.encode(groups, forKey: .groups)
    }
}

extension NotificationSettings.QuietHours: Codable {
    private enum CodingKeys: String, CodingKey { case timezone, from, to, days, allow }

    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            timezone: try values.decode(String.self, forKey: .timezone),
            from: try values.decode(NotificationSettings.Time.self, forKey: .from),
            to: try values.decode(NotificationSettings.Time.self, forKey: .to),
            days: Set(try values.decodeIfPresent([Int].self, forKey: .days) ?? Array(1...7)),
            allowsUrgent: try values.decodeIfPresent([String].self, forKey: .allow)?.contains("urgent") ?? false)
    }

    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encode(timezone, forKey: .timezone)
        try values.encode(from, forKey: .from)
        try values.encode(to, forKey: .to)
        try values.encode(days.sorted(), forKey: .days)
        try values.encode(allowsUrgent ? ["urgent"] : [], forKey: .allow)
    }
}

extension NotificationSettings.Time: Codable {
    /// Reads `22:00`.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.singleValueContainer()
        let parts = try values.decode(String.self).split(separator: ":").compactMap { Int($0) }
        guard parts.count == 2, (0..<24).contains(parts[0]), (0..<60).contains(parts[1]) else {
            throw DecodingError.dataCorruptedError(in: values, debugDescription: "not a time of a day")
        }
        self.init(parts[0], parts[1])
    }

    public func encode(to encoder: any Encoder) throws {
        var value = encoder.singleValueContainer()
        try value.encode([hour, minute].map { $0 < 10 ? "0\($0)" : "\($0)" }.joined(separator: ":"))
    }
}
