// Scripts for Redis, from the folders of their features.
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

static const unsigned char presence_lib_bytes[] = {
#embed "../PresenceCore/Sessions/Scripts/presence-lib.lua"
};
ASSET(presence_lib)

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

static const unsigned char visibility_bytes[] = {
#embed "../PresenceCore/Visibility/Scripts/visibility.lua"
};
ASSET(visibility)

static const unsigned char policy_lib_bytes[] = {
#embed "../PresenceCore/Visibility/Scripts/policy-lib.lua"
};
ASSET(policy_lib)

static const unsigned char asked_lib_bytes[] = {
#embed "../PresenceCore/Visibility/Scripts/asked-lib.lua"
};
ASSET(asked_lib)

// ---- Accounts ----

static const unsigned char account_bytes[] = {
#embed "../PresenceServer/Features/Accounts/Scripts/account.lua"
};
ASSET(account)

static const unsigned char device_lib_bytes[] = {
#embed "../PresenceServer/Features/Accounts/Scripts/device-lib.lua"
};
ASSET(device_lib)

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

static const unsigned char guess_lib_bytes[] = {
#embed "../PresenceServer/Features/Accounts/Scripts/guess-lib.lua"
};
ASSET(guess_lib)

static const unsigned char take_back_guess_bytes[] = {
#embed "../PresenceServer/Features/Accounts/Scripts/take-back-guess.lua"
};
ASSET(take_back_guess)

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
#embed "../PresenceServer/Features/Accounts/Claims/Scripts/ask-email.lua"
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

static const unsigned char email_state_bytes[] = {
#embed "../PresenceServer/Features/Accounts/Claims/Scripts/email-state.lua"
};
ASSET(email_state)

static const unsigned char end_email_bytes[] = {
#embed "../PresenceServer/Features/Accounts/Claims/Scripts/end-email.lua"
};
ASSET(end_email)

static const unsigned char forgot_bytes[] = {
#embed "../PresenceServer/Features/Accounts/Scripts/forgot.lua"
};
ASSET(forgot)

static const unsigned char holds_claim_bytes[] = {
#embed "../PresenceServer/Features/Accounts/Claims/Scripts/holds-claim.lua"
};
ASSET(holds_claim)

static const unsigned char release_claim_bytes[] = {
#embed "../PresenceServer/Features/Accounts/Claims/Scripts/release-claim.lua"
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
#embed "../PresenceServer/Features/Accounts/Claims/Scripts/switch-email.lua"
};
ASSET(switch_email)

static const unsigned char take_claim_bytes[] = {
#embed "../PresenceServer/Features/Accounts/Claims/Scripts/take-claim.lua"
};
ASSET(take_claim)

static const unsigned char take_mail_bytes[] = {
#embed "../PresenceServer/Features/Accounts/Mail/Scripts/take-mail.lua"
};
ASSET(take_mail)

static const unsigned char settle_mail_bytes[] = {
#embed "../PresenceServer/Features/Accounts/Mail/Scripts/settle-mail.lua"
};
ASSET(settle_mail)

static const unsigned char tell_existing_bytes[] = {
#embed "../PresenceServer/Features/Accounts/Scripts/tell-existing.lua"
};
ASSET(tell_existing)

static const unsigned char verify_email_bytes[] = {
#embed "../PresenceServer/Features/Accounts/Scripts/verify-email.lua"
};
ASSET(verify_email)

static const unsigned char want_email_bytes[] = {
#embed "../PresenceServer/Features/Accounts/Claims/Scripts/want-email.lua"
};
ASSET(want_email)

static const unsigned char unused_guests_bytes[] = {
#embed "../PresenceServer/Features/Accounts/Guests/Scripts/unused-guests.lua"
};
ASSET(unused_guests)

static const unsigned char ask_mail_code_bytes[] = {
#embed "../PresenceServer/Features/Accounts/MailCodes/Scripts/ask-mail-code.lua"
};
ASSET(ask_mail_code)

