"""The texts of mails in config/mail: each language has every mail, with the placeholders of the English one."""

import re

PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")
LANGUAGES = {"en", "de"}


def faults(root):
    """Pairs of a place and what is wrong there."""
    texts = {}
    for path in sorted((root / "config/mail").iterdir()):
        name, language, kind = path.name.split(".")
        texts.setdefault(name, {})[language, kind] = path.read_text()
    kinds = (root / "Sources/PresenceServer/Features/Accounts/Mail/MailTemplate.swift").read_text()
    names = set(re.findall(r'^    case \w+ = "([a-z-]+)"$', kinds, re.M))
    if names != texts.keys():
        yield "config/mail", f"has {sorted(texts)}, and the server {sorted(names)}"
    for name, found in texts.items():
        if {language for language, kind in found if kind == "txt"} != LANGUAGES:
            yield f"config/mail/{name}", f"is there as {sorted(found)}"
        wanted = sorted(PLACEHOLDER.findall(found.get(("en", "txt"), "")))
        for (language, kind), text in found.items():
            if sorted(PLACEHOLDER.findall(text)) != wanted:
                yield f"config/mail/{name}.{language}.{kind}", f"has other placeholders than {wanted}"
            if kind == "txt" and not re.match(r"\S.*\n\n\S", text):
                yield f"config/mail/{name}.{language}.{kind}", "has no subject, empty line and text"
