// Scripts for Redis. They are in the folders of the features that they belong to.
#include "embedding.h"

// ---- Leases, and what all scripts share ----

static const unsigned char fence_bytes[] = {
#embed "../PresenceCore/Scripts/fence.lua"
};
ASSET(fence)

static const unsigned char join_bytes[] = {
#embed "../PresenceCore/Scripts/join.lua"
};
ASSET(join)

static const unsigned char lib_bytes[] = {
#embed "../PresenceCore/Scripts/lib.lua"
};
ASSET(lib)

static const unsigned char reap_bytes[] = {
#embed "../PresenceCore/Scripts/reap.lua"
};
ASSET(reap)

static const unsigned char renew_bytes[] = {
#embed "../PresenceCore/Scripts/renew.lua"
};
ASSET(renew)

static const unsigned char sweep_bytes[] = {
#embed "../PresenceCore/Scripts/sweep.lua"
};
ASSET(sweep)

// ---- Intents ----

static const unsigned char claim_confirm_bytes[] = {
#embed "../PresenceCore/Intents/Scripts/claim-confirm.lua"
};
ASSET(claim_confirm)

static const unsigned char claim_drop_bytes[] = {
#embed "../PresenceCore/Intents/Scripts/claim-drop.lua"
};
ASSET(claim_drop)

static const unsigned char claim_end_bytes[] = {
#embed "../PresenceCore/Intents/Scripts/claim-end.lua"
};
ASSET(claim_end)

static const unsigned char claim_lib_bytes[] = {
#embed "../PresenceCore/Intents/Scripts/claim-lib.lua"
};
ASSET(claim_lib)

static const unsigned char claim_look_bytes[] = {
#embed "../PresenceCore/Intents/Scripts/claim-look.lua"
};
ASSET(claim_look)

static const unsigned char claim_state_bytes[] = {
#embed "../PresenceCore/Intents/Scripts/claim-state.lua"
};
ASSET(claim_state)

static const unsigned char claim_take_bytes[] = {
#embed "../PresenceCore/Intents/Scripts/claim-take.lua"
};
ASSET(claim_take)

static const unsigned char claim_want_bytes[] = {
#embed "../PresenceCore/Intents/Scripts/claim-want.lua"
};
ASSET(claim_want)

// ---- Sessions ----

static const unsigned char activity_bytes[] = {
#embed "../PresenceCore/Sessions/Scripts/activity.lua"
};
ASSET(activity)

static const unsigned char disconnect_bytes[] = {
#embed "../PresenceCore/Sessions/Scripts/disconnect.lua"
};
ASSET(disconnect)

static const unsigned char end_bytes[] = {
#embed "../PresenceCore/Sessions/Scripts/end.lua"
};
ASSET(end)

static const unsigned char open_bytes[] = {
#embed "../PresenceCore/Sessions/Scripts/open.lua"
};
ASSET(open)

static const unsigned char revoke_bytes[] = {
#embed "../PresenceCore/Sessions/Scripts/revoke.lua"
};
ASSET(revoke)

// ---- Presence ----

static const unsigned char lapse_bytes[] = {
#embed "../PresenceCore/Sessions/Scripts/lapse.lua"
};
ASSET(lapse)

static const unsigned char renumber_bytes[] = {
#embed "../PresenceCore/Scripts/renumber.lua"
};
ASSET(renumber)

static const unsigned char status_bytes[] = {
#embed "../PresenceCore/Sessions/Scripts/status.lua"
};
ASSET(status)

// ---- Profiles ----

static const unsigned char profile_bytes[] = {
#embed "../PresenceServer/Features/Profiles/Scripts/profile.lua"
};
ASSET(profile)

// ---- Conversations ----

static const unsigned char create_bytes[] = {
#embed "../PresenceServer/Features/Conversations/Scripts/create.lua"
};
ASSET(create)

static const unsigned char participants_bytes[] = {
#embed "../PresenceServer/Features/Conversations/Scripts/participants.lua"
};
ASSET(participants)

// ---- Typing ----

static const unsigned char conversation_bytes[] = {
#embed "../PresenceServer/Features/Typing/Scripts/conversation.lua"
};
ASSET(conversation)

static const unsigned char typing_lib_bytes[] = {
#embed "../PresenceServer/Features/Typing/Scripts/typing-lib.lua"
};
ASSET(typing_lib)

static const unsigned char typing_bytes[] = {
#embed "../PresenceServer/Features/Typing/Scripts/typing.lua"
};
ASSET(typing)

// ---- Visibility ----

static const unsigned char policy_bytes[] = {
#embed "../PresenceCore/Audiences/Scripts/policy.lua"
};
ASSET(policy)

static const unsigned char visibility_bytes[] = {
#embed "../PresenceCore/Audiences/Scripts/visibility.lua"
};
ASSET(visibility)
