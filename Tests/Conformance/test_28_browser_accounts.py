"""presence.js and the server's accounts, in Chromium: the signed-in user, in all tabs, over reloads and without a network."""

import asyncio
import json

import pytest

from support.accounts import ON, PASSWORD, Accounts
from support.browser import NETWORK
from support.library import refused, tab
from support.line import Line
from support.patience import eventually

ACCOUNT = """
    globalThis.account = new presence.PresenceAccount();
    globalThis.signed = [];
    account.addEventListener("state", ({ detail }) => signed.push(detail?.user ?? null));
    await account.user();
    signed.length = 0;
"""


@pytest.fixture
def accounts(start):
    """A separate server, because sign-ups from one address are limited."""
    return Accounts(start(ON))


async def page_of(chromium, line, expected=NETWORK):
    page = await tab(chromium, line, expected=expected)
    await page.run(ACCOUNT)
    return page


async def again(page):
    """Loads the page again, like a user."""
    await page.reload()
    await page.run("globalThis.presence = await import('/presence.js');" + ACCOUNT)


async def sign_up(page, accounts):
    email = accounts.address()
    state = await page.run(f"return account.signUp({{ email: {email!r}, password: {PASSWORD!r}, displayName: 'Ana' }})")
    assert state["account"]["email"] == email
    return email, state["user"]


def posted(page, path):
    return [url for method, url in page.requests if url.endswith(path)]


async def test_signing_up_signs_in_also_after_a_reload(chromium, accounts):
    async with Line(accounts.server) as line, chromium:
        page = await page_of(chromium, line)
        assert await page.value("account.state") is None
        assert (await refused(page, "await account.token()"))["code"] == "unauthorized"
        email, user = await sign_up(page, accounts)
        assert await page.value("signed") == [user]
        await again(page)
        state = await page.value("account.state")
        assert state["user"] == user and state["account"]["email"] == email
        assert (await page.value("(await account.me()).profile.displayName")) == "Ana"
        assert len(posted(page, "/v1/sessions/refresh")) == 1
        # Its token opens the socket, which also delivers the own account.
        await page.run("globalThis.client = new presence.PresenceClient({ token: account })")
        await page.until("client.own.account?.email === %s" % json.dumps(email))
        # Tokens are not where scripts of other pages of the origin would look first, nor in an address.
        kept = await page.value("JSON.stringify({ ...localStorage, ...sessionStorage }) + document.cookie")
        assert "eyJ" not in kept and not [url for _, url in page.requests if "eyJ" in url]


async def test_wrong_passwords_and_taken_addresses_are_told_and_sign_nobody_out(chromium, accounts):
    async with Line(accounts.server) as line, chromium:
        page = await page_of(chromium, line)
        email, user = await sign_up(page, accounts)
        fault = await refused(page, f"await account.signIn({email!r}, 'not the password')")
        assert (fault["code"], fault["reason"], fault["status"]) == ("unauthorized", "invalid_credentials", 401)
        fault = await refused(page, f"await account.signUp({{ email: {email!r}, password: 'another long one' }})")
        assert (fault["code"], fault["reason"], fault["field"]) == ("conflict", "email_taken", "email")
        refreshed = len(posted(page, "/v1/sessions/refresh"))
        fault = await refused(page, "await account.changePassword('not the password', 'a quite new one')")
        assert fault["reason"] == "invalid_credentials"
        assert await page.value("account.state.user") == user and len(posted(page, "/v1/sessions/refresh")) == refreshed


async def test_signing_out_ends_the_session_here_in_all_tabs_and_on_the_server(chromium, accounts):
    async with Line(accounts.server) as line, chromium:
        first = await page_of(chromium, line)
        email, user = await sign_up(first, accounts)
        second = await page_of(chromium, line)
        assert await second.value("account.state.user") == user
        await second.run("globalThis.client = new presence.PresenceClient({ token: account })")
        await second.until("client.connection.state === 'live'")
        token = await first.value("await account.token()")
        await first.run("await account.signOut()")
        assert await first.value("account.state") is None
        await second.until("account.state === null")
        await second.until("client.connection.state === 'refused' && client.connection.error.code === 'unauthorized'")
        answer = await accounts.api.request("GET", "/v1/me", token=token)
        assert answer.status == 401
        # A new sign-in applies to both tabs.
        await second.run(f"await account.signIn({email!r}, {PASSWORD!r})")
        await first.until(f"account.state?.user === {user!r}")
        assert await first.value("(await account.me()).account.email") == email


