import CSigning

/// Owns a key of OpenSSL, and frees it.
///
/// Unchecked: the key never changes, and several threads may use it at the same time.
final class KeyHandle: @unchecked Sendable {
    private let pointer: OpaquePointer

    init?(_ pointer: OpaquePointer?) {
        guard let pointer else { return nil }
        self.pointer = pointer
    }

    deinit { csigning_key_free(pointer) }

    /// Lends the key for a call.
    func use<Result>(_ body: (OpaquePointer) -> Result) -> Result { withExtendedLifetime(self) { body(pointer) } }
}
