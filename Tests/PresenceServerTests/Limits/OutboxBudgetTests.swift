import Expectations
import Testing

@testable import PresenceCore
@testable import WebSockets

@Suite struct OutboxBudgetTests {
    @Test func `HTTP responses use at most half, and leave that much less to WebSockets`() {
        let budget = OutboxBudget(1_000, shards: 2)
        expect(budget.answers.all.reserve(500) && !budget.answers.all.reserve(1))
        let (one, two) = (Outboxes(budget), Outboxes(budget))
        one.change(by: 300)
        two.change(by: 200)
        expect(one.updateSum() == 0 && two.updateSum() == 0)
        two.change(by: 100)
        // 100 bytes too many, freed by the shards with more than 250.
        expect(two.updateSum() == 50 && one.updateSum() == 50)
        // Bytes that are counted in any case take nothing from the other half.
        budget.answers.all.add(600)
        expect(two.updateSum(), equals: 50)
        budget.answers.all.release(1_100)
        expect(two.updateSum() == 0 && one.updateSum() == 0)
    }

    @Test func `without a limit nothing is freed`() {
        let budget = OutboxBudget(0)
        let outboxes = Outboxes(budget)
        outboxes.change(by: 1_000_000)
        expect(budget.answers.all.reserve(1_000_000) && outboxes.updateSum() == 0)
    }
}
