// The encoding of registers and other objects. Each function appends one JSON object.

extension Presence {
    /// Appends the register, `version` first.
    public func encode(into output: inout [UInt8]) {
        JSONWriter.raw("{\"version\":", to: &output)
        JSONWriter.integer(version, to: &output)
        JSONWriter.member("status", status.rawValue, to: &output)
        if let since { JSONWriter.member("since", since, to: &output) }
        if let lastSeen { JSONWriter.member("lastSeen", lastSeen, to: &output) }
        if let text { JSONWriter.member("text", text, to: &output) }
        if !devices.isEmpty {
            for (index, kind) in devices.enumerated() {
                JSONWriter.raw(index == 0 ? ",\"devices\":[" : ",", to: &output)
                JSONWriter.string(kind.rawValue, to: &output)
            }
            JSONWriter.raw("]", to: &output)
        }
        JSONWriter.raw("}", to: &output)
    }

    public func encoded() -> [UInt8] {
        var output: [UInt8] = []
        encode(into: &output)
        return output
    }
}

extension Profile {
    /// Appends the register, `version` first.
    public func encode(into output: inout [UInt8]) {
        JSONWriter.raw("{\"version\":", to: &output)
        JSONWriter.integer(version, to: &output)
        if let displayName { JSONWriter.member("displayName", displayName, to: &output) }
        if let username { JSONWriter.member("username", username, to: &output) }
        if let photoURL { JSONWriter.member("photoURL", photoURL, to: &output) }
        if let thumbnailURL { JSONWriter.member("thumbnailURL", thumbnailURL, to: &output) }
        if let timezone { JSONWriter.member("timezone", timezone, to: &output) }
        if let locale { JSONWriter.member("locale", locale, to: &output) }
        if let createdAt { JSONWriter.member("createdAt", createdAt, to: &output) }
        if let updatedAt { JSONWriter.member("updatedAt", updatedAt, to: &output) }
        JSONWriter.raw("}", to: &output)
    }

    public func encoded() -> [UInt8] {
        var output: [UInt8] = []
        encode(into: &output)
        return output
    }
}

extension ProfileRegister {
    /// Appends the profile, or `null` for none.
    public func encode(into output: inout [UInt8]) {
        switch self {
        case .none: JSONWriter.raw("null", to: &output)
        case .profile(let profile): profile.encode(into: &output)
        }
    }

    public func encoded() -> [UInt8] {
        var output: [UInt8] = []
        encode(into: &output)
        return output
    }
}

extension UserSnapshot {
    /// Appends the object of one user in `subscribed`, `users` and the HTTP interface.
    public func encode(into output: inout [UInt8]) {
        JSONWriter.raw("{\"user\":", to: &output)
        JSONWriter.string(user.string, to: &output)
        if let presence {
            JSONWriter.key("presence", to: &output)
            presence.encode(into: &output)
        }
        if let profile {
            JSONWriter.key("profile", to: &output)
            profile.encode(into: &output)
        }
        JSONWriter.raw("}", to: &output)
    }

    /// Appends the same object from the registers' bytes.
    ///
    /// - Parameters:
    ///   - presence: An object; `nil` leaves the register out.
    ///   - profile: An object, or `null` for no profile; `nil` leaves the register out.
    public static func encode(
        user: UserID, presence: UnsafeRawBufferPointer?, profile: UnsafeRawBufferPointer?, into output: inout [UInt8]
    ) {
        JSONWriter.raw("{\"user\":", to: &output)
        JSONWriter.string(user.string, to: &output)
        if let presence {
            JSONWriter.key("presence", to: &output)
            JSONWriter.raw(presence, to: &output)
        }
        if let profile {
            JSONWriter.key("profile", to: &output)
            JSONWriter.raw(profile, to: &output)
        }
        JSONWriter.raw("}", to: &output)
    }
}

extension OwnStatus {
    public func encode(into output: inout [UInt8]) {
        JSONWriter.raw("{\"status\":", to: &output)
        JSONWriter.string(status.rawValue, to: &output)
        if let text { JSONWriter.member("text", text, to: &output) }
        if let clearAt { JSONWriter.member("clearAt", clearAt, to: &output) }
        JSONWriter.raw("}", to: &output)
    }
}

extension ServerMessage.Conversation {
    public func encode(into output: inout [UInt8]) {
        JSONWriter.raw("{\"id\":", to: &output)
        JSONWriter.string(id.string, to: &output)
        JSONWriter.member("participants", participants, to: &output)
        JSONWriter.raw("}", to: &output)
    }
}

extension ServerMessage.ConversationSnapshot {
    public func encode(into output: inout [UInt8]) {
        output += opened()
        JSONWriter.raw("}", to: &output)
    }

    /// The object, open for more members.
    package func opened() -> [UInt8] {
        var output: [UInt8] = []
        JSONWriter.raw("{\"conversation\":", to: &output)
        JSONWriter.string(conversation.string, to: &output)
        JSONWriter.member("version", version, to: &output)
        JSONWriter.member("typing", typing, to: &output)
        return output
    }
}
