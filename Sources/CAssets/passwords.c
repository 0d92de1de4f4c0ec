// The most common passwords.
#include "embedding.h"

static const unsigned char common_passwords_bytes[] = {
#embed "../Passwords/Assets/common-passwords.txt"
};
ASSET(common_passwords)
