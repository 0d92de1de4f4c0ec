extension ShardLogic {
    /// 100 random bits: session ids, incarnations and conversation ids that cannot be guessed.
    package func randomName() -> String {
        // Ten characters of five bits from each number: one number for each character would cost a connect 20 system calls.
        let numbers = (random.next(), random.next())
        return String(unsafeUninitializedCapacity: 20) { buffer in
            for place in 0..<20 {
                let bits = place < 10 ? numbers.0 >> (place * 5) : numbers.1 >> ((place - 10) * 5)
                buffer[place] = Self.nameAlphabet[Int(bits & 31)]
            }
            return 20
        }
    }

    /// 32 characters that are not confused with one another.
    private static let nameAlphabet = Array("abcdefghijkmnpqrstuvwxyz23456789".utf8)
}
