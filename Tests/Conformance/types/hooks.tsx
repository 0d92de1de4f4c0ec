// A component that is written with the hooks, for the type checker.
import { PresenceClient } from "presence-client";
import { PresenceMessages } from "presence-client/messages";
import * as react from "presence-client/react";
import * as vue from "presence-client/vue";

export function status(token: () => Promise<string>, user: string): string[] {
  const client: PresenceClient | undefined = react.useClosing(() => new PresenceClient({ url: "https://presence.example.org", token }), [token]);
  const messages = react.useClosing(() => client && new PresenceMessages(client), [client]);
  const person = react.usePerson(client, user);
  // @ts-expect-error: it may be undefined
  person.presence;
  const all: string[] = react.usePeople(client, [user, "cy"])?.map(({ user: id, live }) => `${id} ${live}`) ?? [];
  const typing: string[] = react.useTyping(client, "c")?.users ?? [];
  const texts = react.useMessages(messages, "c")?.messages.map(({ text }) => text) ?? [];
  const conversation = react.useConversation(messages, "c");
  const names = react.useConversations(messages)?.map(({ name }) => name ?? "") ?? [];
  // @ts-expect-error: a user is a text
  react.usePerson(client, 5);
  const state = react.useConnection(client)?.state === "live" ? react.useMe(client)?.user ?? "" : "";
  return [person?.presence?.status ?? "unknown", ...all, ...typing, ...texts, ...names, conversation?.id ?? "", state];
}

export function composed(client: PresenceClient, user: { value: string }): string | undefined {
  const person = vue.usePerson(client, () => user.value);
  const people = vue.usePeople(() => client, ["bob"]);
  // @ts-expect-error: it may be undefined
  person.value.presence;
  const shown = person.value?.presence?.status ?? people.value?.[0]?.user ?? vue.useConnection(client).value?.state;
  // @ts-expect-error: it is only read
  person.value = undefined;
  return shown;
}
