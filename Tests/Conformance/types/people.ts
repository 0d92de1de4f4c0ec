// The code of a TypeScript app about people, for the type checker: see apps.ts.
import * as told from "./presence.js";
import * as toldPeople from "./presence-people.js";
import * as madePeople from "./made/presence-people.js";

type Members<Told> = { [Name in keyof Told]: Told[Name] extends (...given: infer Given) => unknown ? (...given: Given) => unknown : unknown };
type None<Names extends never> = Names;

export const fits = (people: madePeople.PresencePeople): Members<toldPeople.PresencePeople> => people;
export type Nothing = None<Exclude<keyof madePeople.PresencePeople, keyof toldPeople.PresencePeople>>;

export async function look(client: told.PresenceClient, account: told.PresenceAccount, signal: AbortSignal): Promise<string> {
  const people = new toldPeople.PresencePeople(client);
  const found = await people.find("bob");
  const [first] = await people.search("an", { limit: 5 });
  const archive: Blob = await people.export({ signal, progress: (share) => share.toFixed(2) });
  await account.deleteAccount("correct horse battery", { messages: "delete" });
  for await (const requests of people.requests({ signal })) {
    for (const { user, at, text } of requests) if (at > 0 && text !== "") await people.answer(user, true);
  }
  await people.ask("cy", { text: "We met in Lyon" });
  // @ts-expect-error: an answer is needed
  await people.answer("cy");
  // @ts-expect-error: a number
  await people.search("an", { limit: "5" });
  // @ts-expect-error: a reason is needed
  await people.report({ user: "eve" });
  // @ts-expect-error: keep or delete
  await account.deleteAccount("correct horse battery", { messages: "some" });
  // @ts-expect-error: there may be no such user
  found.profile;
  return (await people.report({ user: first.user, reason: "spam" })) + archive.size + first.profile?.displayName;
}
