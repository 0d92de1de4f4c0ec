extension ProfileChanges {
    /// Reads the changes of a profile from a JSON object, as the body of an HTTP request carries them.
    ///
    /// - Throws: `badRequest` if the text is not one JSON object or has a member of the wrong kind, `validationFailed`
    ///   for a value out of range. One invalid member rejects the whole change.
    public static func decode(json: UnsafeRawBufferPointer) throws(DecodingFailure) -> ProfileChanges {
        try ProfileChanges(RequestBody.object(json))
    }

    public static func decode(json: [UInt8]) throws(DecodingFailure) -> ProfileChanges {
        try json.lend { (bytes) throws(DecodingFailure) in try decode(json: bytes) }
    }

    /// Reads the object at the scanner's position.
    init(_ scanner: consuming JSONScanner) throws(DecodingFailure) {
        self.init()
        var members = scanner
        try members.forEachMember { (key, value) throws(DecodingFailure) in
            if key.equals("displayName") {
                displayName = try Self.displayName(value)
            } else if key.equals("photoURL") {
                photoURL = try Self.optional(value, "photoURL", PhotoURL.isValid, rule: Self.photoURLRule)
            } else if key.equals("timezone") {
                timezone = try Self.optional(
                    value, "timezone", TimeZoneName.isWellFormed, rule: "must be the IANA name of a time zone")
            } else if key.equals("locale") {
                locale = try Self.optional(
                    value, "locale", LanguageTag.isWellFormed, rule: "must be a language tag of BCP 47")
            }
        }
    }

    private static let photoURLRule =
        "must be an absolute https URL of at most \(PhotoURL.maximumBytes) bytes (http for loopback hosts only)"

    private static func displayName(_ value: JSONValue) throws(DecodingFailure) -> Change<String> {
        if value.kind == .null { throw .invalid("displayName", "cannot be removed") }
        let name = FreeText.trimmed(try value.checkedString("displayName"))
        if let rule = DisplayName.brokenRule(by: name) { throw .invalid("displayName", rule) }
        return .set(name)
    }

    private static func optional(
        _ value: JSONValue, _ field: String, _ isValid: (String) -> Bool, rule: String
    ) throws(DecodingFailure) -> Change<String> {
        if value.kind == .null { return .remove }
        let text = try value.checkedString(field)
        guard isValid(text) else { throw .invalid(field, rule) }
        return .set(text)
    }
}
