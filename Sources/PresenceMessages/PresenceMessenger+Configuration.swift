import Foundation

extension PresenceMessenger {
    /// Uploads, and the history on the device. The defaults suit most apps.
    public struct Configuration: Hashable, Sendable {
        /// The server's HTTP URL, such as `https://presence.example.org`; `nil`: the client's WebSocket URL without
        /// `v1/ws`.
        public var url: URL?
        /// The idle timeout of an upload.
        public var uploadTimeout = Duration.seconds(60)
        /// The most messages of a conversation that are kept on the device; 0 keeps none. They are shown while there is no
        /// connection.
        public var keptMessages = 50
        /// The most conversations that are kept on the device; 0 keeps none. The least recently changed are evicted
        /// first, also above 16 MiB in all.
        public var keptConversations = 200

        /// The defaults.
        public init() {}
    }
}
