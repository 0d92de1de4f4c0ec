import CAssets
import Expectations
import Testing

@testable import PresenceCore
@testable import PresenceServer

@Suite("Scripts get the shared functions that they use")
struct ScriptLibraryTests {
    let library = ScriptLibrary(
        """
        -- What every script begins with.
        local function clock()
            return tonumber(ARGV[1])
        end
        local now = clock()

        -- Numbers.
        local function int(number) return string.format('%d', number) end
        local most, least = 20, 3
        local names = {
            'int',
        }
        local function bounded(number)
            -- Never more than `most`.
            if number > most then
                return most
            end
            return number
        end
        if now < 0 then
            return { 'EARLY' }
        end
        """)

    @Test("statements are kept with the functions that they use, and nothing else")
    func statements() {
        expect(
            library.completing("return 1"),
            equals: """
                local function clock()
                    return tonumber(ARGV[1])
                end
                local now = clock()
                if now < 0 then
                    return { 'EARLY' }
                end
                return 1
                """)
    }

    @Test("a function brings the functions that it uses, in their order")
    func chain() {
        let text = library.completing("-- KEYS: none\nreturn bounded(7)")
        expect(text.contains("local most, least = 20, 3\nlocal function bounded(number)\n    if number > most then"))
        expect(!text.contains("int(") && !text.contains("names") && !text.contains("--"))
        expect(text.hasSuffix("end\nreturn bounded(7)"))
    }

    @Test("a block that ends in the first column is complete")
    func block() {
        expect(library.completing("return names[1]").contains("local names = {\n    'int',\n}\n"))
    }

    @Test("names are whole words")
    func words() {
        expect(!library.completing("return mostly, x.now2").contains("most, least"))
    }

    private var files: [(String, asset)] {
        [
            ("lib", asset_lib()), ("presence-lib", asset_presence_lib()), ("claim-lib", asset_claim_lib()),
            ("profile-lib", asset_profile_lib()),
            ("typing-lib", asset_typing_lib()), ("account-lib", asset_account_lib()), ("guess-lib", asset_guess_lib()),
            ("attachment-lib", asset_attachment_lib()), ("conversation-lib", asset_conversation_lib()),
            ("message-lib", asset_message_lib()), ("notification-lib", asset_notification_lib()),
            ("push-lib", asset_push_lib()), ("queue-lib", asset_queue_lib()),
        ]
    }

    @Test("the files follow the rules for shared functions")
    func shape() {
        for (name, file) in files {
            expect(!file.text.contains("[["), "\(name): what is long may look like statements, or comments")
            for line in file.text.split(separator: "\n") where !line.hasPrefix(" ") && !line.hasPrefix("--") {
                // A statement called for its effect stands by itself: a `local` in front of it would be dropped.
                let isWhole = line.hasPrefix("local ") && !line.hasSuffix(",") || line.hasPrefix("if ")
                expect(isWhole || ["end", "}"].contains(line), "\(name): \(line)")
            }
        }
    }

    @Test("every shared function is used by a script")
    func dead() {
        let scripts = Script.all(of: Features.all).map(\.source)
        for (name, file) in files {
            for line in file.text.split(separator: "\n") where line.hasPrefix("local function ") {
                let head = line.prefix { $0 != "(" } + "("
                expect(scripts.contains { $0.contains(head) }, "\(head) of \(name)")
            }
        }
    }
}
