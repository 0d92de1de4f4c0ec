import CAssets
import PresenceProtocol

/// What a feature says of claims that it makes (`Claiming`): in its plan, and to make them.
package struct ClaimPlan: Sendable {
    /// Unique among all kinds of intents; without spaces.
    package let name: String
    /// Of the owner: the hash that `claim-lib.lua` describes. It may hold fields of the feature beside. `nil`: the owners are
    /// users, and it is their own hash.
    package let record: KeyFamily?
    /// Of things: hashes of some of them each (`PartitionKeys.bucket`), with `OWNER NUMBER` for each.
    package let claim: KeyFamily
    /// Makes the change in the owner's partition, with `fulfil` of `claim-lib.lua`; tells watchers, if there is something to
    /// tell. Replies what `fulfil` returns, or {FENCED}. It also runs for an owner who has been deleted (`abandon` of
    /// `claim-lib.lua`).
    package let change: Script

    /// - Parameters:
    ///   - name: Of the kind, such as `name`.
    ///   - record: What the key of an owner's record begins with; `nil`: it is in the user's own hash.
    ///   - claim: The same of the keys with claims.
    ///   - change: The text of the script.
    ///   - library: What it may use beside `claim-lib.lua`.
    package init(
        _ name: String, record: String?, claim: String, change: (name: String, text: String),
        library: ScriptLibrary = .common
    ) {
        self.name = name
        self.record = record.map { KeyFamily(name: $0, isPassing: false, type: "hash") }
        // Its ids are those of buckets.
        self.claim = KeyFamily(name: claim, isPassing: false, type: "hash", isPlacedApart: true)
        self.change = Script(
            change.name, change.text, library: Self.library + library, isAcknowledged: true)
    }

    /// `fulfil` and `abandon`, for scripts that change an owner's record together with what else is in its partition.
    package static let library = ScriptLibrary(asset_claim_lib())

    /// The owner's record.
    package func record(of owner: Identifier, in keys: PartitionKeys) -> String {
        record.map { keys.key($0, owner) } ?? keys.user(owner)
    }

    /// The hash in which a claim on the thing is.
    package func claims(on thing: Identifier, in keys: PartitionKeys) -> String {
        keys.bucket(claim, of: thing.string)
    }

    /// The kind of the intents that compare a claim with its owner's record.
    var checkName: String { name + "-claim" }
    /// In `unfinished`: an owner's intent, and the comparison of a claim with its owner's record.
    package func intent(of owner: Identifier) -> String { Intent(IntentKind(name: name), owner).member }
    package func check(of thing: Identifier) -> String { Intent(IntentKind(name: checkName), thing).member }
    var keys: [KeyFamily] { [record, claim].compactMap(\.self) }
    var scripts: [Script] { Script.claims + [change] }
}

/// The call that makes a change: of the plan's script, or of one in its place by which something else comes to be in the same moment,
/// such as the owner. It replies what `fulfil` returns, with words of its own behind it. Or else something of its own: then nothing
/// of the wish is left in the record, and the claim is dropped.
package typealias ClaimChange = (ClaimWish, PartitionKeys) -> ScriptCall

/// What a script that makes a change is given of it.
package struct ClaimWish {
    package let owner: Identifier
    /// As the set of unfinished intents of the owner's partition names it.
    package let intent: String
    package let number: String

    package init(_ owner: Identifier, intent: String = "", number: String = "") {
        (self.owner, self.intent, self.number) = (owner, intent, number)
    }
}

/// The steps that are the same for all claims.
extension Script {
    static let claimWant = Script("claim-want", asset_claim_want(), library: ClaimPlan.library)
    static let claimTake = Script("claim-take", asset_claim_take(), isAcknowledged: true)
    static let claimState = Script("claim-state", asset_claim_state())
    static let claimLook = Script("claim-look", asset_claim_look())
    static let claimDrop = Script("claim-drop", asset_claim_drop(), isAcknowledged: true)
    static let claimConfirm = Script("claim-confirm", asset_claim_confirm())
    static let claimEnd = Script("claim-end", asset_claim_end(), library: ClaimPlan.library)
    static let claims: [Script] = [
        .claimWant, .claimTake, .claimState, .claimLook, .claimDrop, .claimConfirm, .claimEnd,
    ]
}
