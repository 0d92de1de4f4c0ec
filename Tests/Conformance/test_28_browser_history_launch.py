"""How long a page waits for what the device has: run with `-s`, it prints the times of docs/performance.md."""

import statistics

from support.history import KEPT, load
from support.library import tab
from support.line import Line

CONVERSATIONS, MESSAGES = 100, 50

FILL = f"""
    const {{ History, limitsOf }} = await import("/presence-history.js");
    const at = Date.now();
    const text = "On my way, and there in ten minutes. Shall I bring something for the two of you?";
    const ids = Array.from({{ length: {CONVERSATIONS} }}, (_, n) => `conversation-${{n}}`);
    const message = (id, seq) => ({{ id: `${{id}}-${{seq}}`, seq, version: seq, from: seq % 2 ? "ana" : "bob", at: at + seq, text }});
    const talk = (id) => ({{ messages: Array.from({{ length: {MESSAGES} }}, (_, n) => message(id, n + 1)), after: {MESSAGES}, version: {MESSAGES} }});
    const conversation = (id, n) => ({{
        id, version: 1, kind: "direct", participants: ["ana", "bob"], createdAt: at - n, first: 1, last: {MESSAGES}, lastMessage: message(id, {MESSAGES}),
        members: ["ana", "bob"].map((user) => ({{ user, read: 40, delivered: 40 }})), unread: 10,
    }});
    const history = new History(location.origin, "ana", limitsOf({{}}), () => ({{}}));
    history.isWhole = true;
    await history.begin();
    ids.forEach((id, n) => (history.store(conversation(id, n)), history.storeMessages(id, () => talk(id))));
    history.flush();
"""

LAUNCH = f"""
    const began = performance.now();
    const since = () => performance.now() - began;
    open(() => new Promise(() => {{}}));
    const messages = new library.PresenceMessages(client, {{ user: "ana" }});
    const first = async (loop) => (await loop.next()).value;
    const list = await first(messages.conversations());
    const times = [since()];
    const page = await first(messages.messages(list[0].id));
    times.push(since());
    const all = await Promise.all(list.map(({{ id }}) => first(messages.messages(id))));
    times.push(since());
    if (list.length !== {CONVERSATIONS} || list[0].live || page.live || [page, ...all].some((each) => each.messages.length !== {MESSAGES})) throw new Error("not all");
    return times;
"""


async def test_a_launch_without_a_network_does_not_wait_long_for_what_is_stored(chromium, server):
    async with Line(server) as line, chromium:
        page = await tab(chromium, line)
        await page.run(KEPT + FILL)
        await page.until(f"await keptKeys() === '{CONVERSATIONS} {CONVERSATIONS}'")
        times = []
        for _ in range(7):
            await load(page, line)
            line.cut()
            times.append(await page.run(LAUNCH))
        for what, taken in zip(("the list", "and the messages of one", "and of all 100"), zip(*times)):
            print(f"{what}: {statistics.median(taken):.0f} ms ({min(taken):.0f} to {max(taken):.0f})")
            assert statistics.median(taken) < 1_000
