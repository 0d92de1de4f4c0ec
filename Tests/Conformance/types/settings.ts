// The code of a TypeScript app with notification settings, for the type checker: see apps.ts.
import * as told from "./presence.js";
import * as toldSettings from "./presence-settings.js";
import * as madeSettings from "./made/presence-settings.js";

type Members<Told> = { [Name in keyof Told]: Told[Name] extends (...given: infer Given) => unknown ? (...given: Given) => unknown : unknown };
type None<Names extends never> = Names;

export const fits = (settings: madeSettings.PresenceSettings): Members<toldSettings.PresenceSettings> => settings;
export type Nothing = None<Exclude<keyof madeSettings.PresenceSettings, keyof toldSettings.PresenceSettings>>;

export async function choose(client: told.PresenceClient, signal: AbortSignal): Promise<number> {
  const settings = new toldSettings.PresenceSettings(client);
  const offered = await settings.offered();
  // @ts-expect-error: there may be none
  offered.kinds;
  if (!offered?.kinds.some(({ kind, name }) => kind === "order" && name)) return 0;
  for await (const { quiet, kinds, version } of settings.notifications({ signal })) {
    if (quiet && quiet.days.length < 7 && kinds.order?.push) return version;
  }
  await settings.changeNotifications({ quiet: null, whileBusy: "hold" });
  // @ts-expect-error: push or hold
  await settings.changeNotifications({ whileBusy: "never" });
  // @ts-expect-error: a time zone is needed
  await settings.replaceNotifications({ quiet: { from: "22:00", to: "07:00" } });
  return (await settings.replaceNotifications({})).version;
}
