import PresenceCore
import PresenceProtocol

/// The body of `PUT /v1/me/notificationSettings`. A missing member has its default.
extension NotificationSettings {
    static let mostKinds = 100

    init(_ body: UnsafeRawBufferPointer) throws(DecodingFailure) {
        self.init()
        var members = try RequestBody.object(body)
        var settings = self
        try members.forEachMember { (key, value) throws(DecodingFailure) in
            guard value.kind != .null else { return }
            switch key.string {
            case "kinds": settings.kinds = try Self.kinds(value)
            case "messages":
                try value.eachMember("messages") { (name, value) throws(DecodingFailure) in
                    switch name {
                    case "direct": settings.messages.direct = try Self.scope(value, "direct")
                    case "groups": settings.messages.groups = try Self.scope(value, "groups")
                    default: break
                    }
                }
            case "preview": settings.preview = try value.checkedBool("preview")
            case "quiet": settings.quiet = try QuietHours(value)
            case "whileBusy": settings.whileBusy = try value.checkedCase(of: WhileBusy.self, "whileBusy")
            default: break
            }
        }
        self = settings
    }

    private static func kinds(_ value: JSONValue) throws(DecodingFailure) -> [String: Kind] {
        var kinds: [String: Kind] = [:]
        var isNamed = true
        try value.eachMember("kinds") { (name, value) throws(DecodingFailure) in
            isNamed = isNamed && CreationKey(name) != nil
            guard isNamed, kinds.count <= mostKinds else { return }
            var kind = Kind()
            try value.eachMember(name) { (member, value) throws(DecodingFailure) in
                switch member {
                case "inbox": kind.inbox = try value.checkedBool("inbox")
                case "push": kind.push = try value.checkedBool("push")
                default: break
                }
            }
            kinds[name] = kind
        }
        guard isNamed else {
            throw .invalid(
                "kinds", "must have names of 1 to \(CreationKey.maximumLength) bytes of printable ASCII without space")
        }
        guard kinds.count <= mostKinds else {
            throw DecodingFailure(code: .tooMany, message: "at most \(mostKinds) kinds", field: "kinds")
        }
        return kinds
    }

    /// `mentions` is for messages that name a user. There are none yet, so what it asks for could not be done.
    private static func scope(_ value: JSONValue, _ field: String) throws(DecodingFailure) -> Scope {
        if value.string == "mentions" {
            throw .invalid(field, "cannot be mentions yet: messages of this server mention nobody")
        }
        return try value.checkedCase(of: Scope.self, field)
    }
}

extension QuietHours {
    init(_ value: JSONValue) throws(DecodingFailure) {
        var (timezone, from, to): (String?, Time?, Time?)
        var days = Array<Int64>(1...7)
        var allow: [Exception] = []
        try value.eachMember("quiet") { (name, value) throws(DecodingFailure) in
            switch name {
            case "timezone": timezone = try value.checkedString(name)
            case "from": from = try Self.time(value, name)
            case "to": to = try Self.time(value, name)
            case "days":
                days = try value.elements(name) { (element) throws(DecodingFailure) in
                    let day = try element.checkedInteger("days")
                    guard (1...7).contains(day) else { throw .invalid("days", "must be from 1 (Monday) to 7 (Sunday)") }
                    return day
                }
                guard !days.isEmpty else { throw .invalid(name, "must name a day") }
                days = Set(days).sorted()
            case "allow":
                allow = try value.elements(name) { (element) throws(DecodingFailure) in
                    try element.checkedCase(of: Exception.self, "allow")
                }
                allow = Exception.allCases.filter(allow.contains)
            default: break
            }
        }
        guard let timezone else { throw .missing("timezone").inside("quiet") }
        guard let from else { throw .missing("from").inside("quiet") }
        guard let to else { throw .missing("to").inside("quiet") }
        self.init(timezone: timezone, from: from, to: to, days: days, allow: allow)
    }

    private static func time(_ value: JSONValue, _ field: String) throws(DecodingFailure) -> Time {
        guard let time = Time(try value.checkedString(field)) else {
            throw .invalid(field, "must be a time from 00:00 to 23:59, such as 22:00")
        }
        return time
    }
}

extension JSONValue {
    /// The members of an object that are not null. A failure names the member inside of `field`.
    fileprivate func eachMember(
        _ field: String, _ body: (_ name: String, _ value: JSONValue) throws(DecodingFailure) -> Void
    ) throws(DecodingFailure) {
        var members = try object(field)
        try members.forEachMember { (key, value) throws(DecodingFailure) in
            guard value.kind != .null, let name = key.string else { return }
            do throws(DecodingFailure) { try body(name, value) } catch { throw error.inside(field) }
        }
    }
}