static const unsigned char use_mail_code_bytes[] = {
#embed "../PresenceServer/Features/Accounts/MailCodes/Scripts/use-mail-code.lua"
};
ASSET(use_mail_code)

static const unsigned char enter_bytes[] = {
#embed "../PresenceServer/Features/Accounts/MailCodes/Scripts/enter.lua"
};
ASSET(enter)

static const unsigned char add_identity_bytes[] = {
#embed "../PresenceServer/Features/Accounts/Identities/Scripts/add-identity.lua"
};
ASSET(add_identity)

static const unsigned char drop_identities_bytes[] = {
#embed "../PresenceServer/Features/Accounts/Identities/Scripts/drop-identities.lua"
};
ASSET(drop_identities)

static const unsigned char end_consent_bytes[] = {
#embed "../PresenceServer/Features/Accounts/Identities/Scripts/end-consent.lua"
};
ASSET(end_consent)

static const unsigned char end_identity_bytes[] = {
#embed "../PresenceServer/Features/Accounts/Identities/Scripts/end-identity.lua"
};
ASSET(end_identity)

static const unsigned char enter_identity_bytes[] = {
#embed "../PresenceServer/Features/Accounts/Identities/Scripts/enter-identity.lua"
};
ASSET(enter_identity)

static const unsigned char holds_identity_bytes[] = {
#embed "../PresenceServer/Features/Accounts/Identities/Scripts/holds-identity.lua"
};
ASSET(holds_identity)

static const unsigned char identity_state_bytes[] = {
#embed "../PresenceServer/Features/Accounts/Identities/Scripts/identity-state.lua"
};
ASSET(identity_state)

static const unsigned char sign_up_identity_bytes[] = {
#embed "../PresenceServer/Features/Accounts/Identities/Scripts/sign-up-identity.lua"
};
ASSET(sign_up_identity)

static const unsigned char want_identity_bytes[] = {
#embed "../PresenceServer/Features/Accounts/Identities/Scripts/want-identity.lua"
};
ASSET(want_identity)

static const unsigned char want_upgrade_bytes[] = {
#embed "../PresenceServer/Features/Accounts/Guests/Scripts/want-upgrade.lua"
};
ASSET(want_upgrade)

// ---- Usernames ----

static const unsigned char change_username_bytes[] = {
#embed "../PresenceServer/Features/Usernames/Scripts/change-username.lua"
};
ASSET(change_username)

static const unsigned char people_starting_bytes[] = {
#embed "../PresenceServer/Features/Usernames/Scripts/people-starting.lua"
};
ASSET(people_starting)

// ---- History ----

static const unsigned char history_bytes[] = {
#embed "../PresenceServer/Features/History/Scripts/history.lua"
};
ASSET(history)

static const unsigned char evidence_bytes[] = {
#embed "../PresenceServer/Features/AbuseReports/Scripts/evidence.lua"
};
ASSET(evidence)

static const unsigned char report_bytes[] = {
#embed "../PresenceServer/Features/AbuseReports/Scripts/report.lua"
};
ASSET(report)

static const unsigned char decide_report_bytes[] = {
#embed "../PresenceServer/Features/AbuseReports/Scripts/decide-report.lua"
};
ASSET(decide_report)

static const unsigned char backend_key_lib_bytes[] = {
#embed "../PresenceServer/Features/BackendKeys/Scripts/backend-key-lib.lua"
};
ASSET(backend_key_lib)

static const unsigned char judge_key_bytes[] = {
#embed "../PresenceServer/Features/BackendKeys/Scripts/judge-key.lua"
};
ASSET(judge_key)

static const unsigned char make_key_bytes[] = {
#embed "../PresenceServer/Features/BackendKeys/Scripts/make-key.lua"
};
ASSET(make_key)

static const unsigned char rotate_key_bytes[] = {
#embed "../PresenceServer/Features/BackendKeys/Scripts/rotate-key.lua"
};
ASSET(rotate_key)

