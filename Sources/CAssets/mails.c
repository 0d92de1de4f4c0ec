// The built-in texts of mails.
#include "embedding.h"

static const unsigned char mail_verify_email_bytes[] = {
#embed "../../config/mail/verify-email.en.txt"
};
ASSET(mail_verify_email)

static const unsigned char mail_reset_password_bytes[] = {
#embed "../../config/mail/reset-password.en.txt"
};
ASSET(mail_reset_password)

static const unsigned char mail_change_email_bytes[] = {
#embed "../../config/mail/change-email.en.txt"
};
ASSET(mail_change_email)

static const unsigned char mail_sign_in_code_bytes[] = {
#embed "../../config/mail/sign-in-code.en.txt"
};
ASSET(mail_sign_in_code)

static const unsigned char mail_account_exists_bytes[] = {
#embed "../../config/mail/account-exists.en.txt"
};
ASSET(mail_account_exists)

static const unsigned char mail_email_changed_bytes[] = {
#embed "../../config/mail/email-changed.en.txt"
};
ASSET(mail_email_changed)

static const unsigned char mail_identity_added_bytes[] = {
#embed "../../config/mail/identity-added.en.txt"
};
ASSET(mail_identity_added)

static const unsigned char mail_identity_removed_bytes[] = {
#embed "../../config/mail/identity-removed.en.txt"
};
ASSET(mail_identity_removed)

static const unsigned char mail_password_changed_bytes[] = {
#embed "../../config/mail/password-changed.en.txt"
};
ASSET(mail_password_changed)

static const unsigned char mail_new_device_bytes[] = {
#embed "../../config/mail/new-device.en.txt"
};
ASSET(mail_new_device)
