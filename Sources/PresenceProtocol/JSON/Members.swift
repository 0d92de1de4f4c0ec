/// Members of known kinds, from values already scanned. `null` counts as absent; where it has a meaning of its own, the
/// caller checks for it first.
extension JSONValue {
    /// An id, or `nil` if this is not a string or not a valid id.
    package var identifier: Identifier? {
        if isEscaped { return string.flatMap { Identifier($0) } }
        guard kind == .string, (1...Identifier.maximumLength).contains(count) else { return nil }
        for index in 0..<count where !(0x21...0x7E).contains((start + index).load(as: UInt8.self)) { return nil }
        return Identifier(checked: String(decoding: bytes, as: UTF8.self))
    }

    package func checkedString(_ field: String) throws(DecodingFailure) -> String {
        guard let string else { throw .wrongKind(field, wanted: "a string") }
        return string
    }

    package func checkedBool(_ field: String) throws(DecodingFailure) -> Bool {
        guard let bool else { throw .wrongKind(field, wanted: "true or false") }
        return bool
    }

    package func checkedIdentifier(_ field: String) throws(DecodingFailure) -> Identifier {
        guard kind == .string else { throw .wrongKind(field, wanted: "a string") }
        guard let identifier else {
            throw .invalid(field, "must be 1 to \(Identifier.maximumLength) bytes of printable ASCII without space")
        }
        return identifier
    }

    package func checkedCreationKey(_ field: String) throws(DecodingFailure) -> CreationKey {
        guard let key = CreationKey(try checkedString(field)) else {
            throw .invalid(field, "must be 1 to \(CreationKey.maximumLength) bytes of printable ASCII without space")
        }
        return key
    }

    /// One of the cases of a string enumeration.
    package func checkedCase<Value: RawRepresentable & CaseIterable>(
        of type: Value.Type, _ field: String
    ) throws(DecodingFailure) -> Value where Value.RawValue == String {
        let text = try checkedString(field)
        guard let value = Value(rawValue: text) else {
            throw .invalid(field, "must be one of \(Value.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        return value
    }

    package func checkedInteger(_ field: String) throws(DecodingFailure) -> Int64 {
        switch number {
        case .integer(let integer): return integer
        case .tooLarge: throw .invalid(field, "must be an integer of at most 64 bits")
        case .fraction, nil: throw .wrongKind(field, wanted: "an integer")
        }
    }

    /// A scanner at the beginning of this object.
    package func object(_ field: String) throws(DecodingFailure) -> JSONScanner {
        guard kind == .object else { throw .wrongKind(field, wanted: "an object") }
        return JSONScanner(self)
    }

    /// The elements of an array, each made by `make`.
    package func elements<Element>(
        _ field: String, _ make: (JSONValue) throws(DecodingFailure) -> Element
    ) throws(DecodingFailure) -> [Element] {
        guard kind == .array else { throw .wrongKind(field, wanted: "an array") }
        if count == 2 { return [] }
        var elements: [Element] = []
        // An estimate for elements of eight bytes. A malicious message gets no more memory than it is long.
        elements.reserveCapacity(Swift.min(count / 11 + 1, 1024))
        var scanner = JSONScanner(self)
        do throws(JSONError) { try scanner.beginArray() } catch { throw DecodingFailure(error) }
        while true {
            let element: JSONValue
            do throws(JSONError) {
                guard try scanner.nextElement() else { return elements }
                element = try scanner.value()
            } catch {
                throw DecodingFailure(error)
            }
            elements.append(try make(element))
        }
    }

    /// The ids of an array, in their order and with repetitions.
    func allIdentifiers(_ field: String) throws(DecodingFailure) -> [Identifier] {
        try identifiers(field, limit: .max, tooMany: DecodingFailure(code: .tooMany, message: field))
    }

    /// The ids of an array, in their order and with repetitions.
    ///
    /// - Throws: `tooMany` as soon as there are more than `limit`.
    package func identifiers(
        _ field: String, limit: Int, tooMany: @autoclosure () -> DecodingFailure
    ) throws(DecodingFailure) -> [Identifier] {
        var left = limit
        return try elements(field) { (element) throws(DecodingFailure) in
            guard left > 0 else { throw tooMany() }
            left -= 1
            return try element.checkedIdentifier(field)
        }
    }
}

extension Identifier {
    /// Wraps text that was already validated.
    init(checked string: String) {
        self.string = string
    }

    /// Hashes eight bytes at a time: good enough to distinguish the ids of one message.
    fileprivate var hash: UInt64 {
        var string = string
        return string.withUTF8 { utf8 in
            let bytes = UnsafeRawBufferPointer(utf8)
            var hash = UInt64(bytes.count)
            var place = 0
            while place + 8 <= bytes.count {
                hash = Self.mixed(hash ^ bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self))
                place += 8
            }
            var rest: UInt64 = 0
            while place < bytes.count {
                rest = rest << 8 | UInt64(bytes[place])
                place += 1
            }
            return Self.mixed(hash ^ rest)
        }
    }

    private static func mixed(_ value: UInt64) -> UInt64 {
        let product = value &* 0x9e37_79b9_7f4a_7c15
        return product ^ product >> 29
    }
}

extension Array where Element == Identifier {
    /// The same ids, each once, in the order of first appearance.
    package func withoutRepetitions() -> [Identifier] {
        // Usually there are no repetitions, which is faster to check than hashing the ids into a set.
        if count <= 100, !hasRepetitions { return self }
        var seen = Set<Identifier>(minimumCapacity: count)
        return filter { seen.insert($0).inserted }
    }

    /// Whether two of at most 100 ids are equal. The ids are put in a table of 128 places, so that few collide; only
    /// ids with equal hashes are compared as strings.
    private var hasRepetitions: Bool {
        // Unsafe: the memory belongs to this call. It is on the stack, which up to 1,024 bytes may be.
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 128) { places in
            withUnsafeTemporaryAllocation(of: UInt64.self, capacity: 100) { hashes in
                places.initialize(repeating: 0)
                for index in indices {
                    let hash = self[index].hash
                    hashes.initializeElement(at: index, to: hash)
                    var place = Int(truncatingIfNeeded: hash >> 32) & 127
                    // 0, or the number of the id at this place.
                    while places[place] != 0 {
                        let other = Int(places[place]) - 1
                        if hashes[other] == hash, self[other] == self[index] { return true }
                        place = (place + 1) & 127
                    }
                    places[place] = UInt8(index + 1)
                }
                return false
            }
        }
    }
}

extension JSONScanner {
    /// Reads an object and passes on each member in order, so that the last of several with one key wins.
    @inline(__always)
    package mutating func forEachMember(
        _ body: (_ key: JSONValue, _ value: JSONValue) throws(DecodingFailure) -> Void
    ) throws(DecodingFailure) {
        do throws(JSONError) { try beginObject() } catch { throw DecodingFailure(error) }
        while true {
            let key: JSONValue
            let member: JSONValue
            do throws(JSONError) {
                guard let next = try nextKey() else { return }
                key = next
                member = try value()
            } catch {
                throw DecodingFailure(error)
            }
            try body(key, member)
        }
    }
}
