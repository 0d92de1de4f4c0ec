import Foundation
import Installation

/// A provider's documents in the data directory, so that a restart does not ask for them. Its functions block: they are for threads
/// of a pool.
struct ProviderFile: Sendable {
    let directory: String
    let provider: Provider

    /// The texts in the file; `nil` if there are none.
    func read() -> ProviderDocuments.Texts? {
        guard let path = try? path(), let data = try? PlainFile.read(path) else { return nil }
        return try? JSONDecoder().decode(ProviderDocuments.Texts.self, from: data)
    }

    /// - Throws: ``StartFailure`` if the file cannot be written.
    func store(_ texts: ProviderDocuments.Texts) throws(StartFailure) {
        let path = try path()
        do {
            try JSONEncoder().encode(texts).write(to: URL(fileURLWithPath: path), options: .atomic)
        } catch {
            throw StartFailure("\(path) cannot be written")
        }
    }

    private func path() throws(StartFailure) -> String {
        try DataDirectory(directory).file("provider-\(provider.name).json")
    }
}
