// Composables for Vue 3: each follows one loop of a client while its scope lives. Arguments may be refs or getters.
import { shallowRef, toValue, watchEffect } from "vue";

/** A ref with the newest value of a loop; `undefined` until there is one, and while `source` is `undefined`. */
const followed = (source, begin, ...inputs) => {
  const value = shallowRef(undefined);
  watchEffect((onCleanup) => {
    const from = toValue(source);
    const given = inputs.map((input) => toValue(input));
    value.value = undefined;
    if (!from) return;
    const ending = new AbortController();
    onCleanup(() => ending.abort());
    const follow = async () => {
      for await (const next of begin(from, ...given, { signal: ending.signal })) if (!ending.signal.aborted) value.value = next;
    };
    follow();
  });
  return value;
};

export const useConnection = (client) => followed(client, (source, options) => source.connections(options));
export const useMe = (client) => followed(client, (source, options) => source.me(options));
export const usePerson = (client, user) => followed(client, (source, id, options) => source.person(id, options), user);
export const usePeople = (client, users) => followed(client, (source, ids, options) => source.people(ids, options), users);
export const useTyping = (client, conversation) => followed(client, (source, id, options) => source.typing(id, options), conversation);
export const useConversations = (messages) => followed(messages, (source, options) => source.conversations(options));
export const useConversation = (messages, id) => followed(messages, (source, given, options) => source.conversation(given, options), id);
export const useMessages = (messages, id) => followed(messages, (source, given, options) => source.messages(given, options), id);
