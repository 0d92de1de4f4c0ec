/// Runs an operation for each element, at most `window` at a time: for bulk work that leaves room for other work.
package final class BoundedConcurrency<Element> {
    private var rest: ArraySlice<Element>
    private var underWay = 0
    private let each: (Element, @escaping () -> Void) -> Void
    private let done: () -> Void
    private var isIssuing = false

    /// `each` calls the closure that it gets when the element is done; `done` is called once, after the last element.
    @discardableResult
    package init(
        _ elements: [Element], window: Int, each: @escaping (Element, @escaping () -> Void) -> Void,
        done: @escaping () -> Void
    ) {
        rest = elements[...]
        self.each = each
        self.done = done
        self.window = window
        issue()
    }

    private let window: Int

    private func issue() {
        // Guarded, so that an element that is done at once does not recurse.
        guard !isIssuing else { return }
        isIssuing = true
        while underWay < window, let next = rest.popFirst() {
            underWay += 1
            each(next) {
                self.underWay -= 1
                self.issue()
            }
        }
        isIssuing = false
        if underWay == 0, rest.isEmpty { done() }
    }
}
