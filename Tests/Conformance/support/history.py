"""Pages of presence-messages.js that begin without a network, and what they keep on the device."""

import json

from .library import BLANK, MODULE, begin, follow, opened

KEPT = """
    globalThis.kept = (change = () => {}) => {
        const { got, historyOf, transact } = presence.internals;
        return transact(historyOf(location.origin), async (store) => {
            change(store);
            const [keys, values] = [await got(store.getAllKeys()), await got(store.getAll())];
            return Object.fromEntries(keys.map((key, place) => [[key].flat().join(" "), values[place]]));
        });
    };
    globalThis.keptKeys = async () => {
        // Not all the time: it is a transaction, too.
        await new Promise((resolve) => setTimeout(resolve, 200));
        const { got, historyOf, transact } = presence.internals;
        const keys = await transact(historyOf(location.origin), (store) => got(store.getAllKeys()));
        return ["list", "talk"].map((kind) => keys.filter(([each]) => each === kind).length).join(" ");
    };
"""
"""`kept()` has what the database contains, by key: the owner, `list ID` and `talk ID`. `keptKeys()` counts the latter."""

SEQS = "seen.page.value?.messages.map((each) => each.seq)"


async def load(page, line):
    """The page anew, with the library."""
    line.mend()
    await page.go("about:blank")
    await page.go(line.origin + BLANK)
    await page.run(MODULE + KEPT + "globalThis.library = await import('/presence-messages.js');")


async def launch(page, line, room, person="ana", **options):
    """Loads the page, and begins with a user when the network is gone."""
    await load(page, line)
    line.cut()
    user = room.name(person)
    await page.run(f"""
        open({room.token(person)!r});
        globalThis.messages = new library.PresenceMessages(client, {{ user: {user!r}, ...{json.dumps(options)} }});
        follow("list", messages.conversations());""")


async def return_online(page, line):
    line.mend()
    await page.run("client.reconnect()")
    await page.until("client.connection.state === 'live'")


async def start_online(page, line, room, person="ana", **options):
    await load(page, line)
    await opened(page, room.token(person))
    await begin(page, room.name(person), **options)


async def show(page, conversation, name="page"):
    """A loop over the messages, whether they are live or not."""
    await follow(page, name, f"messages.messages({conversation!r})")


async def is_kept(page, conversation, last, count=None):
    """Waits until the device has the messages of a conversation up to a number."""
    wanted = f"held?.messages.at(-1)?.seq === {last}" + (f" && held.messages.length === {count}" if count else "")
    await page.until(f"await kept().then((all) => {{ const held = all['talk {conversation}']; return {wanted}; }})",
                     f"messages up to {last} are stored")
