import Glibc

/// The system's random numbers, fetched 32 at a time: each fetch is a system call, and a connect needs two numbers.
struct BatchedRandom: RandomNumberGenerator {
    private var numbers: [UInt64] = []

    mutating func next() -> UInt64 {
        if let number = numbers.popLast() { return number }
        // Unsafe: the memory belongs to the new array. 256 bytes are the most that `getentropy` returns; the kernel
        // always has them.
        numbers = Array(unsafeUninitializedCapacity: 32) { buffer, count in
            precondition(getentropy(buffer.baseAddress!, 256) == 0, "no random numbers: errno \(errno)")
            count = 32
        }
        return numbers.removeLast()
    }
}
