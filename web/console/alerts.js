// The alerts of config/prometheus/presence.rules.yaml, as far as a page can judge them by the numbers that it has read.
import { duration, numbers } from "./api.js";

/** The bounds of the alerts on values; that of the outboxes is a share of `limits.outboxBytes`. */
export const BOUNDS = {
  PresenceDeliveriesSlow: 1, PresenceLoopOverloaded: 0.1, PresenceRedisSlow: 1_000, PresenceOutboxesFull: 0.8, PresenceSessionsUntold: 0, PresenceRedisClock: 2,
  PresenceWebhookOff: 0,
};

/** In seconds: the alerts' `for`. A value that is beyond its bound for less is no alarm. */
export const HOLDS = {
  PresenceDeliveriesSlow: 600, PresenceLoopOverloaded: 600, PresenceRedisSlow: 120, PresenceOutboxesFull: 300, PresenceSessionsUntold: 60, PresenceRedisClock: 300,
  PresenceWebhookOff: 0,
};

/** Counters that must not grow: each with its alert's time, in seconds. The page knows at most the last 15 minutes. */
export const COUNTERS = [
  ["PresenceInternalErrors", 'errors_total{code="internal"}', 900, "A request met a fault of the server"],
  ["PresenceServerFull", 'closes_total{code="1013"}', 600, "Clients are turned away"],
  ["PresenceDamagedRecords", "damaged_records_total", 3_600, "Records in Redis cannot be read"],
  ["PresenceAnswersLate", "http_answers_late_total", 600, "Calls had no answer in time"],
  ["PresenceWorkRefused", "workers_refused_total", 300, "Threads have too much work"],
  ["PresenceMailsFail", "mails_failed_total", 900, "Mails cannot be sent"],
  ["PresenceWebhooksLost", "webhooks_dropped_total", 900, "Events for webhooks were dropped"],
  ["PresencePushesLost", "pushes_dropped_total", 900, "Pushes were dropped"],
  ["PresenceOriginsRefused", "origins_refused_total", 3_600, "A page was refused: allowedOrigins does not name it"],
];

/** Values without a tile: each with the text for a value beyond its bound. */
const VALUES = [
  ["PresenceRedisClock", () => numbers.gauge("redis_clock_offset_seconds").map(([at, value]) => [at, Math.abs(value)]), "The clocks of Redis and of this server differ"],
  ["PresenceWebhookOff", () => numbers.gauge("webhooks_off"), "An endpoint of webhooks is off"],
];

/** For how many ms a value has been beyond its limit; undefined: it is within it, or it was not measured. */
export const beyond = (points, isBeyond) => {
  const last = points.at(-1);
  if (!last || last[1] === null || !isBeyond(last[1])) return undefined;
  const within = points.findLastIndex(([, number]) => number !== null && !isBeyond(number));
  return last[0] - (points[within + 1] ?? last)[0];
};

/** A fault with the time until its alert, in ms; nothing for a value within its bound. */
const problem = (alert, text, points, isBeyond, seconds = HOLDS[alert]) => {
  const time = beyond(points, isBeyond);
  return time === undefined ? [] : [{ alert, text, left: Math.max(0, seconds * 1_000 - time) }];
};

export const runbookLink = (alert) => `#/runbook/${alert}`;

/**
 * Faults, the nearest to its alert first. `tiles` are those of the overview: each has an `alert`, `read`, `alarm`, its `limit` now,
 * and `fault`, the text for a value beyond it. Without a live shard there is one fault: the others follow from it.
 */
export const faults = (tiles, live) => live === 0 ? [{ alert: "PresenceStale", text: "No shard reaches Redis: clients see stale data, and changes are refused", left: 0 }] : [
  ...tiles.flatMap(({ alert, fault, read, alarm = (value, bound) => value > bound, limit }) =>
    alert && limit !== undefined ? problem(alert, fault, read(), (value) => alarm(value, limit), HOLDS[alert] ?? 0) : []),
  ...VALUES.flatMap(([alert, read, text]) => problem(alert, text, read(), (value) => value > BOUNDS[alert])),
  ...COUNTERS.filter(([, name, seconds]) => numbers.grown(name, seconds * 1_000) > 0).map(([alert, , , text]) => ({ alert, text, left: 0 })),
].sort((a, b) => a.left - b.left);

/** "…, an alert in 40 s unless it ends". */
export const soon = (left) => `an alert in ${duration(left)}, unless it ends`;
