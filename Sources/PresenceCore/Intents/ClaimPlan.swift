import CAssets
import PresenceProtocol

/// A feature's description of a kind of claims (`Claiming`), for its plan and for making them.
package struct ClaimPlan: Sendable {
    /// Unique among all kinds of intents; without spaces.
    package let name: String
    /// The owner's record: the hash that `claim-lib.lua` describes. It may have other fields of the feature. `nil`: the
    /// owners are users, and the record is in the user's hash.
    package let record: KeyFamily?
    /// Claims on things: hashes of several things each (`PartitionKeys.bucket`), with `OWNER NUMBER` for each.
    package let claim: KeyFamily
    /// Makes the change in the owner's partition with `fulfil` of `claim-lib.lua`, and publishes it to watchers if necessary.
    /// Returns the reply of `fulfil`, or {FENCED}. It also runs for a deleted owner (`abandon` of `claim-lib.lua`).
    package let change: Script

    /// - Parameters:
    ///   - name: The name of the kind, such as `name`.
    ///   - record: The beginning of the keys of owners' records; `nil`: they are in the users' hashes.
    ///   - claim: The beginning of the keys of claims.
    ///   - change: The text of the script.
    ///   - library: What it may use besides `claim-lib.lua`.
    package init(
        _ name: String, record: String?, claim: String, change: (name: String, text: String),
        library: ScriptLibrary = .common
    ) {
        self.name = name
        self.record = record.map { KeyFamily(name: $0, isPassing: false, type: "hash") }
        // The ids of these keys are those of buckets.
        self.claim = KeyFamily(name: claim, isPassing: false, type: "hash", isPlacedApart: true)
        self.change = Script(
            change.name, change.text, library: Self.library + library, isAcknowledged: true)
    }

    /// `fulfil` and `abandon`, for scripts that change an owner's record together with other keys of its partition.
    package static let library = ScriptLibrary(asset_claim_lib())

    /// The owner's record.
    package func record(of owner: Identifier, in keys: PartitionKeys) -> String {
        record.map { keys.key($0, owner) } ?? keys.user(owner)
    }

    /// The hash with the claim on the thing.
    package func claims(on thing: Identifier, in keys: PartitionKeys) -> String {
        keys.bucket(claim, of: thing.string)
    }

    /// The kind of the intents that compare a claim with its owner's record.
    var checkName: String { name + "-claim" }
    /// Members of `unfinished`: an owner's intent, and the check of a claim against its owner's record.
    package func intent(of owner: Identifier) -> String { Intent(IntentKind(name: name), owner).member }
    package func check(of thing: Identifier) -> String { Intent(IntentKind(name: checkName), thing).member }
    var keys: [KeyFamily] { [record, claim].compactMap(\.self) }
    var scripts: [Script] { Script.claims + [change] }
}

/// The call that makes a change: of the plan's script, or of another script that makes a further change in the same
/// step, such as creating the owner. It returns the reply of `fulfil`, possibly followed by words of its own. With any
/// other reply the script must have removed the wish from the record, and the claim is dropped.
package typealias ClaimChange = (ClaimWish, PartitionKeys) -> ScriptCall

/// The parameters of a wish for the script that makes its change.
package struct ClaimWish {
    package let owner: Identifier
    /// As in the set of unfinished intents of the owner's partition.
    package let intent: String
    package let number: String

    package init(_ owner: Identifier, intent: String = "", number: String = "") {
        (self.owner, self.intent, self.number) = (owner, intent, number)
    }
}

/// The steps that all claims share.
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
