// Hooks for React: each follows one loop of a client while its component is shown, and gives its newest value.
import { useEffect, useState } from "react";

/** The newest value of a loop; `undefined` until there is one, and while `source` is `undefined`. A failed loop throws at the next rendering. */
const useLoop = (source, begin, inputs) => {
  const [value, set] = useState(undefined);
  useEffect(() => {
    if (!source) return undefined;
    const ending = new AbortController();
    const follow = async () => {
      try {
        for await (const next of begin(source, { signal: ending.signal })) if (!ending.signal.aborted) set(() => next);
      } catch (error) {
        if (!ending.signal.aborted) set(() => { throw error; });
      }
    };
    follow();
    return () => {
      ending.abort();
      set(undefined);
    };
  }, [source, ...inputs]);
  return value;
};

/** Makes something with a `close()`, such as a client, when the component is shown, and closes it with the component. */
export const useClosing = (make, inputs = []) => {
  const [made, set] = useState(undefined);
  useEffect(() => {
    const one = make();
    set(() => one);
    return () => {
      one?.close();
      set(undefined);
    };
  }, inputs);
  return made;
};

export const useConnection = (client) => useLoop(client, (source, options) => source.connections(options), []);
export const useMe = (client) => useLoop(client, (source, options) => source.me(options), []);
export const usePerson = (client, user) => useLoop(client, (source, options) => source.person(user, options), [user]);
// Ids have no spaces: a new list of the same users begins nothing anew.
export const usePeople = (client, users) => useLoop(client, (source, options) => source.people(users, options), [users.join(" ")]);
export const useTyping = (client, conversation) => useLoop(client, (source, options) => source.typing(conversation, options), [conversation]);
export const useConversations = (messages) => useLoop(messages, (source, options) => source.conversations(options), []);
export const useConversation = (messages, id) => useLoop(messages, (source, options) => source.conversation(id, options), [id]);
export const useMessages = (messages, id) => useLoop(messages, (source, options) => source.messages(id, options), [id]);
