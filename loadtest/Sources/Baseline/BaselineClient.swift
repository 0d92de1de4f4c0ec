/// The baseline's state of one connection, found by its descriptor.
struct BaselineClient {
    /// Whether the connection exists.
    var isKnown = false
    var isUpgraded = false
    /// Whether it gets publications.
    var isSubscribed = false
    /// The beginning of an incomplete frame or upgrade.
    var inbox: [UInt8] = []
    /// The end of a message that the socket accepted only in part. No other bytes are sent before it.
    var tail: [UInt8] = []
}

/// The connections that get publications, contiguous in memory.
struct Subscribers {
    private(set) var descriptors: [Int32] = []
    /// The place of a descriptor in `descriptors`; -1 if it has none.
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
