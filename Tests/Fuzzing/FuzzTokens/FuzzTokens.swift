import Dispatch

@testable import Tokens

/// Tokens: only signed tokens are accepted, and the content of a signed one is parsed safely.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    // Unsafe: libFuzzer's memory, valid for the call.
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    if case .success = authenticator.verify(bytes[...], now: 1_700_000_000_000) {
        fatalError("a token that nobody signed was taken")
    }
    _ = try? TokenHeader(json: bytes)
    _ = try? TokenPayload(json: bytes)
    return 0
}

/// With a secret of this process.
private let authenticator: Authenticator = {
    // Written before the signal, read after it.
    nonisolated(unsafe) var made: Authenticator?
    let done = DispatchSemaphore(value: 0)
    Task {
        made = try? await Authenticator(configuration: AuthenticationSettings(), secret: TokenSecret())
        done.signal()
    }
    done.wait()
    return made!
}()