async def test_a_sign_out_without_a_network_is_told_to_the_server_later(chromium, accounts):
    async with Line(accounts.server) as line, chromium:
        page = await page_of(chromium, line)
        email, _ = await sign_up(page, accounts)
        here = await accounts.signed_in(email)
        assert len((await here.call("GET", "/v1/me/sessions")).json["sessions"]) == 2
        line.cut()
        await page.run("await account.signOut()")
        assert await page.value("account.state") is None
        line.mend()
        await again(page)

        async def is_alone():
            return len((await here.call("GET", "/v1/me/sessions")).json["sessions"]) == 1
        await eventually(is_alone, "the server has ended it")
        assert await page.value("account.state") is None


async def test_without_a_network_nobody_is_signed_out(chromium, accounts):
    async with Line(accounts.server) as line, chromium:
        page = await page_of(chromium, line)
        _, user = await sign_up(page, accounts)
        line.cut()
        assert (await refused(page, "await account.token({ renew: true })"))["code"] == "network"
        # Nor does a server with internal errors sign out.
        await page.run("""
            globalThis.plain = fetch;
            globalThis.fetch = async () => new Response('{"type":"error","code":"unavailable","retryAfter":5}', { status: 503 });""")
        assert (await refused(page, "await account.token({ renew: true })"))["retryAfter"] == 5
        await page.run("globalThis.fetch = async () => new Response('<html>', { status: 502 });")
        assert (await refused(page, "await account.token({ renew: true })"))["code"] == "network"
        # Nor does a proxy that requires a password of its own.
        await page.run("""globalThis.fetch = async () => new Response('{"message":"Unauthorized"}', { status: 401 });""")
        assert (await refused(page, "await account.token({ renew: true })"))["status"] == 401
        await page.run("globalThis.fetch = plain")
        assert await page.value("account.state.user") == user
        line.mend()
        await page.run("await account.token({ renew: true })")
        assert await page.value("signed") == [user]


async def test_a_refusal_signs_out(chromium, accounts):
    async with Line(accounts.server) as line, chromium:
        page = await page_of(chromium, line)
        email, user = await sign_up(page, accounts)
        await page.run("globalThis.client = new presence.PresenceClient({ token: account })")
        await page.until("client.connection.state === 'live'")
        other = await accounts.signed_in(email)
        assert (await other.call("DELETE", "/v1/sessions/all")).status == 204
        await page.until("client.connection.state === 'refused' && account.state === null")
        assert await page.value("signed") == [user, None]


async def test_tokens_are_renewed_one_at_a_time_over_all_tabs(chromium, accounts):
    async with Line(accounts.server) as line, chromium:
        pages = [await page_of(chromium, line)]
        await sign_up(pages[0], accounts)
        pages += [await page_of(chromium, line), await page_of(chromium, line)]
        watched = """
            globalThis.plain = fetch; globalThis.now = 0; globalThis.most = 0;
            globalThis.seen = new BroadcastChannel("test");
            globalThis.fetch = async (...what) => {
                if (!String(what[0]).endsWith("/refresh")) return plain(...what);
                const other = (await navigator.locks.query()).held.filter((lock) => lock.name.startsWith("presence refresh"));
                most = Math.max(most, ++now); if (other.length !== 1) most = 99;
                try { return await plain(...what); } finally { now--; }
            };"""
        for page in pages:
            await page.run(watched)
        code = "await Promise.all(Array.from({ length: 5 }, () => account.token({ renew: true })))"
        tokens = [each for each in await asyncio.gather(*(page.value(code) for page in pages))]
        assert all(len(set(each)) == 1 for each in tokens), "each tab has one"
        assert max([await page.value("most") for page in pages]) == 1
        for page in pages:
            assert (await page.value("(await account.me()).account.user")).startswith("u-")
        assert all([len(await page.value("signed")) <= 1 for page in pages])


async def test_an_access_token_that_was_refused_is_replaced_and_the_call_made_again(chromium, accounts):
    async with Line(accounts.server) as line, chromium:
        page = await page_of(chromium, line)
        await sign_up(page, accounts)
        await page.run("""
            globalThis.plain = fetch; globalThis.times = 0;
            globalThis.fetch = async (url, how) => String(url).endsWith("/v1/me") && ++times === 1
                ? new Response('{"type":"error","code":"unauthorized"}', { status: 401 }) : plain(url, how);""")
        assert (await page.value("(await account.me()).profile.displayName")) == "Ana"
        assert await page.value("times") == 2


