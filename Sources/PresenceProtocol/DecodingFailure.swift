/// The reason why a message was rejected: the content of the reply's `error`.
public struct DecodingFailure: Error, Hashable, Sendable {
    /// `badRequest`, `unknownType`, `validationFailed` or `tooMany`.
    public var code: ErrorCode
    /// The fault, as a sentence for developers.
    public var message: String
    /// The member that is wrong, as a path such as `device.kind`.
    public var field: String?
    /// The request's id, at whatever place it has in the message; `nil` if it is missing, invalid or unreadable.
    public var id: Int64?

    public init(code: ErrorCode, message: String, field: String? = nil, id: Int64? = nil) {
        self.code = code
        self.message = message
        self.field = field
        self.id = id
    }

    /// The `error` message that answers the request.
    public var errorMessage: ServerMessage.ErrorMessage {
        ServerMessage.ErrorMessage(id: id, code: code, message: message, field: field)
    }
}

extension DecodingFailure {
    init(_ error: JSONError) {
        self.init(code: .badRequest, message: "not valid JSON: \(error.reason.rawValue) at byte \(error.offset)")
    }

    /// A required member is missing (`null` counts as missing).
    package static func missing(_ field: String) -> DecodingFailure {
        DecodingFailure(code: .badRequest, message: "\(field) is missing", field: field)
    }

    /// A member has the wrong kind.
    package static func wrongKind(_ field: String, wanted: String) -> DecodingFailure {
        DecodingFailure(code: .badRequest, message: "\(field) must be \(wanted)", field: field)
    }

    /// A value is out of range.
    package static func invalid(_ field: String, _ rule: String) -> DecodingFailure {
        DecodingFailure(code: .validationFailed, message: "\(field) \(rule)", field: field)
    }

    /// The same failure for a member inside the member `parent`.
    package func inside(_ parent: String) -> DecodingFailure {
        guard let field else { return self }
        var outer = self
        outer.field = "\(parent).\(field)"
        outer.message = "\(parent).\(message)"
        return outer
    }
}
