import Expectations
import PresenceProtocol
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// Ana writes to bob, who is present or not, and one of two servers is the courier.
final class PushTalk {
    let webhooks: WebhookWorld
    let world: World
    let ana: SimulatedClient
    let bob: SimulatedClient
    private(set) var id = ConversationID("c")!
    private var sent = 0

    /// - Parameters:
    ///   - notifications: Whether messages become notifications, too.
    ///   - others: Further members, which make it a group.
    init(
        apns: Bool = false, queue: Int = 1_000, notifications: Bool = false, others: [UserID] = [],
        _ adjust: (inout ServerConfiguration) -> Void = { _ in }
    ) throws {
        webhooks = try WebhookWorld(queue: queue, pushes: true, apns: apns) {
            $0[Notifications.ofMessages] = notifications
            adjust(&$0)
        }
        world = webhooks.world
        ana = try SimulatedClient("ana", in: world).connect(to: world.shards[0])
        bob = try SimulatedClient("bob", in: world).connect(to: world.shards[1])
        try world.run(until: "there is a courier") { webhooks.couriers.count == 1 }
        ana.send(.createConversation(participants: [UserID("bob")!] + others))
        var made: ConversationID?
        try world.run(until: "there is a conversation") {
            made =
                self.ana.received.compactMap { if case .conversationCreated(_, let c) = $0 { c.id } else { nil } }
                .first
            return made != nil
        }
        id = made!
    }

    /// Sends the next message: `m1`, then `m2`, and so on.
    func say(_ text: String = "hi") {
        sent += 1
        ana.sendText(
            #"{"type":"send","id":\#(100 + sent),"conversation":"\#(id)","#
                + #""message":{"id":"m\#(sent)","text":"\#(text)"}}"#)
    }

    func delete(_ number: Int) {
        ana.sendText(
            #"{"type":"deleteMessage","id":\#(700 + number),"conversation":"\#(id)","message":"m\#(number)"}"#)
    }

    /// Deletes a message without an event for the courier.
    func deleteUntold(_ number: Int) {
        let keys = world.shards[0].logic.partitions.keys(of: id)
        run(
            .deleteMessage,
            [
                keys.shards, keys.floor, keys.conversation(id), keys.log(id), keys.changes(id), keys.prints(id),
                keys.aging, keys.attachments(id), keys.attachmentsDue,
            ], keys.events, [id.string, "ana", "m\(number)", "100"])
    }

    /// Withdraws bob's push of a message, as the courier does.
    func withdraw(_ number: Int, notifications: Bool = false) {
        let bob = UserID("bob")!
        let keys = world.shards[0].logic.partitions.keys(of: bob)
        run(
            .pushWithdraw,
            [
                keys.shards, keys.floor, keys.pushed(bob), keys.notifications(bob), keys.notificationMarks(bob),
                keys.push,
                keys.sessions(bob),
            ], keys.events,
            [
                "bob", id.string, "\(number)", notifications ? "200" : "0", "1000000", "\(PushScheduler.wait)",
                Notifications.id(ofMessage: Int64(number), in: id).string,
            ])
    }

    /// Runs a script at once, as a server would.
    func run(_ script: Script, _ keys: [String], _ events: String, _ arguments: [String]) {
        let name = world.shards[0].logic.link.incarnation
        let all = [String(world.redisNow), events, name] + arguments
        let answer = world.redis.run(script, keys: keys, arguments: all)
        expect((try? answer.get())?.array?.first?.string, equals: "OK", "\(script): \(answer)")
    }

    func mark(_ what: String, _ number: Int) {
        bob.sendText(#"{"type":"mark","id":\#(500 + number),"conversation":"\#(id)","\#(what)":\#(number)}"#)
    }

    func set(_ members: String) {
        bob.sendText(#"{"type":"conversationSettings","id":900,"conversation":"\#(id)",\#(members)}"#)
    }

    var pushes: [QueuedEvent] { webhooks.calls("push.due", of: "bob") }
    /// The pushes handed to APNs.
    var handed: [PushMessage] { webhooks.log.pushes }

    /// - Parameter token: Bob's token, in the form for simulated shards.
    func register(_ device: String, by token: String = "bob") throws {
        let body = ["pushToken": device, "platform": "apns"]
        let call = SimulatedCall("PUT", "/v1/me/devices/current", body, token: token, to: world.shards[0])
        try world.run(until: "the device is registered") { call.status == 204 }
    }

    func unregister() throws {
        let call = SimulatedCall("DELETE", "/v1/me/devices/current", token: "bob", to: world.shards[0])
        try world.run(until: "the device is not registered") { call.status == 204 }
    }

    /// Sets the services' answer; endpoints accept everything.
    func answer(_ outcome: DeliveryOutcome?) {
        webhooks.log.answer = { PushMessage($0.body) == nil ? .accepted : outcome }
    }
}
