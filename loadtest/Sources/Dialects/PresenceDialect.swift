import PresenceProtocol

/// Our own protocol: a token, a session, and changes of the status text or of the displayName.
struct PresenceDialect: Dialect {
    let crowd: Crowd
    let mint: TokenMint
    let kind: ChangeKind
    /// Characters added to every change.
    let padding: Int
    /// Whether clients name their device.
    let namesDevice: Bool

    let subprotocol: String? = Upgrade.presence
    let answersGreetings = true
    let subscribesAhead = true
    let answersSubscriptions = true
    let answersChanges = true
    let keepsNewest = true

    /// The length of the event of an unpadded change of text, by a user with one device.
    static let shortestEvent = 186
    /// A status text may have 140 characters.
    static let mostPadding = 126

    /// - Parameter messageBytes: the length of the event of a change of text; 0 is the shortest.
    init(
        crowd: Crowd, mint: TokenMint, kind: ChangeKind, messageBytes: Int = 0, namesDevice: Bool = true
    ) throws(Failure) {
        self.namesDevice = namesDevice
        self.crowd = crowd
        self.mint = mint
        self.kind = kind
        padding = max(0, messageBytes - Self.shortestEvent)
        let longest = Self.shortestEvent + Self.mostPadding
        guard padding == 0 || (kind == .text && padding <= Self.mostPadding) else {
            throw Failure("our server's events can be padded to \(longest) bytes at most, and only those of texts")
        }
    }

    func greeting(of user: String) -> [[UInt8]] {
        let connect = ClientMessage.Connect(
            token: mint.token(user: user), device: namesDevice ? .only(of: user) : Device(kind: .bot))
        return [ClientMessage(id: 1, .connect(connect)).encoded()]
    }

    func subscription(to people: [String], batch: Int) -> [[UInt8]] {
        var messages: [[UInt8]] = []
        var batches = Batches(people.map { UserID($0)! }, size: batch)
        while let (users, _) = batches.next() {
            messages.append(ClientMessage(id: 2, .subscribe(ClientMessage.Subscribe(users: users))).encoded())
        }
        return messages
    }

    func message(_ change: NumberedChange, by user: String) -> [UInt8] {
        let text = NumberedText.text(Int(change.number), padding: padding)
        let body: ClientMessage.Body =
            switch kind {
            case .text: .status(StatusChange(status: .auto, text: .set(text)))
            case .name: .updateProfile(ProfileChanges(displayName: .set(text)))
            }
        return ClientMessage(id: Int64(change.number), body).encoded()
    }

    func read(_ message: UnsafeRawBufferPointer) -> [Incoming] {
        do {
            switch try ServerMessage.decode(message) {
            case .presence(let user, let presence, _): return change(user, presence.text)
            case .profile(let user, .profile(let profile), _): return change(user, profile.displayName)
            case .connected(_, let welcome):
                return [.connected(subscriptions: welcome.limits.subscriptions, batch: welcome.limits.subscribeBatch)]
            case .subscribed(_, _, _, let more): return more ? [] : [.subscribed]
            case .ok(let id), .profileUpdated(let id?, _): return [.acknowledged(number: Int(id))]
            case .error(let error) where error.code == .unauthorized:
                return [.refused("our token (\(error.message)); is --data-dir or --secret-file that server's?")]
            case .error(let error): return [.refused("something (\(error.code.rawValue): \(error.message))")]
            default: return []
            }
        } catch {
            return [.refused("to be understood: \(error)")]
        }
    }

    private func change(_ user: UserID, _ text: String?) -> [Incoming] {
        let number = NumberedText.number(in: text)
        guard number > 0, let changer = crowd.number(of: user.string) else { return [] }
        return [.change(NumberedChange(changer: changer, number: Int32(clamping: number)))]
    }
}
