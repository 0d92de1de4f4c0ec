import Foundation
import PresenceAccounts

/// Keeps one session after another in a file until it is killed: what the test of the store kills.
///
///     session-writer FILE FIRST     sessions FIRST, FIRST+1, …; a line "N" when each is kept
@main
struct SessionWriter {
    static func main() throws {
        let arguments = CommandLine.arguments
        let store = FileTokenStore(URL(fileURLWithPath: arguments[1]))
        var number = Int(arguments[2])!
        while true {
            // Of different lengths, so that an old one and a new one mixed would not be read.
            let filling = String(repeating: "x", count: number * 37 % 900)
            let account = Account(id: "u-\(number)", email: "\(filling)@example.org")
            try store.save(
                StoredSession(refreshToken: "\(number)", account: account, savedAt: Date(timeIntervalSince1970: 0)))
            FileHandle.standardOutput.write(Data("\(number)\n".utf8))
            number += 1
        }
    }
}
