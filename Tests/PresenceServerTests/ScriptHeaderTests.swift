import Expectations
import Foundation
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

@Suite("The header of a script is its signature")
struct ScriptHeaderTests {
    @Test("names, explanations, rows and replies are parsed, also over several lines")
    func names() throws {
        let header = try #require(
            ScriptHeader(
                """
                -- flags: no-writes
                -- Marks what was read: and more.
                -- keys: conversation, log of it
                -- args: user, most so many,
                --       each(seq, kind a or b)
                -- replies: OK(number) | MISSING if there is none | FENCED
                return 1
                """))
        expect(header.keys.names == ["conversation", "log"] && header.keys.row.isEmpty)
        expect(header.arguments.names == ["user", "most"] && header.arguments.row == ["seq", "kind"])
        expect(header.replies == ["OK", "MISSING", "FENCED"] && header.isFenced)
        expect(ScriptHeader("-- Nothing is named.\nreturn 1") == nil)
    }

    @Test("keys and arguments have their names in the body")
    func prelude() throws {
        let redis = try SimulatedRedis(features: Features.all)
        let script = Script(
            "rows",
            """
            -- keys: first, each(left, right)
            -- args: word, each(a, b)
            local said = { word, firstKey }
            for a, b in each() do said[#said + 1] = a .. b end
            local left, right = eachKey(2)
            return { 'OK', table.concat(said, ' '), left, right }
            """)
        let call = ScriptCall(
            script, in: Partitions(count: 1).keys(0), ["first": "{p000}:x"], ["word": "so"], each: ["1", true, 3, "4"],
            eachKey: ["{p000}:a", "{p000}:b", "{p000}:c", "{p000}:d"])
        let answer = redis.command(
            ["EVAL", script.source, String(call.keys.count)] + call.keys + ["5"] + call.arguments)
        let reply = ScriptReply(try answer.get())
        expect(reply.word == "OK" && reply[0].string == "so {p000}:x 11 34")
        expect(reply[1].string == "{p000}:c" && reply[2].string == "{p000}:d" && reply[3].isNull)
    }

    @Test("each reply's first word is one that a script can give", arguments: Script.allCases)
    func replies(of script: Script) {
        let words = script.header?.replies ?? []
        expect(words.filter { !$0.allSatisfy { $0.isUppercase || $0.isNumber } }, equals: [])
    }

    @Test("no name hides a function that the script uses", arguments: Script.allCases)
    func hiding(script: Script) {
        guard let header = script.header else { return }
        let names = header.keys.names.map { $0 + "Key" } + header.arguments.names
        let prelude = header.prelude
        let library = script.source.components(separatedBy: prelude)[0]
        for name in names {
            expect(!library.contains("\nlocal function \(name)("), "\(name) in \(script)")
        }
    }
}
