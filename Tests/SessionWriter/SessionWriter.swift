import Foundation
import PresenceAccounts

/// Stores one session after another in a file until it is killed by the test of the store.
///
///     session-writer FILE FIRST     sessions FIRST, FIRST+1, …; a line "N" when each is kept
@main
struct SessionWriter {
    static func main() throws {
        let arguments = CommandLine.arguments
        let store = FileTokenStore(URL(fileURLWithPath: arguments[1]))
        var number = Int(arguments[2])!
        while true {
            // With different lengths, so that a mixture of an old and a new one could not be decoded.
            let filling = String(repeating: "x", count: number * 37 % 900)
            let account = Account(id: "u-\(number)", email: "\(filling)@example.org")
            try store.save(
                StoredSession(refreshToken: "\(number)", account: account, savedAt: Date(timeIntervalSince1970: 0)))
            FileHandle.standardOutput.write(Data("\(number)\n".utf8))
            number += 1
        }
    }
}
