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

static const unsigned char profile_lib_bytes[] = {
#embed "../PresenceServer/Features/Profiles/Scripts/profile-lib.lua"
};
ASSET(profile_lib)

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

// ---- Accounts ----

static const unsigned char account_bytes[] = {
#embed "../PresenceServer/Features/Accounts/Scripts/account.lua"
};
ASSET(account)

static const unsigned char account_lib_bytes[] = {
#embed "../PresenceServer/Features/Accounts/Scripts/account-lib.lua"
};
ASSET(account_lib)

static const unsigned char change_account_bytes[] = {
#embed "../PresenceServer/Features/Accounts/Scripts/change-account.lua"
};
ASSET(change_account)

static const unsigned char guess_bytes[] = {
#embed "../PresenceServer/Features/Accounts/Scripts/guess.lua"
};
ASSET(guess)

static const unsigned char refresh_grant_bytes[] = {
#embed "../PresenceServer/Features/Accounts/Scripts/refresh-grant.lua"
};
ASSET(refresh_grant)

static const unsigned char sign_in_bytes[] = {
#embed "../PresenceServer/Features/Accounts/Scripts/sign-in.lua"
};
ASSET(sign_in)

static const unsigned char sign_out_bytes[] = {
#embed "../PresenceServer/Features/Accounts/Scripts/sign-out.lua"
};
ASSET(sign_out)

static const unsigned char sign_up_bytes[] = {
#embed "../PresenceServer/Features/Accounts/Scripts/sign-up.lua"
};
ASSET(sign_up)

static const unsigned char ask_email_bytes[] = {
#embed "../PresenceServer/Features/Accounts/Scripts/ask-email.lua"
};
ASSET(ask_email)

static const unsigned char delete_account_bytes[] = {
#embed "../PresenceServer/Features/Accounts/Scripts/delete-account.lua"
};
ASSET(delete_account)

static const unsigned char disable_account_bytes[] = {
#embed "../PresenceServer/Features/Accounts/Scripts/disable-account.lua"
};
ASSET(disable_account)

static const unsigned char forgot_bytes[] = {
#embed "../PresenceServer/Features/Accounts/Scripts/forgot.lua"
};
ASSET(forgot)

static const unsigned char holds_claim_bytes[] = {
#embed "../PresenceServer/Features/Accounts/Scripts/holds-claim.lua"
};
ASSET(holds_claim)

static const unsigned char release_claim_bytes[] = {
#embed "../PresenceServer/Features/Accounts/Scripts/release-claim.lua"
};
ASSET(release_claim)

static const unsigned char reset_password_bytes[] = {
#embed "../PresenceServer/Features/Accounts/Scripts/reset-password.lua"
};
ASSET(reset_password)

static const unsigned char set_password_bytes[] = {
#embed "../PresenceServer/Features/Accounts/Scripts/set-password.lua"
};
ASSET(set_password)

static const unsigned char switch_email_bytes[] = {
#embed "../PresenceServer/Features/Accounts/Scripts/switch-email.lua"
};
ASSET(switch_email)

static const unsigned char take_claim_bytes[] = {
#embed "../PresenceServer/Features/Accounts/Scripts/take-claim.lua"
};
ASSET(take_claim)

static const unsigned char verify_email_bytes[] = {
#embed "../PresenceServer/Features/Accounts/Scripts/verify-email.lua"
};
ASSET(verify_email)

static const unsigned char want_email_bytes[] = {
#embed "../PresenceServer/Features/Accounts/Scripts/want-email.lua"
};
ASSET(want_email)

// ---- Usernames ----

static const unsigned char change_username_bytes[] = {
#embed "../PresenceServer/Features/Usernames/Scripts/change-username.lua"
};
ASSET(change_username)

// ---- Photos ----

static const unsigned char set_photo_bytes[] = {
#embed "../PresenceServer/Features/Photos/Scripts/set-photo.lua"
};
ASSET(set_photo)