static const unsigned char revoke_key_bytes[] = {
#embed "../PresenceServer/Features/BackendKeys/Scripts/revoke-key.lua"
};
ASSET(revoke_key)

static const unsigned char ask_contact_bytes[] = {
#embed "../PresenceServer/Features/ContactRequests/Scripts/ask-contact.lua"
};
ASSET(ask_contact)

static const unsigned char answer_contact_bytes[] = {
#embed "../PresenceServer/Features/ContactRequests/Scripts/answer-contact.lua"
};
ASSET(answer_contact)

static const unsigned char asking_bytes[] = {
#embed "../PresenceServer/Features/ContactRequests/Scripts/asking.lua"
};
ASSET(asking)

static const unsigned char deliver_asked_bytes[] = {
#embed "../PresenceServer/Features/ContactRequests/Scripts/deliver-asked.lua"
};
ASSET(deliver_asked)

static const unsigned char withdraw_asked_bytes[] = {
#embed "../PresenceServer/Features/ContactRequests/Scripts/withdraw-asked.lua"
};
ASSET(withdraw_asked)

static const unsigned char accept_asked_bytes[] = {
#embed "../PresenceServer/Features/ContactRequests/Scripts/accept-asked.lua"
};
ASSET(accept_asked)

static const unsigned char forget_asked_bytes[] = {
#embed "../PresenceServer/Features/ContactRequests/Scripts/forget-asked.lua"
};
ASSET(forget_asked)

static const unsigned char ban_lib_bytes[] = {
#embed "../PresenceServer/Features/Banning/Scripts/ban-lib.lua"
};
ASSET(ban_lib)

static const unsigned char ban_bytes[] = {
#embed "../PresenceServer/Features/Banning/Scripts/ban.lua"
};
ASSET(ban)

static const unsigned char unban_bytes[] = {
#embed "../PresenceServer/Features/Banning/Scripts/unban.lua"
};
ASSET(unban)

static const unsigned char ban_member_bytes[] = {
#embed "../PresenceServer/Features/Banning/Scripts/ban-member.lua"
};
ASSET(ban_member)

static const unsigned char unban_member_bytes[] = {
#embed "../PresenceServer/Features/Banning/Scripts/unban-member.lua"
};
ASSET(unban_member)

static const unsigned char bans_bytes[] = {
#embed "../PresenceServer/Features/Banning/Scripts/bans.lua"
};
ASSET(bans)

// ---- Photos ----

static const unsigned char set_photo_bytes[] = {
#embed "../PresenceServer/Features/Photos/Scripts/set-photo.lua"
};
ASSET(set_photo)

// ---- Attachments ----

static const unsigned char attach_bytes[] = {
#embed "../PresenceServer/Features/Attachments/Scripts/attach.lua"
};
ASSET(attach)

static const unsigned char attachment_lib_bytes[] = {
#embed "../PresenceServer/Features/Attachments/Scripts/attachment-lib.lua"
};
ASSET(attachment_lib)

static const unsigned char release_attachment_bytes[] = {
#embed "../PresenceServer/Features/Attachments/Scripts/release-attachment.lua"
};
ASSET(release_attachment)

// ---- Conversations ----

static const unsigned char create_bytes[] = {
#embed "../PresenceServer/Features/Conversations/Scripts/create.lua"
};
ASSET(create)

static const unsigned char reserve_bytes[] = {
#embed "../PresenceServer/Features/Conversations/Scripts/reserve.lua"
};
ASSET(reserve)

static const unsigned char direct_bytes[] = {
#embed "../PresenceServer/Features/Conversations/Scripts/direct.lua"
};
ASSET(direct)

static const unsigned char members_bytes[] = {
#embed "../PresenceServer/Features/Conversations/Scripts/members.lua"
};
ASSET(members)

static const unsigned char participants_bytes[] = {
#embed "../PresenceServer/Features/Conversations/Scripts/participants.lua"
};
ASSET(participants)

