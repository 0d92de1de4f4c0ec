// The alerts of config/prometheus/presence.rules.yaml, as far as a page can judge them by the numbers that it has read.
import { duration, numbers } from "./api.js";

/** The bounds of the alerts on values; that of the outboxes is a share of `limits.outboxBytes`. */
export const BOUNDS = {
  PresenceDeliveriesSlow: 1, PresenceLoopOverloaded: 0.1, PresenceRedisSlow: 1_000, PresenceOutboxesFull: 0.8, PresenceSessionsUntold: 0, PresenceRedisClock: 2,
  PresenceWebhookOff: 0, PresenceIntentsPending: 0, PresenceCatchUpsPending: 0,
};

/** Seconds before an expiry. */
export const EXPIRES = 14 * 86_400;

/** In seconds: the alerts' `for`, and the time of a `min_over_time` before it. A value that is beyond its bound for less is no alarm. */
export const HOLDS = {
  PresenceDeliveriesSlow: 600, PresenceLoopOverloaded: 600, PresenceRedisSlow: 120, PresenceOutboxesFull: 300, PresenceSessionsUntold: 60, PresenceRedisClock: 300,
  PresenceWebhookOff: 0, PresenceIntentsPending: 600, PresenceCatchUpsPending: 600, PresencePartlyStale: 300, PresenceDiskLow: 60, PresenceCertificateExpires: 0,
};

/** Counters that must not grow by more than `most` in an alert's time, in seconds. The page knows at most the last 15 minutes. */
export const COUNTERS = [
  ["PresenceInternalErrors", ['errors_total{code="internal"}'], 900, "A request met a fault of the server"],
  ["PresenceServerFull", ['closes_total{code="1013"}'], 600, "Clients are turned away"],
  ["PresenceDamagedRecords", ["damaged_records_total"], 3_600, "Records in Redis cannot be read"],
  ["PresenceAnswersLate", ["http_answers_late_total"], 600, "Calls had no answer in time"],
  ["PresenceWorkRefused", ["workers_refused_total"], 300, "Threads have too much work"],
  ["PresenceMailsFail", ["mails_failed_total"], 900, "Mails cannot be sent"],
  ["PresenceWebhooksLost", ["webhooks_dropped_total", "webhooks_given_up_total"], 900, "Events for webhooks were lost"],
  ["PresencePushesLost", ["pushes_dropped_total", "pushes_given_up_total"], 900, "Pushes were lost"],
  ["PresenceOriginsRefused", ["origins_refused_total"], 3_600, "A page was refused: allowedOrigins does not name it"],
  ["PresenceNotificationsRefused", ["notifications_refused_total"], 900, "Requests that notify are refused"],
  ["PresencePhotosKilled", ["photos_killed_total", "attachments_killed_total"], 3_600, "The decoding of a picture was ended"],
  ["PresenceTransfersRefused", ['limit_met_total{limit="uploads"}', 'limit_met_total{limit="downloads"}'], 600, "Uploads or downloads are refused"],
  ["PresenceOftenStale", ["stale_total"], 3_600, "The server often loses Redis", 5],
  ["PresenceRefreshReused", ["refresh_reuse_total"], 3_600, "Refresh tokens are used twice", 5],
];

/** A gap stays one. */
const derived = (name, value) => numbers.gauge(name).map(([at, number]) => [at, number === null ? null : value(number)]);

/** Values without a tile, each with the text for one that is beyond its bound. */
const VALUES = [
  ["PresenceRedisClock", () => derived("redis_clock_offset_seconds", Math.abs), "The clocks of Redis and of this server differ"],
  ["PresenceWebhookOff", () => numbers.gauge("webhooks_off"), "An endpoint of webhooks is off"],
  ["PresenceIntentsPending", () => numbers.gauge("intents_pending"), "Changes over several partitions are not finished"],
  ["PresenceCatchUpsPending", () => numbers.gauge("log_catch_ups_pending"), "Clients wait for messages from Redis"],
  ["PresenceDiskLow", () => numbers.both("disk_reserve_bytes", "disk_free_bytes", (reserve, free) => reserve - free), "The disk is almost full: uploads are refused"],
  ["PresenceCertificateExpires", () => derived("tls_certificate_expiry_timestamp_seconds", (end) => Date.now() / 1_000 + EXPIRES - end), "The certificate expires within 14 days"],
];

/** For how many ms a value has been beyond its limit; undefined: it is within it, or it was not measured. */
export const beyond = (points, isBeyond) => {
  const last = points.at(-1);
  if (!last || last[1] === null || !isBeyond(last[1])) return undefined;
  const within = points.findLastIndex(([, number]) => number !== null && !isBeyond(number));
  return last[0] - (points[within + 1] ?? last)[0];
};

/** A fault with the time until its alert, in ms; nothing for a value within its bound. */
const problem = (alert, text, points, isBeyond) => {
  const time = beyond(points, isBeyond);
  return time === undefined ? [] : [{ alert, text, left: Math.max(0, HOLDS[alert] * 1_000 - time) }];
};

export const runbookLink = (alert) => `#/runbook/${alert}`;

/**
 * Faults, the nearest to its alert first. `left` is the time until the alert, in ms: a verdict that judges as the alerts do has none
 * before it is over, except for what clients notice at once (`isSeen`). `tiles` are those of the overview: each has an `alert`, `read`,
 * `alarm`, its `limit` now, and `fault`, the text for a value beyond it. Without a live shard there is one fault: the others follow from it.
 */
export const faults = (tiles, live) => live === 0 ? [{ alert: "PresenceStale", text: "No shard reaches Redis: clients see stale data, and changes are refused", left: 0 }] : [
  ...tiles.flatMap(({ alert, fault, isSeen, read, alarm = (value, bound) => value > bound, limit }) =>
    alert && limit !== undefined ? problem(alert, fault, read(), (value) => alarm(value, limit)).map((each) => ({ ...each, isSeen })) : []),
  ...VALUES.flatMap(([alert, read, text]) => problem(alert, text, read(), (value) => value > (BOUNDS[alert] ?? 0))),
  ...COUNTERS.filter(([, names, seconds, , most = 0]) => names.reduce((sum, name) => sum + numbers.grown(name, seconds * 1_000), 0) > most)
    .map(([alert, , , text]) => ({ alert, text, left: 0 })),
].sort((a, b) => a.left - b.left);

/** "…, an alert in 40 s unless it ends". */
export const soon = (left) => `an alert in ${duration(left)}, unless it ends`;
