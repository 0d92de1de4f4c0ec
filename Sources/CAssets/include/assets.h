/// Files of the sources that are embedded in programs, such as the scripts for Redis. Each has one accessor here and
/// one entry in a file beside this folder, which embeds it with C23's `#embed`. That takes no time to compile, and a
/// changed file is embedded again.
#pragma once
#include <stddef.h>

/// A file's bytes. They are constants of the program, never freed, and any thread may read them.
struct asset {
    const unsigned char *_Nonnull bytes;
    size_t count;
};

// Leases, and what all scripts share
struct asset asset_fence(void);
struct asset asset_join(void);
struct asset asset_lib(void);
struct asset asset_presence_lib(void);
struct asset asset_reap(void);
struct asset asset_renew(void);
struct asset asset_sweep(void);

// Intents
struct asset asset_claim_confirm(void);
struct asset asset_claim_drop(void);
struct asset asset_claim_end(void);
struct asset asset_claim_lib(void);
struct asset asset_claim_look(void);
struct asset asset_claim_state(void);
struct asset asset_claim_take(void);
struct asset asset_claim_want(void);

// Sessions
struct asset asset_activity(void);
struct asset asset_disconnect(void);
struct asset asset_end(void);
struct asset asset_open(void);
struct asset asset_revoke(void);

// Presence
struct asset asset_lapse(void);
struct asset asset_renumber(void);
struct asset asset_status(void);

// Profiles
struct asset asset_profile(void);
struct asset asset_profile_lib(void);

// Conversations

// Typing
struct asset asset_conversation(void);
struct asset asset_typing_lib(void);
struct asset asset_typing(void);

// Visibility
struct asset asset_visibility(void);
struct asset asset_policy_lib(void);
struct asset asset_asked_lib(void);

// Passwords that are used too often to be secret: one a line, in lower case
struct asset asset_common_passwords(void);

// Accounts
struct asset asset_account(void);
struct asset asset_account_lib(void);
struct asset asset_device_lib(void);
struct asset asset_change_account(void);
struct asset asset_guess(void);
struct asset asset_guess_lib(void);
struct asset asset_take_back_guess(void);
struct asset asset_refresh_grant(void);
struct asset asset_sign_in(void);
struct asset asset_sign_out(void);
struct asset asset_sign_up(void);
struct asset asset_ask_email(void);
struct asset asset_delete_account(void);
struct asset asset_disable_account(void);
struct asset asset_email_state(void);
struct asset asset_end_email(void);
struct asset asset_forgot(void);
struct asset asset_holds_claim(void);
struct asset asset_release_claim(void);
struct asset asset_reset_password(void);
struct asset asset_set_password(void);
struct asset asset_switch_email(void);
struct asset asset_take_claim(void);
struct asset asset_take_mail(void);
struct asset asset_settle_mail(void);
struct asset asset_tell_existing(void);
struct asset asset_verify_email(void);
struct asset asset_want_email(void);
struct asset asset_unused_guests(void);
struct asset asset_ask_mail_code(void);
struct asset asset_use_mail_code(void);
struct asset asset_enter(void);
struct asset asset_add_identity(void);
struct asset asset_drop_identities(void);
struct asset asset_end_identity(void);
struct asset asset_end_consent(void);
struct asset asset_enter_identity(void);
struct asset asset_holds_identity(void);
struct asset asset_identity_state(void);
struct asset asset_sign_up_identity(void);
struct asset asset_want_identity(void);
struct asset asset_want_upgrade(void);

// Photos
struct asset asset_set_photo(void);

// Attachments
struct asset asset_attach(void);
struct asset asset_attachment_lib(void);
struct asset asset_release_attachment(void);

// Usernames
struct asset asset_change_username(void);
struct asset asset_people_starting(void);

// History
struct asset asset_history(void);
struct asset asset_evidence(void);
struct asset asset_report(void);
struct asset asset_decide_report(void);

// Keys of backends
struct asset asset_backend_key_lib(void);
struct asset asset_judge_key(void);
struct asset asset_make_key(void);
struct asset asset_rotate_key(void);
struct asset asset_revoke_key(void);

// Contact requests
struct asset asset_ask_contact(void);
struct asset asset_answer_contact(void);
struct asset asset_asking(void);
struct asset asset_deliver_asked(void);
struct asset asset_withdraw_asked(void);
struct asset asset_accept_asked(void);
struct asset asset_forget_asked(void);

// Bans
struct asset asset_ban_lib(void);
struct asset asset_ban(void);
struct asset asset_unban(void);
struct asset asset_ban_member(void);
struct asset asset_unban_member(void);
struct asset asset_bans(void);

