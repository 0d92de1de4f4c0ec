import CHiredis

/// How hiredis' reader builds answers: as it always does, but no array longer than any that we ask for.
///
/// By itself it makes room for as many elements as are announced, gigabytes of it, before one of them has come.
enum AnswerObjects {
    /// Longer arrays end the connection. Ours have some ten thousands of elements at most.
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

    /// Its own, which it gives to every reader that it makes.
    private static let hiredis: redisReplyObjectFunctions = {
        let reader = redisReaderCreate()!
        defer { redisReaderFree(reader) }
        return reader.pointee.fn.pointee
    }()
}
