"""Attachments in the app at /app: a file is sent, an upload is cancelled or tried again, and no content is ever run."""

from support.accounts import Accounts
from support.app import EVERYTHING, STATUS, accounts, choose, direct, enter, found, friends, press, shot, shows, stored, title  # noqa: F401 (a fixture)
from support.browser import NETWORK
from support.line import Line


async def test_what_attachments_and_texts_contain_is_shown_and_never_run(chromium, accounts):
    """The server accepts https addresses only, so the page receives a forged message here."""
    people, clients = await friends(accounts, "<img src=x onerror=alert(1)>", "שלום <b>דנה</b>")
    id = await direct(clients[0], people[1])
    await clients[1].did("send", conversation=id, message={"id": "one", "text": "<script>alert(1)</script> אבג"})
    async with Line(accounts.server) as line, chromium:
        page = await enter(chromium, line, people[0], expected=(*NETWORK, "ERR_"))
        await page.run(f"location.hash = '/talk/{id}'")
        await title(page, "שלום <b>דנה</b>")
        await shows(page, "<script>alert(1)</script>")
        assert await page.value("document.querySelectorAll('main b, main script').length") == 0
        hostile = [{"id": "a", "kind": "file", "url": "javascript:alert(1)"}, {"id": "b", "kind": "image", "url": "data:text/html,x"},
                   {"id": "c", "kind": "image", "url": "https://127.0.0.1:1/none.jpg", "thumbnailURL": "http://127.0.0.1:1/other.jpg"}]
        await page.run(f"""
            const {{ messageRow }} = await import("/app/message.js");
            const app = document.querySelector("presence-app");
            const known = {{ name: (user) => user }};
            const row = messageRow({{ app, conversation: {id!r}, known }});
            row.show({{ id: "x", seq: 9, from: "eve", at: 1, text: "שלום", attachments: {hostile} }}, {{ isDirect: false, isOwner: false, isLive: true }});
            // Beside the app's own list, which is rendered again at each event.
            const list = document.createElement("ol");
            list.append(row.node);
            document.querySelector("main").prepend(list);
            globalThis.row = row.node;""")
        assert await page.value("[...row.querySelectorAll('a')].map((each) => each.href)") == ["https://127.0.0.1:1/none.jpg"]
        # A picture that cannot be loaded is replaced by its name, and its thumbnail without https was not requested.
        await page.until("row.querySelector('a .file-name').textContent === 'none.jpg'")
        assert not [url for _, url in page.requests if "other.jpg" in url]
        assert await page.value("getComputedStyle(row.querySelector('.text')).direction") == "rtl"


async def test_a_file_is_attached(chromium, start, tmp_path):
    accounts = Accounts(start(EVERYTHING | {"attachments.enabled": True, "attachments.maxBytes": 100_000}))
    (ana, bob), (_, client) = await friends(accounts, "Ana", "Bob Ray")
    async with Line(accounts.server) as line, chromium:
        page = await enter(chromium, line, ana)
        id = await direct(client, ana)
        await page.run(f"location.hash = '/talk/{id}'")
        await title(page, "Bob Ray")
        plan, large = tmp_path / "plan.txt", tmp_path / "large.bin"
        plan.write_text("At noon")
        large.write_bytes(bytes(100_001))
        await choose(page, large)
        await press(page, "Send")
        await shows(page, "The file is too large.")
        await choose(page, plan)
        await page.until("document.querySelector('.tray .file-name')?.textContent === 'plan.txt'")
        await press(page, "Send")
        await page.until("document.querySelectorAll('.files li').length === 1")
        await page.until(f"{STATUS}?.match(/Sent|Delivered/)")
        attachment, = (await stored(accounts, id))[0]["attachments"]
        assert attachment["kind"] == "file" and attachment["sizeBytes"] == 7
        answer = await accounts.api.request("GET", attachment["url"][attachment["url"].index("/v1/"):])
        assert answer.status == 200 and answer.body == "At noon"
        await shot(page, "attachment")
        await press(page, "Chats")
        await page.until("document.querySelector('.talks .line')?.textContent === 'You: File'")


async def test_an_upload_that_the_network_ends_is_tried_again_and_one_may_be_cancelled(chromium, start, tmp_path):
    accounts = Accounts(start(EVERYTHING | {"attachments.enabled": True}))
    (ana, bob), (_, client) = await friends(accounts, "Ana", "Bob Ray")
    async with Line(accounts.server) as line, chromium:
        page = await enter(chromium, line, ana)
        id = await direct(client, ana)
        await page.run(f"location.hash = '/talk/{id}'")
        await title(page, "Bob Ray")
        plan = tmp_path / "plan.txt"
        plan.write_text("At noon")
        line.freeze()
        await choose(page, plan)
        await press(page, "Send")
        await page.until(f"{found('Cancel the upload')} && !{found('Cancel the upload')}.hidden")
        await press(page, "Cancel the upload")
        await page.until(f"{found('Attach a file')} && !{found('Attach a file')}.disabled")
        assert await page.value("document.querySelector('.composer .bad').textContent") == ""
        await choose(page, plan)
        await press(page, "Send")
        await page.until("document.querySelector('.attach').disabled")
        line.cut()
        line.open.set()
        await shows(page, "Network error. Please check your connection.")
        await shot(page, "attachment-failed")
        line.mend()
        await page.until("document.querySelector('.banner').textContent === ''")
        await press(page, "Try the upload again")
        await page.until("document.querySelectorAll('.files li').length === 1")
        await page.until("document.querySelector('.files .file-name').textContent === 'plan.txt'")
        assert await page.value("document.querySelector('.files .file-size').textContent") == "1 kB"
        assert await page.value("document.querySelector('.composer .bad').textContent") == ""
        await page.until(f"{STATUS}?.match(/Sent|Delivered/)")
        assert len(await stored(accounts, id)) == 1
