/** Composables for Vue 3.3 and later. Each ref is `undefined` until its value is known, and while the client is `undefined`. */
import type { MaybeRefOrGetter, ShallowRef } from "vue";
import type { Connection, Own, Person, PresenceClient, Typing } from "./presence.js";
import type { Conversation, MessagePage, NoConversation, PresenceMessages } from "./presence-messages.js";

type Client = MaybeRefOrGetter<PresenceClient | undefined>;
type Messages = MaybeRefOrGetter<PresenceMessages | undefined>;
type Newest<Value> = Readonly<ShallowRef<Value | undefined>>;

export function useConnection(client: Client): Newest<Connection>;
export function useMe(client: Client): Newest<Own>;
export function usePerson(client: Client, user: MaybeRefOrGetter<string>): Newest<Person>;
export function usePeople(client: Client, users: MaybeRefOrGetter<readonly string[]>): Newest<Person[]>;
export function useTyping(client: Client, conversation: MaybeRefOrGetter<string>): Newest<Typing>;
export function useConversations(messages: Messages): Newest<Conversation[]>;
export function useConversation(messages: Messages, id: MaybeRefOrGetter<string>): Newest<Conversation | NoConversation>;
export function useMessages(messages: Messages, id: MaybeRefOrGetter<string>): Newest<MessagePage>;
