import Foundation

/// The user whom a token names, which is sufficient for a directory's name. Only the server verifies it.
enum TokenSubject {
    static func user(of token: String) -> String? {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3 else { return nil }
        var text = parts[1].replacing("-", with: "+").replacing("_", with: "/")
        text += String(repeating: "=", count: (4 - text.count % 4) % 4)
        guard let data = Data(base64Encoded: String(text)) else { return nil }
        struct Claims: Decodable { var sub: String }
        return try? JSONDecoder().decode(Claims.self, from: data).sub
    }
}
