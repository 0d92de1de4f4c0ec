/// Which connections have something to be written when a turn ends, and what.
extension Watchers {
    /// Hands over the connections to write to; what is marked meanwhile goes into the next round. They are given back (`recycle`)
    /// when they are written to.
    func takeDirty() -> [UInt32] {
        let taken = dirty
        dirty = emptied
        emptied = []
        return taken
    }

    func recycle(_ taken: consuming [UInt32]) {
        taken.removeAll(keepingCapacity: true)
        emptied = taken
    }

    /// What a connection that was taken is to be written now.
    func takeDue(_ index: UInt32) -> Line.Due { lines[Int(index)].takeDue() }
}
