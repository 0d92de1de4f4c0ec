// Timeline: why a user is shown as they are, and their sessions with the ends that the server knows.
import { STATUSES, h } from "/console/parts.js";
import { amount, duration, time } from "./api.js";

const ENDS = {
  closed: "closed by the app", left: "the page was left, and the device did not come back", silent: "no answer to pings",
  lost: "the connection was lost, and the device did not come back", replaced: "replaced by a newer connection of the same device",
  revoked: "its token was revoked", expired: "its token expired", disconnected: "disconnected by an operator or a backend",
  restarted: "the server stopped", slow: "the client read too slowly", refused: "the client broke a rule of the protocol",
  serverDied: "its server died; another one ended the session",
};

const device = ({ kind, device: id }) => (kind ? `${kind}${id ? ` (${id})` : ""}` : "unknown device");

const plural = (count, word) => `${amount(count)} ${word}${count === 1 ? "" : "s"}`;

/** Why this status, and who may see it, as sentences. */
export const why = ({ presence }, { sessions, chosen, clearAt, ended, endedSince }, { visibility, contacts, blocks }) => {
  const status = STATUSES[presence.status] ?? presence.status;
  const sentences = [];
  const last = ended.at(-1);
  if (presence.status !== "offline") {
    const active = sessions.filter((each) => each.active).length;
    const reason = { busy: "the user chose so", online: `${plural(active, "device")} in use`, away: "no device in use" }[presence.status];
    sentences.push(`${status}: ${plural(sessions.length, "device")} here, ${reason}.`);
  } else if (sessions.length && chosen === "invisible") {
    sentences.push(`Offline: the user chose to be invisible${clearAt ? ` until ${time(clearAt)}` : ""}. ${plural(sessions.length, "device")} here.`);
  } else if (sessions.length) {
    sentences.push(`Offline, although ${plural(sessions.length, "device")} ${sessions.length === 1 ? "is" : "are"} here: the change is on its way. If it stays so, run the doctor.`);
  } else if (last) {
    sentences.push(`Offline: no device is here. The last session, ${device(last)}, ended ${time(last.endedAt)}: ${ENDS[last.how] ?? last.how}.`);
  } else {
    sentences.push(`Offline: no device is here${presence.lastSeen ? `, the last one was seen ${time(presence.lastSeen)}` : ""}.`
      + (presence.version && endedSince ? ` This server knows ends of its own sessions since ${time(endedSince)}, and none of this user.` : ""));
  }
  if (!sessions.length && chosen === "invisible") sentences.push("The user also chose to be invisible.");
  const blocked = blocks.length ? `, except ${plural(blocks.length, "blocked user")}` : "";
  sentences.push({
    everyone: `Everyone may see this${blocked}.`, contacts: `Only contacts (${amount(contacts.length)}) may see this${blocked}; others see “Offline”.`,
    nobody: "Nobody else may see this: others see “Offline”.",
  }[visibility.presence] ?? "");
  return sentences.filter(Boolean);
};

/** Rows of a table: sessions that are here, then those that ended, the newest first. */
export const timeline = ({ sessions, ended }) => [
  ...[...sessions].reverse().map((each) => [device(each), time(each.since), h("strong", {}, each.active ? "here, in use" : "here, idle"), h("code", {}, each.server)]),
  ...[...ended].reverse().map((each) => {
    const late = each.endedAt - each.heardAt;
    return [device(each), each.since === undefined ? "–" : time(each.since), time(each.endedAt),
      h("div", { class: "what" }, `${ENDS[each.how] ?? each.how}${late > 1_000 ? `; last signal ${duration(late)} before` : ""}`)];
  }),
];
