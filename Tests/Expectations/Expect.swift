import Foundation
import Testing

/// Records an issue if the condition is false. Tests use this function and not the macro `#expect(condition)`, because
/// the compiler expands and checks each use of a macro: with macros, that was a third of the tests' build.
///
/// `#expect(throws:)` and `#require` remain macros.
/// - Parameter sourceLocation: In a helper: where the test calls it.
public func expect(
    _ condition: Bool, _ comment: @autoclosure () -> Comment? = nil, sourceLocation: SourceLocation? = nil,
    fileID: String = #fileID, filePath: String = #filePath, line: Int = #line, column: Int = #column
) {
    if condition { return }
    let call = SourceLocation(fileID: fileID, filePath: filePath, line: line, column: column)
    record(call: call, comment: comment(), at: sourceLocation ?? call)
}

/// Records an issue with both values if they differ.
public func expect<Value: Equatable>(
    _ value: Value, equals expected: Value, _ comment: @autoclosure () -> Comment? = nil,
    sourceLocation: SourceLocation? = nil,
    fileID: String = #fileID, filePath: String = #filePath, line: Int = #line, column: Int = #column
) {
    if value == expected { return }
    let call = SourceLocation(fileID: fileID, filePath: filePath, line: line, column: column)
    record(call: call, values: (value, expected), comment: comment(), at: sourceLocation ?? call)
}

private func record(
    call: SourceLocation, values: (found: Any, expected: Any)? = nil, comment: Comment?, at place: SourceLocation
) {
    var lines = ["expected: \(arguments(of: call))"]
    if let values {
        lines.append("found: \(String(describingForTest: values.found))")
        lines.append("instead of: \(String(describingForTest: values.expected))")
    }
    if let comment { lines.append(comment.rawValue) }
    Issue.record(Comment(rawValue: lines.joined(separator: "\n")), sourceLocation: place)
}

/// The source text of a call's arguments, on one line: from its first parenthesis to the one that closes it. Only a
/// parenthesis alone in a string makes the text too long or too short.
private func arguments(of call: SourceLocation) -> String {
    guard let source = try? String(contentsOfFile: call.filePath, encoding: .utf8) else { return "(no source)" }
    let lines = source.split(separator: "\n", omittingEmptySubsequences: false).dropFirst(call.line - 1).prefix(20)
    let text = lines.joined(separator: "\n").utf8.dropFirst(call.column - 1).drop { $0 != UInt8(ascii: "(") }
    var depth = 0
    let end = text.firstIndex { byte in
        if byte == UInt8(ascii: "(") { depth += 1 }
        if byte == UInt8(ascii: ")") { depth -= 1 }
        return depth == 0
    }
    let arguments = text[..<(end ?? text.endIndex)].dropFirst()
    return String(Substring(arguments)).split(whereSeparator: \.isWhitespace).joined(separator: " ")
}
