/// What the baseline keeps of one connection, found by its descriptor.
struct BaselineClient {
    /// There is such a connection.
    var isKnown = false
    var isUpgraded = false
    /// Gets what is published.
    var isSubscribed = false
    /// The beginning of a frame, or of the upgrade, whose end has not come.
    var inbox: [UInt8] = []
    /// The end of a message of which the socket took the beginning. Until it has gone nothing else is sent.
    var tail: [UInt8] = []
}

/// The connections that a publication goes to, one after the other in memory.
struct Subscribers {
    private(set) var descriptors: [Int32] = []
    /// Where a descriptor stands in `descriptors`; -1 if nowhere.
    private var places: [Int32] = []

    mutating func insert(_ descriptor: Int32) {
        while places.count <= Int(descriptor) { places.append(-1) }
        guard places[Int(descriptor)] < 0 else { return }
        places[Int(descriptor)] = Int32(descriptors.count)
        descriptors.append(descriptor)
    }

    mutating func remove(_ descriptor: Int32) {
        guard Int(descriptor) < places.count, places[Int(descriptor)] >= 0 else { return }
        let place = Int(places[Int(descriptor)])
        let last = descriptors.removeLast()
        if last != descriptor {
            descriptors[place] = last
            places[Int(last)] = Int32(place)
        }
        places[Int(descriptor)] = -1
    }
}
