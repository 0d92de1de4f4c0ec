/// The reason why a loop could not be made.
public enum EventLoopError: Error, CustomStringConvertible {
    /// libev has no epoll here, or the process has no file descriptor left.
    case noLoop(name: String)

    public var description: String {
        switch self {
        case .noLoop(let name): "event loop \(name): no epoll loop could be made (out of file descriptors?)"
        }
    }
}
