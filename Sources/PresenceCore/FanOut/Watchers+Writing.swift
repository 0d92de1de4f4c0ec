/// The connections that have something to be written at the end of a turn.
extension Watchers {
    /// Returns the connections to write to; later marks belong to the next round. The caller returns the array with
    /// `recycle`.
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

    /// Takes the data due for a connection from `takeDirty`.
    func takeDue(_ index: UInt32) -> Line.Due { lines[Int(index)].takeDue() }
}
