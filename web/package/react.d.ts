/** Hooks for React 18 and later. Each value is `undefined` until it is known, and while the client is `undefined`. */
import type { Connection, Own, Person, PresenceClient, Typing } from "./presence.js";
import type { Conversation, MessagePage, NoConversation, PresenceMessages } from "./presence-messages.js";

/**
 * Makes a client when the component is shown, anew when an input changes, and closes it with the component:
 * `useClosing(() => new PresenceClient({ token }), [token])`.
 */
export function useClosing<Made extends { close(): void }>(make: () => Made | undefined, inputs?: readonly unknown[]): Made | undefined;
export function useConnection(client: PresenceClient | undefined): Connection | undefined;
export function useMe(client: PresenceClient | undefined): Own | undefined;
export function usePerson(client: PresenceClient | undefined, user: string): Person | undefined;
export function usePeople(client: PresenceClient | undefined, users: readonly string[]): Person[] | undefined;
export function useTyping(client: PresenceClient | undefined, conversation: string): Typing | undefined;
export function useConversations(messages: PresenceMessages | undefined): Conversation[] | undefined;
export function useConversation(messages: PresenceMessages | undefined, id: string): Conversation | NoConversation | undefined;
export function useMessages(messages: PresenceMessages | undefined, id: string): MessagePage | undefined;
