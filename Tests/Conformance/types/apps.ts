// The code of a TypeScript app, for the type checker: all of it must pass, except each line after @ts-expect-error.
// test_28_browser_files.py puts the types beside this file, and the scripts themselves into made/.
import * as told from "./presence.js";
import * as toldMessages from "./presence-messages.js";
import * as made from "./made/presence.js";
import * as madeMessages from "./made/presence-messages.js";

// Each class has exactly the members of its type.

type Members<Told> = { [Name in keyof Told]: Told[Name] extends (...given: infer Given) => unknown ? (...given: Given) => unknown : unknown };
type Untold<Made, Told> = Exclude<keyof Made, keyof Told>;
type None<Names extends never> = Names;

export const fits = (
  client: made.PresenceClient, account: made.PresenceAccount, messages: madeMessages.PresenceMessages,
): [Members<told.PresenceClient>, Members<told.PresenceAccount>, Members<toldMessages.PresenceMessages>] => [client, account, messages];
export const account: typeof told.PresenceAccount = made.PresenceAccount;
export const messages: typeof toldMessages.PresenceMessages = madeMessages.PresenceMessages;
export type Nothing =
  | None<Untold<made.PresenceClient, told.PresenceClient>>
  | None<Untold<made.PresenceAccount, told.PresenceAccount>>
  | None<Untold<made.PresenceError, told.PresenceError>>
  | None<Untold<madeMessages.PresenceMessages, toldMessages.PresenceMessages>>;

// People, the own user, and calls.

export async function people(signal: AbortSignal): Promise<string[]> {
  const client = new told.PresenceClient({ token: async ({ renew }) => (renew ? "new" : "old"), device: { kind: "web", name: "App" } });
  const shown: string[] = [];
  for await (const person of client.person("bob", { signal })) {
    shown.push(person.profile?.displayName ?? person.user, person.presence?.status ?? "unknown");
    const lastSeen: number | undefined = person.presence?.lastSeen;
    // @ts-expect-error: it may be null
    shown.push(person.presence.status, String(lastSeen));
  }
  for await (const all of client.people(["bob", "cy"])) shown.push(...all.filter(({ live }) => live).map(({ user }) => user));
  for await (const { users, more, error } of client.typing("c")) shown.push(...users, String(more), error?.code ?? "");
  for await (const own of client.me()) {
    const receipts: "everyone" | "nobody" = own.visibility?.receipts ?? "everyone";
    const audience: told.Audience = own.visibility?.lastSeen ?? "everyone";
    const most: number = own.limits?.subscribeBatch ?? 1000;
    shown.push(receipts, audience, String(most), own.status?.text ?? "");
  }
  for await (const { state, error } of client.connections()) {
    if (state === "refused") throw new Error(error?.message);
    // @ts-expect-error: no such state
    if (state === "connected") break;
  }
  await client.setStatus("busy", { text: null, clearAfter: 60_000 });
  // @ts-expect-error: this cannot be chosen
  await client.setStatus("offline");
  client.addEventListener("person", ({ detail }) => shown.push(detail.user, detail.presence?.status ?? ""));
  client.addEventListener("connection", ({ detail: { state, retryAt } }) => shown.push(state, String(retryAt ?? 0)), { signal });
  client.addEventListener("own", ({ detail }) => shown.push(detail.user ?? ""));
  client.addEventListener("heard", ({ detail }) => shown.push(detail.type));
  // @ts-expect-error: a person has no such member
  client.addEventListener("person", ({ detail }) => shown.push(detail.name));
  const [bob] = await client.get(["bob"]);
  const { id } = await client.createConversation(["bob"]);
  client.setTyping(id, bob?.presence.status === "online");
  const token: string = await client.token({ renew: true });
  shown.push(token);
  await client.request("block", { users: ["eve"] });
  client.close();
  return shown;
}

// Accounts.

export async function accounts(picture: Blob): Promise<void> {
  const account = new told.PresenceAccount();
  const signedIn = await account.signUp({ email: "ana@example.org", password: "secret", displayName: "Ana" });
  // @ts-expect-error: null if the server hides it
  signedIn.user;
  const { photoURL } = await account.setPhoto(picture, { progress: (share: number) => console.log(share) });
  await account.update({ photoURL, setupCompleted: true });
  const { available, reason } = await account.checkUsername("ana");
  const found = await account.findUser("bob");
  // @ts-expect-error: it may be null
  const id: string = found.user;
  const called: string | undefined = found?.profile?.displayName;
  if (!available && reason === "taken") console.log("taken");
  try {
    await account.signIn("ana@example.org", "wrong");
  } catch (error) {
    if (error instanceof told.PresenceError && error.reason === "invalid_credentials") console.log(error.retryAfter);
  }
  account.addEventListener("state", ({ detail }) => console.log(detail?.account.email));
  for await (const state of account.states()) if (state) new told.PresenceClient({ token: account });
  await account.signOut({ everywhere: true });
}

// Conversations and messages.

export async function talk(client: told.PresenceClient): Promise<number> {
  const messages = new toldMessages.PresenceMessages(client, { user: "ana" });
  for await (const all of messages.conversations()) for (const { unread, lastMessage } of all) console.log(unread, lastMessage?.text);
  for await (const conversation of messages.conversation("c")) {
    // @ts-expect-error: a conversation that the user has left has no members
    console.log(conversation.members);
    if (!("removed" in conversation)) console.log(conversation.members);
  }
  const { id } = await messages.create(["bob"], { name: "Trip", metadata: { colour: "red" } });
  new toldMessages.PresenceMessages(client, { history: false });
  new toldMessages.PresenceMessages(client, { history: { conversations: 100, bytes: 1_000_000 } });
  // @ts-expect-error: a number
  new toldMessages.PresenceMessages(client, { history: { messages: "all" } });
  for await (const page of messages.messages(id)) {
    if (page.missingBefore && !page.live) await messages.earlier(id, { before: page.missingBefore });
    for (const { status, error, readBy } of page.messages) console.log(status === "failed" ? error?.code : readBy?.length);
  }
  const sent = await messages.send(id, "Hello", { priority: { reason: "late" } });
  const why: string | undefined = (await messages.send(id, "Now", { priority: {} })).priority?.reason;
  const controller = new AbortController();
  const attachment: toldMessages.Attachment = await messages.upload(id, new File(["a"], "a.txt"), {
    progress: (share: number) => console.log(share), signal: controller.signal,
  });
  await messages.send(id, "", { attachments: [attachment, await messages.upload(id, new Blob(["a"]), { name: "b.txt" })] });
  // @ts-expect-error: no bytes
  await messages.upload(id, "text");
  await messages.registerDevice("a1", { platform: "apns" });
  // @ts-expect-error: no such service
  await messages.registerDevice("a1", { platform: "web" });
  await messages.edit(id, sent.id, "Hello again");
  await messages.mute(id, 3_600_000);
  // @ts-expect-error: a number, or all
  await messages.read(id, "all");
  console.log(why);
  return messages.unsent();
}