// For browsers
struct asset asset_presence_js(void);
struct asset asset_presence_js_map(void);
struct asset asset_presence_d_ts(void);
struct asset asset_presence_messages_js(void);
struct asset asset_presence_messages_js_map(void);
struct asset asset_presence_log_js(void);
struct asset asset_presence_log_js_map(void);
struct asset asset_presence_history_js(void);
struct asset asset_presence_history_js_map(void);
struct asset asset_presence_outbox_js(void);
struct asset asset_presence_outbox_js_map(void);
struct asset asset_presence_messages_d_ts(void);
struct asset asset_presence_push_js(void);
struct asset asset_presence_push_js_map(void);
struct asset asset_presence_push_d_ts(void);
struct asset asset_presence_people_js(void);
struct asset asset_presence_people_js_map(void);
struct asset asset_presence_people_d_ts(void);
struct asset asset_presence_settings_js(void);
struct asset asset_presence_settings_js_map(void);
struct asset asset_presence_settings_d_ts(void);
struct asset asset_app_html(void);
struct asset asset_app_css(void);
struct asset asset_app_icon(void);
struct asset asset_app_js(void);
struct asset asset_app_parts_js(void);
struct asset asset_app_signing_js(void);
struct asset asset_app_profile_js(void);
struct asset asset_app_people_js(void);
struct asset asset_app_chats_js(void);
struct asset asset_app_composer_js(void);
struct asset asset_app_files_js(void);
struct asset asset_app_icons_js(void);
struct asset asset_app_inside_js(void);
struct asset asset_app_known_js(void);
struct asset asset_app_log_js(void);
struct asset asset_app_menu_js(void);
struct asset asset_app_person_js(void);
struct asset asset_app_qr_js(void);
struct asset asset_app_settings_js(void);
struct asset asset_app_worker_js(void);
struct asset asset_app_inside_css(void);
struct asset asset_app_manifest(void);
struct asset asset_app_picture(void);
struct asset asset_app_account_js(void);
struct asset asset_app_dialogs_js(void);
struct asset asset_app_finding_js(void);
struct asset asset_app_notifications_js(void);
struct asset asset_app_requests_js(void);
struct asset asset_app_stranger_js(void);
struct asset asset_app_page_js(void);
struct asset asset_app_talk_js(void);
struct asset asset_app_message_js(void);
struct asset asset_app_details_js(void);

// The console
struct asset asset_console_html(void);
struct asset asset_console_css(void);
struct asset asset_console_js(void);
struct asset asset_console_api_js(void);
struct asset asset_console_charts_js(void);
struct asset asset_console_alerts_js(void);
struct asset asset_console_runbook_js(void);
struct asset asset_console_timeline_js(void);
struct asset asset_operations_md(void);
struct asset asset_console_verdict_js(void);
struct asset asset_console_overview_js(void);
struct asset asset_console_people_js(void);
struct asset asset_console_person_js(void);
struct asset asset_console_limits_js(void);
struct asset asset_console_doctor_js(void);
struct asset asset_console_outbox_js(void);
struct asset asset_console_conversations_js(void);
struct asset asset_console_webhooks_js(void);
struct asset asset_console_keys_js(void);
struct asset asset_console_bans_js(void);
struct asset asset_console_reports_js(void);
struct asset asset_console_trace_js(void);
struct asset asset_console_playground_js(void);

// Conversations
struct asset asset_create(void);
struct asset asset_reserve(void);
struct asset asset_direct(void);
struct asset asset_members(void);
struct asset asset_participants(void);
struct asset asset_joining(void);
struct asset asset_enroll(void);
struct asset asset_settle(void);
struct asset asset_answer_request(void);
struct asset asset_settings(void);
struct asset asset_rename(void);
struct asset asset_mark(void);
struct asset asset_receipts(void);
struct asset asset_receipts_page(void);
struct asset asset_receipts_member(void);
struct asset asset_departing(void);
struct asset asset_depart(void);
struct asset asset_conversation_lib(void);

// Messages
struct asset asset_message_lib(void);
struct asset asset_send(void);
struct asset asset_edit_message(void);
struct asset asset_delete_message(void);
struct asset asset_erase_messages(void);
struct asset asset_messages(void);
struct asset asset_catch_up(void);
struct asset asset_log_page(void);
struct asset asset_mend_log(void);
struct asset asset_expire_messages(void);
struct asset asset_find_aging(void);

// Delivery to other servers
struct asset asset_lead_courier(void);
struct asset asset_queue_add(void);
struct asset asset_queue_lib(void);
struct asset asset_queue_take(void);
struct asset asset_queue_left(void);
struct asset asset_queue_settle(void);

// Mails
struct asset asset_mail_verify_email(void);
struct asset asset_mail_reset_password(void);
struct asset asset_mail_change_email(void);
struct asset asset_mail_sign_in_code(void);
struct asset asset_mail_account_exists(void);
struct asset asset_mail_email_changed(void);
struct asset asset_mail_identity_added(void);
struct asset asset_mail_identity_removed(void);
struct asset asset_mail_password_changed(void);
struct asset asset_mail_new_device(void);

// Notifications
struct asset asset_notification_lib(void);
struct asset asset_notify(void);
struct asset asset_mark_notifications(void);
struct asset asset_notifications(void);

// Pushes
struct asset asset_set_device(void);
struct asset asset_push_note(void);
struct asset asset_push_withdraw(void);
struct asset asset_push_take(void);
struct asset asset_push_settle(void);
struct asset asset_push_lib(void);
struct asset asset_push_facts(void);
struct asset asset_push_forget(void);
struct asset asset_push_message(void);
struct asset asset_push_held(void);
struct asset asset_push_release(void);
struct asset asset_push_hold(void);
struct asset asset_push_notification(void);
struct asset asset_set_notification_settings(void);
