/// Why a message could not be taken: what the answer's `error` is to say.
public struct DecodingFailure: Error, Hashable, Sendable {
    /// `badRequest`, `unknownType`, `validationFailed` or `tooMany`.
    public var code: ErrorCode
    /// For people: what is wrong.
    public var message: String
    /// The member that is wrong, as a path such as `device.kind`.
    public var field: String?
    /// The request's id, wherever in the message it stood; `nil` if it had none, a bad one, or none could be read.
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

    /// A member that is needed is not there (`null` counts as not there).
    package static func missing(_ field: String) -> DecodingFailure {
        DecodingFailure(code: .badRequest, message: "\(field) is missing", field: field)
    }

    /// A member is not of the kind that the protocol wants.
    package static func wrongKind(_ field: String, wanted: String) -> DecodingFailure {
        DecodingFailure(code: .badRequest, message: "\(field) must be \(wanted)", field: field)
    }

    /// A value is out of bounds.
    package static func invalid(_ field: String, _ rule: String) -> DecodingFailure {
        DecodingFailure(code: .validationFailed, message: "\(field) \(rule)", field: field)
    }

    /// The same failure of a member that stands inside the member `parent`.
    func inside(_ parent: String) -> DecodingFailure {
        guard let field else { return self }
        var outer = self
        outer.field = "\(parent).\(field)"
        outer.message = "\(parent).\(message)"
        return outer
    }
}
