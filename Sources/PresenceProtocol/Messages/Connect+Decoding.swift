extension ClientMessage.Connect {
    init(_ members: ClientMembers) throws(DecodingFailure) {
        self.init(token: try members.token?.checkedString("token"))
        if let value = members.device {
            guard value.kind == .object else { throw .wrongKind("device", wanted: "an object") }
            do throws(DecodingFailure) { device = try Device(value) } catch { throw error.inside("device") }
        }
        if let value = members.activity { activity = try value.checkedCase(of: Activity.self, "activity") }
        if let value = members.status { status = try Self.status(value) }
    }

    /// The initial status: an object like a `status` message, or only its status as a string.
    private static func status(_ value: JSONValue) throws(DecodingFailure) -> StatusChange {
        if value.kind == .string { return try StatusChange(status: value, text: nil, clearAfter: nil) }
        guard value.kind == .object else { throw .wrongKind("status", wanted: "an object or a string") }
        var scanner = JSONScanner(value)
        var status: JSONValue?
        var text: JSONValue?
        var clearAfter: JSONValue?
        try scanner.forEachMember { (key, value) throws(DecodingFailure) in
            let present = value.kind == .null ? nil : value
            if key.equals("status") {
                status = present
            } else if key.equals("text") {
                text = value
            } else if key.equals("clearAfter") {
                clearAfter = present
            }
        }
        guard let status else { throw .missing("status.status") }
        do throws(DecodingFailure) {
            return try StatusChange(status: status, text: text, clearAfter: clearAfter)
        } catch {
            throw error.inside("status")
        }
    }
}

extension StatusChange {
    /// The possible duration of a status: 1 s to 30 days.
    public static let clearAfterBounds: ClosedRange<Milliseconds> = 1_000...2_592_000_000

    /// - Parameters:
    ///   - text: If absent, the text is kept; `null` and `""` remove it.
    ///   - clearAfter: If absent, a pending clearing is cancelled.
    init(status: JSONValue, text: JSONValue?, clearAfter: JSONValue?) throws(DecodingFailure) {
        self.init(status: try status.checkedCase(of: ChosenStatus.self, "status"))
        if let text { self.text = try Self.text(text) }
        guard let clearAfter else { return }
        switch clearAfter.number {
        case .integer(let duration) where Self.clearAfterBounds.contains(duration): self.clearAfter = duration
        case .integer, .tooLarge:
            let bounds = Self.clearAfterBounds
            throw .invalid("clearAfter", "must be from \(bounds.lowerBound) to \(bounds.upperBound) ms")
        case .fraction, nil: throw .wrongKind("clearAfter", wanted: "an integer")
        }
    }

    private static func text(_ value: JSONValue) throws(DecodingFailure) -> Change<String> {
        if value.kind == .null { return .remove }
        let text = try value.checkedString("text")
        if text.isEmpty { return .remove }
        if let rule = FreeText.brokenRule(by: text, maximumCharacters: StatusText.maximumCharacters) {
            throw .invalid("text", rule)
        }
        return .set(text)
    }
}

extension Device {
    /// Reads a device from a JSON object; its failures name members as `device.id`, `device.kind`, `device.name`.
    package static func decode(json: [UInt8]) throws(DecodingFailure) -> Device {
        do throws(DecodingFailure) {
            return try json.lend { (bytes) throws(DecodingFailure) in
                var scanner = JSONScanner(bytes)
                let value: JSONValue
                do throws(JSONError) { value = try scanner.value() } catch { throw DecodingFailure(error) }
                return try Device(value)
            }
        } catch {
            throw error.inside("device")
        }
    }

    /// Reads a device; its failures name members as `id`, `kind`, `name`.
    fileprivate init(_ value: JSONValue) throws(DecodingFailure) {
        self.init()
        var scanner = JSONScanner(value)
        try scanner.forEachMember { (key, value) throws(DecodingFailure) in
            if value.kind == .null { return }
            if key.equals("id") {
                id = try value.checkedIdentifier("id")
            } else if key.equals("kind") {
                kind = try value.checkedCase(of: DeviceKind.self, "kind")
            } else if key.equals("name") {
                name = try Self.name(value)
            }
        }
    }

    private static func name(_ value: JSONValue) throws(DecodingFailure) -> String? {
        let name = try value.checkedString("name")
        if let rule = FreeText.brokenRule(by: name, maximumCharacters: DeviceName.maximumCharacters) {
            throw .invalid("name", rule)
        }
        return name.isEmpty ? nil : name
    }
}