static const unsigned char joining_bytes[] = {
#embed "../PresenceServer/Features/Conversations/Scripts/joining.lua"
};
ASSET(joining)

static const unsigned char enroll_bytes[] = {
#embed "../PresenceServer/Features/Conversations/Scripts/enroll.lua"
};
ASSET(enroll)

static const unsigned char settle_bytes[] = {
#embed "../PresenceServer/Features/Conversations/Scripts/settle.lua"
};
ASSET(settle)

static const unsigned char answer_request_bytes[] = {
#embed "../PresenceServer/Features/Conversations/Scripts/answer-request.lua"
};
ASSET(answer_request)

static const unsigned char settings_bytes[] = {
#embed "../PresenceServer/Features/Conversations/Scripts/settings.lua"
};
ASSET(settings)

static const unsigned char rename_bytes[] = {
#embed "../PresenceServer/Features/Conversations/Scripts/rename.lua"
};
ASSET(rename)

static const unsigned char mark_bytes[] = {
#embed "../PresenceServer/Features/Conversations/Scripts/mark.lua"
};
ASSET(mark)

static const unsigned char receipts_bytes[] = {
#embed "../PresenceServer/Features/Conversations/Scripts/receipts.lua"
};
ASSET(receipts)

static const unsigned char receipts_page_bytes[] = {
#embed "../PresenceServer/Features/Conversations/Scripts/receipts-page.lua"
};
ASSET(receipts_page)

static const unsigned char receipts_member_bytes[] = {
#embed "../PresenceServer/Features/Conversations/Scripts/receipts-member.lua"
};
ASSET(receipts_member)

static const unsigned char conversation_lib_bytes[] = {
#embed "../PresenceServer/Features/Conversations/Scripts/conversation-lib.lua"
};
ASSET(conversation_lib)

// ---- Messages ----

static const unsigned char message_lib_bytes[] = {
#embed "../PresenceServer/Features/Messages/Scripts/message-lib.lua"
};
ASSET(message_lib)

static const unsigned char send_bytes[] = {
#embed "../PresenceServer/Features/Messages/Scripts/send.lua"
};
ASSET(send)

static const unsigned char edit_message_bytes[] = {
#embed "../PresenceServer/Features/Messages/Scripts/edit-message.lua"
};
ASSET(edit_message)

static const unsigned char delete_message_bytes[] = {
#embed "../PresenceServer/Features/Messages/Scripts/delete-message.lua"
};
ASSET(delete_message)

static const unsigned char erase_messages_bytes[] = {
#embed "../PresenceServer/Features/Messages/Scripts/erase-messages.lua"
};
ASSET(erase_messages)

static const unsigned char messages_bytes[] = {
#embed "../PresenceServer/Features/Messages/Scripts/messages.lua"
};
ASSET(messages)

static const unsigned char catch_up_bytes[] = {
#embed "../PresenceServer/Features/Messages/Scripts/catch-up.lua"
};
ASSET(catch_up)

static const unsigned char log_page_bytes[] = {
#embed "../PresenceServer/Features/Messages/Scripts/log-page.lua"
};
ASSET(log_page)

static const unsigned char mend_log_bytes[] = {
#embed "../PresenceServer/Features/Messages/Scripts/mend-log.lua"
};
ASSET(mend_log)

static const unsigned char expire_messages_bytes[] = {
#embed "../PresenceServer/Features/Messages/Scripts/expire-messages.lua"
};
ASSET(expire_messages)

static const unsigned char find_aging_bytes[] = {
#embed "../PresenceServer/Features/Messages/Scripts/find-aging.lua"
};
ASSET(find_aging)

static const unsigned char departing_bytes[] = {
#embed "../PresenceServer/Features/Conversations/Scripts/departing.lua"
};
ASSET(departing)

static const unsigned char depart_bytes[] = {
#embed "../PresenceServer/Features/Conversations/Scripts/depart.lua"
};
ASSET(depart)

// ---- Delivery to other servers ----

