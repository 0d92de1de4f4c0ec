import Glibc

/// The system's random numbers, asked for 32 at a time: each question is a system call, and a connect draws two numbers.
struct BatchedRandom: RandomNumberGenerator {
    private var numbers: [UInt64] = []

    mutating func next() -> UInt64 {
        if let number = numbers.popLast() { return number }
        // Unsafe: the memory is the new array's own. 256 bytes are the most that `getentropy` gives; the kernel has them always.
        numbers = Array(unsafeUninitializedCapacity: 32) { buffer, count in
            precondition(getentropy(buffer.baseAddress!, 256) == 0, "no random numbers: errno \(errno)")
            count = 32
        }
        return numbers.removeLast()
    }
}
