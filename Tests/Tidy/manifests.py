"""Checks that Package@swift-6.1.swift, for older toolchains, describes the client as Package.swift does."""

import re


def calls(text, kind):
    """The outermost calls `.kind(…)`, without white space and compiler settings."""
    found, place = [], 0
    while (place := text.find(f".{kind}(", place)) >= 0:
        end, depth = text.index("(", place) + 1, 1
        while depth:
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        call = re.sub(r",swiftSettings:\w+", "", re.sub(r"\s+", "", text[place:end]))
        found.append(call.replace(",)", ")").replace(",]", "]"))
        place = end
    return found


def named(found):
    return {re.search(r'name:"([^"]+)"', call).group(1): call for call in found}


class Manifest:
    def __init__(self, path):
        text = "\n".join(re.sub(r"(^|\s)//.*", "", line) for line in path.read_text().splitlines())
        self.platforms = re.search(r"platforms: (\[.*\])", text).group(1)
        self.products = named(calls(text[text.index("\n    products: ["):text.index("\n    traits: [")], "library"))
        self.targets = named(calls(text[text.index("\n    targets: ["):], "target"))

    def needed(self):
        """The targets of the products, and the targets that these depend on."""
        needed, waiting = set(), list(self.products)
        while waiting:
            target = waiting.pop()
            if target in needed or target not in self.targets:
                continue
            needed.add(target)
            waiting += re.findall(r'"([^"]+)"', self.targets[target])
        return needed


def differences(root):
    """The differences in the manifest for older toolchains."""
    whole, client = Manifest(root / "Package.swift"), Manifest(root / "Package@swift-6.1.swift")
    if whole.platforms != client.platforms:
        yield f"platforms differ: {client.platforms}, and in Package.swift {whole.platforms}"
    for what, there in [("products", whole.products), ("targets", {n: whole.targets[n] for n in whole.needed()})]:
        here = getattr(client, what)
        for each in sorted(here.keys() | there.keys()):
            if here.get(each) != there.get(each):
                yield f"{each} of {what} is {here.get(each, 'missing')}, and in Package.swift {there.get(each, 'missing')}"
