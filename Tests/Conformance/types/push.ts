// The code of a TypeScript app with pushes, for the type checker: see apps.ts.
import * as told from "./presence.js";
import * as toldPush from "./presence-push.js";
import * as madePush from "./made/presence-push.js";

type Members<Told> = { [Name in keyof Told]: Told[Name] extends (...given: infer Given) => unknown ? (...given: Given) => unknown : unknown };
type None<Names extends never> = Names;

export const fits = (push: madePush.PresencePush): Members<toldPush.PresencePush> => push;
export type Nothing = None<Exclude<keyof madePush.PresencePush, keyof toldPush.PresencePush>>;

export async function notify(client: told.PresenceClient, registration: ServiceWorkerRegistration): Promise<boolean> {
  if (!client.push.supported) return false;
  await client.push.enable();
  await client.push.enable({ registration });
  if (await client.push.enabled()) await client.push.disable();
  // @ts-expect-error: a registration
  await client.push.enable({ registration: "/worker.js" });
  // @ts-expect-error: clients make it
  new toldPush.PresencePush(client);
  return client.push.enabled({ registration });
}