static const unsigned char lead_courier_bytes[] = {
#embed "../PresenceServer/Delivery/Scripts/lead-courier.lua"
};
ASSET(lead_courier)

static const unsigned char queue_add_bytes[] = {
#embed "../PresenceServer/Delivery/Scripts/queue-add.lua"
};
ASSET(queue_add)

static const unsigned char queue_lib_bytes[] = {
#embed "../PresenceServer/Delivery/Scripts/queue-lib.lua"
};
ASSET(queue_lib)

static const unsigned char queue_take_bytes[] = {
#embed "../PresenceServer/Delivery/Scripts/queue-take.lua"
};
ASSET(queue_take)

static const unsigned char queue_left_bytes[] = {
#embed "../PresenceServer/Delivery/Scripts/queue-left.lua"
};
ASSET(queue_left)

static const unsigned char queue_settle_bytes[] = {
#embed "../PresenceServer/Delivery/Scripts/queue-settle.lua"
};
ASSET(queue_settle)

// ---- Notifications ----

static const unsigned char notification_lib_bytes[] = {
#embed "../PresenceServer/Features/Notifications/Scripts/notification-lib.lua"
};
ASSET(notification_lib)

static const unsigned char notify_bytes[] = {
#embed "../PresenceServer/Features/Notifications/Scripts/notify.lua"
};
ASSET(notify)

static const unsigned char mark_notifications_bytes[] = {
#embed "../PresenceServer/Features/Notifications/Scripts/mark-notifications.lua"
};
ASSET(mark_notifications)

static const unsigned char notifications_bytes[] = {
#embed "../PresenceServer/Features/Notifications/Scripts/notifications.lua"
};
ASSET(notifications)

// ---- Pushes ----

static const unsigned char set_device_bytes[] = {
#embed "../PresenceServer/Features/Push/Scripts/set-device.lua"
};
ASSET(set_device)

static const unsigned char push_lib_bytes[] = {
#embed "../PresenceServer/Features/Push/Scripts/push-lib.lua"
};
ASSET(push_lib)

static const unsigned char push_facts_bytes[] = {
#embed "../PresenceServer/Features/Push/Scripts/push-facts.lua"
};
ASSET(push_facts)

static const unsigned char push_forget_bytes[] = {
#embed "../PresenceServer/Features/Push/Scripts/push-forget.lua"
};
ASSET(push_forget)

static const unsigned char push_message_bytes[] = {
#embed "../PresenceServer/Features/Push/Scripts/push-message.lua"
};
ASSET(push_message)

static const unsigned char push_note_bytes[] = {
#embed "../PresenceServer/Features/Push/Scripts/push-note.lua"
};
ASSET(push_note)

static const unsigned char push_withdraw_bytes[] = {
#embed "../PresenceServer/Features/Push/Scripts/push-withdraw.lua"
};
ASSET(push_withdraw)

static const unsigned char push_held_bytes[] = {
#embed "../PresenceServer/Features/Push/Scripts/push-held.lua"
};
ASSET(push_held)

static const unsigned char push_release_bytes[] = {
#embed "../PresenceServer/Features/Push/Scripts/push-release.lua"
};
ASSET(push_release)

static const unsigned char push_hold_bytes[] = {
#embed "../PresenceServer/Features/Push/Scripts/push-hold.lua"
};
ASSET(push_hold)

static const unsigned char push_notification_bytes[] = {
#embed "../PresenceServer/Features/Push/Scripts/push-notification.lua"
};
ASSET(push_notification)

static const unsigned char set_notification_settings_bytes[] = {
#embed "../PresenceServer/Features/NotificationSettings/Scripts/set-notification-settings.lua"
};
ASSET(set_notification_settings)

static const unsigned char push_take_bytes[] = {
#embed "../PresenceServer/Features/Push/Scripts/push-take.lua"
};
ASSET(push_take)

static const unsigned char push_settle_bytes[] = {
#embed "../PresenceServer/Features/Push/Scripts/push-settle.lua"
};
ASSET(push_settle)
