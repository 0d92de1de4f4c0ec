import Expectations
import Synchronization
import Testing

/// An expectation that fails is one issue, which has all that explains it.
@Suite struct ExpectTests {
    /// The issues of the code.
    private func issues(_ run: () -> Void) -> [Issue] {
        let found = Mutex<[Issue]>([])
        withKnownIssue {
            run()
        } matching: { issue in
            found.withLock { $0.append(issue) }
            return true
        }
        return found.withLock { $0 }
    }

    @Test func `what is true is no issue`() {
        let count = 3
        expect(count == 3, "\(Issue.record("a comment that nothing needs"))")
        expect(count, equals: 3, "\(Issue.record("a comment that nothing needs"))")
        expect(count == 3, sourceLocation: #_sourceLocation)
        expect(count, equals: 3, sourceLocation: #_sourceLocation)
        expect(nil as Int?, equals: nil)
    }

    @Test func `a false condition is shown with its comment`() {
        let count = 3
        let found = issues { expect(count == (2 + 2), "of \(count) people") }
        expect(found.map(\.sourceLocation?.line), equals: [#line - 1])
        expect(found.map(\.sourceLocation?.fileID), equals: [#fileID])
        expect(found.map(\.lines), equals: [[#"expected: count == (2 + 2), "of \(count) people""#, "of 3 people"]])
    }

    @Test func `a call on several lines is shown on one`() {
        let found = issues {
            expect(
                [1, 2, 3]
                    .isEmpty)
        }
        expect(found.map(\.lines), equals: [["expected: [1, 2, 3] .isEmpty"]])
    }

    @Test func `two values that differ are shown`() {
        let name: String? = "ana"
        let found = issues { expect(name, equals: "bob", "of a user") }
        let lines = [
            #"expected: name, equals: "bob", "of a user""#, #"found: "ana""#, #"instead of: "bob""#, "of a user",
        ]
        expect(found.map(\.lines), equals: [lines])
    }

    @Test func `a helper's expectation is shown where the helper is called`() {
        func check(_ count: Int, at place: SourceLocation = #_sourceLocation) {
            expect(count > 3, sourceLocation: place)
            expect(count, equals: 4, sourceLocation: place)
        }
        let found = issues { check(2) }
        expect(found.map(\.sourceLocation?.line), equals: [#line - 1, #line - 1])
        expect(found.first?.lines, equals: ["expected: count > 3, sourceLocation: place"])
        let lines = ["expected: count, equals: 4, sourceLocation: place", "found: 2", "instead of: 4"]
        expect(found.last?.lines, equals: lines)
    }
}

extension Issue {
    fileprivate var lines: [String] { comments.flatMap { $0.rawValue.split(separator: "\n").map(String.init) } }
}