async def test_a_photo_whose_token_was_refused_is_sent_again_with_another(chromium, accounts):
    async with Line(accounts.server) as line, chromium:
        page = await page_of(chromium, line)
        await sign_up(page, accounts)
        await page.run('''
            globalThis.tokens = [];
            const plain = XMLHttpRequest.prototype.setRequestHeader;
            XMLHttpRequest.prototype.setRequestHeader = function (name, value) {
                tokens.push(value);
                plain.call(this, name, tokens.length === 1 ? "Bearer nonsense" : value);
            };
            const canvas = new OffscreenCanvas(64, 64);
            canvas.getContext("2d").fillRect(0, 0, 32, 32);
            globalThis.picture = await canvas.convertToBlob({ type: "image/png" });''')
        assert "/v1/photos/" in (await page.value("account.setPhoto(picture)"))["photoURL"]
        assert await page.value("tokens.length === 2 && tokens[0] !== tokens[1]")
        # Nothing is sent for a user who is not signed in.
        await page.run("await account.signOut()")
        assert (await refused(page, "await account.setPhoto(picture)"))["code"] == "unauthorized"
        assert await page.value("tokens.length") == 2


async def test_a_photo_upload_without_an_answer_is_aborted(chromium, accounts):
    async with Line(accounts.server) as line, chromium:
        page = await page_of(chromium, line)
        await sign_up(page, accounts)
        # A minute takes a tenth of a second.
        await page.run("""
            globalThis.plain = setTimeout;
            globalThis.setTimeout = (act, ms, ...rest) => plain(act, ms === 60_000 ? 100 : ms, ...rest);
            globalThis.picture = new Blob([new Uint8Array(100_000)], { type: "image/png" });
            await account.token();""")
        line.freeze()
        try:
            assert (await refused(page, "await account.setPhoto(picture)"))["code"] == "network"
        finally:
            line.open.set()


async def test_a_sign_out_that_a_renewal_overtakes_holds(chromium, accounts):
    async with Line(accounts.server) as line, chromium:
        page = await page_of(chromium, line)
        await sign_up(page, accounts)
        # Another tab has replaced the tokens when this one reads them.
        await page.run('''
            const plain = IDBObjectStore.prototype.get;
            IDBObjectStore.prototype.get = function (key) {
                const reading = plain.call(this, key);
                IDBObjectStore.prototype.get = plain;
                reading.addEventListener("success", () => this.put({ ...reading.result, refreshToken: "another" }, key));
                return reading;
            };
            await account.signOut();''')
        assert await page.value("account.state") is None
        await again(page)
        assert await page.value("account.user()") is None


async def test_a_sign_out_that_overtakes_a_renewal_holds(chromium, accounts):
    async with Line(accounts.server) as line, chromium:
        page = await page_of(chromium, line)
        email, _ = await sign_up(page, accounts)
        here = await accounts.signed_in(email)
        await page.run("""
            globalThis.plain = fetch;
            globalThis.gate = new Promise((open) => globalThis.pass = open);
            globalThis.fetch = async (url, how) => {
                const answer = await plain(url, how);
                if (String(url).endsWith("/refresh") && !globalThis.held) { globalThis.held = true; await gate; }
                return answer;
            };
            globalThis.renewal = account.token({ renew: true }).then(() => "a token", (error) => error.code);""")
        await page.until("globalThis.held")
        await page.run("await account.signOut(); pass()")
        assert await page.value("await renewal") == "unauthorized"
        assert await page.value("account.state") is None

        async def is_alone():
            return len((await here.call("GET", "/v1/me/sessions")).json["sessions"]) == 1
        await eventually(is_alone, "nothing of it goes on")


async def test_a_sign_up_whose_answer_was_lost_is_the_same_account(chromium, accounts):
    async with Line(accounts.server) as line, chromium:
        page = await page_of(chromium, line)
        email = accounts.address()
        await page.run("""
            globalThis.plain = fetch; globalThis.times = 0;
            globalThis.fetch = async (...what) => {
                const answer = await plain(...what);
                if (++times === 1) { globalThis.first = (await answer.json()).user; throw new TypeError("Failed to fetch"); }
                return answer;
            };""")
        code = f"await account.signUp({{ email: {email!r}, password: {PASSWORD!r} }})"
        assert (await refused(page, code))["code"] == "network"
        await page.run(code)
        assert await page.value("account.state.user === first")


async def test_a_password_is_set_anew_with_the_token_of_a_mail(chromium, accounts):
    async with Line(accounts.server) as line, chromium:
        page = await page_of(chromium, line)
        email, user = await sign_up(page, accounts)
        token = await accounts.mail(email, 1, "verify")
        await page.run(f"await account.verifyEmail({token!r})")
        assert await page.value("(await account.me()).account.emailVerified") is True
        await page.run(f"await account.signOut(); await account.forgotPassword({email!r})")
        token = await accounts.mail(email, 1, "reset")
        fault = await refused(page, f"await account.resetPassword({token!r}, 'short')")
        assert (fault["reason"], fault["field"]) == ("weak_password", "password")
        await page.run(f"await account.resetPassword({token!r}, 'an entirely new one')")
        fault = await refused(page, f"await account.resetPassword({token!r}, 'an entirely new one')")
        assert fault["reason"] == "token_expired"
        await page.run(f"await account.signIn({email!r}, 'an entirely new one')")
        assert await page.value("account.state.user") == user


