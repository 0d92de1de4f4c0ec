/// What becomes of one member: it stays as it is, is removed, or becomes another.
///
/// A string literal sets, `nil` removes: `updateProfile(displayName: "Ana", locale: nil)`.
public enum Change<Value: Hashable & Sendable>: Hashable, Sendable {
    /// It stays as it is.
    case keep
    /// It is removed: afterwards there is none.
    case remove
    /// It becomes this value.
    case set(Value)

    /// The new value, if there is one.
    public var value: Value? {
        if case .set(let value) = self { value } else { nil }
    }

    /// The same with another kind of value.
    func map<Other>(_ transform: (Value) -> Other) -> Change<Other> {
        switch self {
        case .keep: .keep
        case .remove: .remove
        case .set(let value): .set(transform(value))
        }
    }
}

extension Change: ExpressibleByNilLiteral {
    public init(nilLiteral: ()) { self = .remove }
}

extension Change: ExpressibleByUnicodeScalarLiteral, ExpressibleByExtendedGraphemeClusterLiteral,
    ExpressibleByStringLiteral, ExpressibleByStringInterpolation
where Value == String {
    public init(stringLiteral value: String) { self = .set(value) }
}
