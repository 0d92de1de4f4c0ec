import CHiredis

/// The functions with which hiredis' reader builds answers: hiredis' own, but with a limit on the length of arrays.
///
/// Without the limit, hiredis allocates memory for as many elements as the answer announces, gigabytes of it, before
/// the first element has arrived.
enum AnswerObjects {
    /// Longer arrays end the connection. Expected ones have at most some ten thousand elements.
    static let longestArray = 1 << 20

    // Never changed and never freed: hiredis keeps the pointer in every reader.
    nonisolated(unsafe) static let functions: UnsafeMutablePointer<redisReplyObjectFunctions> = {
        let functions = UnsafeMutablePointer<redisReplyObjectFunctions>.allocate(capacity: 1)
        functions.initialize(to: hiredis)
        functions.pointee.createArray = { task, count in
            count > AnswerObjects.longestArray ? nil : AnswerObjects.hiredis.createArray(task, count)
        }
        return functions
    }()

    /// The functions that hiredis gives to every new reader.
    private static let hiredis: redisReplyObjectFunctions = {
        let reader = redisReaderCreate()!
        defer { redisReaderFree(reader) }
        return reader.pointee.fn.pointee
    }()
}