async def test_the_own_account_is_changed_and_deleted(chromium, accounts):
    async with Line(accounts.server) as line, chromium:
        page = await page_of(chromium, line)
        email, user = await sign_up(page, accounts)
        said = await page.value("await account.update({ setupCompleted: true, timezone: 'Europe/Paris' })")
        assert said["account"]["setupCompleted"] and said["profile"]["timezone"] == "Europe/Paris"
        assert await page.value("account.state.account.setupCompleted") is True
        sessions = await page.value("await account.sessions()")
        assert len(sessions) == 1 and sessions[0]["current"] and sessions[0]["kind"] == "web"
        other = await accounts.signed_in(email)
        gone = next(each["id"] for each in await page.value("await account.sessions()") if not each["current"])
        await page.run(f"await account.endSession({gone!r})")
        assert (await other.call("GET", "/v1/me")).status == 401
        assert (await refused(page, "await account.deleteAccount('wrong one')"))["reason"] == "invalid_credentials"
        await page.run(f"await account.deleteAccount({PASSWORD!r})")
        assert await page.value("account.state") is None
        assert (await refused(page, f"await account.signIn({email!r}, {PASSWORD!r})"))["reason"] == "invalid_credentials"


# Locks


async def test_a_store_that_fails_once_fails_one_call_and_holds_no_lock(chromium, accounts):
    async with Line(accounts.server) as line, chromium:
        first, second = await page_of(chromium, line), await page_of(chromium, line)
        await sign_up(first, accounts)
        await second.until("!!account.state")
        await first.run("""
            const plain = IDBDatabase.prototype.transaction;
            let count = 0;
            IDBDatabase.prototype.transaction = function (...given) {
                if (count++ === 0) throw new DOMException("The database connection is closing.", "InvalidStateError");
                return plain.apply(this, given);
            };""")
        assert (await refused(first, "await account.token({ renew: true })")) is not None
        for page in (first, second):
            assert await page.value("(await account.token({ renew: true })).length > 0")
        assert await first.value("(await navigator.locks.query()).held.length") == 0


async def test_a_suspended_tab_in_a_renewal_blocks_no_other(chromium, accounts):
    async with Line(accounts.server) as line, chromium:
        first, second = await page_of(chromium, line), await page_of(chromium, line)
        await sign_up(first, accounts)
        await second.until("!!account.state")
        await first.run("navigator.locks.request(`presence refresh ${location.origin}`, () => new Promise(() => {})).catch(() => {})")
        await second.run("""
            // The time after which the lock counts as abandoned.
            const plain = setTimeout;
            globalThis.setTimeout = (act, wait, ...rest) => plain(act, wait === 45_000 ? 0 : wait, ...rest);""")
        assert await second.value("(await account.token({ renew: true })).length > 0")


async def test_a_store_that_never_answers_is_given_up(chromium, accounts):
    async with Line(accounts.server) as line, chromium:
        page = await page_of(chromium, line)
        await sign_up(page, accounts)
        await page.run("""
            const plain = setTimeout;
            globalThis.setTimeout = (act, wait, ...rest) => plain(act, wait === 10_000 ? 100 : wait, ...rest);
            globalThis.open = indexedDB.open;
            IDBFactory.prototype.open = () => ({});""")
        assert (await refused(page, "await account.token({ renew: true })"))["code"] == "unavailable"
        await page.run("IDBFactory.prototype.open = globalThis.open")
        assert await page.value("(await account.token({ renew: true })).length > 0")


async def test_a_changed_password_gives_this_browser_other_tokens_in_all_tabs(chromium, accounts):
    """Copies of the former tokens are invalid; the tabs continue, over a reload too."""
    async with Line(accounts.server) as line, chromium:
        page = await page_of(chromium, line)
        email, user = await sign_up(page, accounts)
        other = await page_of(chromium, line)
        stolen = await page.run("return account.token()")
        await page.run("globalThis.client = new presence.PresenceClient({ token: account })")
        await page.until("client.own.account?.email === %s" % json.dumps(email))
        await page.run(f"await account.changePassword({PASSWORD!r}, 'another long one')")
        assert (await accounts.api.request("GET", "/v1/me", token=stolen)).status == 401
        for each in (page, other):
            token = await each.run("return account.token()")
            assert token != stolen and (await accounts.api.request("GET", "/v1/me", token=token)).status == 200
            assert await each.value("account.state?.user") == user
        await page.until("client.connection.state === 'live'")
        await again(page)
        assert await page.value("account.state?.user") == user
        assert (await page.run("return account.me()"))["profile"]["displayName"] == "Ana"
