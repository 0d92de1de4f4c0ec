import Expectations
import PresenceProtocol
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

@Suite("Topics are looked up by the bytes of an id")
struct SubjectTableTests {
    @Test func `after any insertions and removals, exactly the present names are found`() {
        var table = SubjectTable()
        var names: [Identifier] = (0..<400).map { Identifier("user-\($0)")! }
        names.shuffle()
        var held: [UInt32: Identifier] = [:]
        var random = SplitMix64(7)
        for _ in 0..<20_000 {
            let number = UInt32.random(in: 0..<400, using: &random)
            let name = names[Int(number)]
            if held.removeValue(forKey: number) != nil {
                name.withBytes { table.remove(number, $0) }
            } else {
                name.withBytes { table.insert(number, $0) }
                held[number] = name
            }
            let other = UInt32.random(in: 0..<400, using: &random)
            let found = names[Int(other)].withBytes { bytes in table.find(bytes) { names[Int($0)].has(bytes) } }
            expect(found, equals: held[other] == nil ? nil : other)
        }
        expect(table.count, equals: held.count)
    }

    @Test func `ids with a common prefix are distinguished`() {
        let names = ["a", "ab", "abc", "b"].map { Identifier($0)! }
        var table = SubjectTable()
        for (number, name) in names.enumerated() { name.withBytes { table.insert(UInt32(number), $0) } }
        for (number, name) in names.enumerated() {
            expect(name.withBytes { bytes in table.find(bytes) { names[Int($0)].has(bytes) } }, equals: UInt32(number))
        }
    }
}
