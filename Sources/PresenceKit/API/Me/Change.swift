/// The change of one member: it is kept, removed or set.
///
/// A string literal sets, `nil` removes: `updateProfile(displayName: "Ana", locale: nil)`.
public enum Change<Value: Hashable & Sendable>: Hashable, Sendable {
    /// The member keeps its value.
    case keep
    /// The member is removed: afterwards it has no value.
    case remove
    /// The member gets this value.
    case set(Value)

    /// Sets the member to a value, or removes it.
    public init(_ value: Value?) { self = value.map { .set($0) } ?? .remove }

    /// The new value, if there is one.
    public var value: Value? {
        if case .set(let value) = self { value } else { nil }
    }

    /// The same change with the value transformed.
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
