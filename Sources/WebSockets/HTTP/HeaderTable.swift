import CLibWebSockets

/// Reads a header of the answer to a libwebsockets client; valid inside its callbacks only.
struct HeaderTable {
    private let wsi: OpaquePointer

    init(_ wsi: OpaquePointer) {
        self.wsi = wsi
    }

    func value(_ token: lws_token_indexes) -> String? {
        let length = Int(lws_hdr_total_length(wsi, token))
        guard length > 0 else { return nil }
        // Room for the final zero, and for each comma that joins parts.
        let room = length + 64
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: room) { buffer in
            let copied = lws_hdr_copy(wsi, buffer.baseAddress, Int32(room), token)
            guard copied > 0 else { return nil }
            return buffer.prefix(Int(copied)).withMemoryRebound(to: UInt8.self) { String(decoding: $0, as: UTF8.self) }
        }
    }
}
