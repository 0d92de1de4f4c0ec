// Overview: what this server does, against what it promises, and all servers by their leases.
import { Screen, h } from "/console/parts.js";
import { amount, api, bytes, duration, every, numbers } from "./api.js";
import { tile } from "./charts.js";

const milliseconds = (value) => `${amount(value)} ms`;
const inMilliseconds = ([at, seconds]) => [at, seconds && seconds * 1_000];
const perSecond = (value) => `${amount(value)}/s`;

/** What the alerts in config/prometheus/presence.rules.yaml are held against; the outboxes' is a share of `limits.outboxBytes`. */
export const BOUNDS = {
  PresenceDeliveriesSlow: 1, PresenceLoopOverloaded: 0.1, PresenceRedisSlow: 1_000, PresenceOutboxesFull: 0.8, PresenceSessionsUntold: 0,
};

/** In seconds: the alerts' `for`. What is beyond its bound for less is no alarm. */
export const HOLDS = {
  PresenceDeliveriesSlow: 600, PresenceLoopOverloaded: 600, PresenceRedisSlow: 120, PresenceOutboxesFull: 300, PresenceSessionsUntold: 60,
};

/** Each: how it is read, and what its tile says. `bound` is that of an `alert`, and may need what the server says of its settings. */
const TILES = [
  { name: "Connections", read: () => numbers.gauge("connections"), unit: amount, about: "Open WebSockets of this server." },
  { name: "Sessions", read: () => numbers.gauge("sessions"), unit: amount, about: "Devices that are here, with those that linger." },
  { name: "Changes", read: () => numbers.rate("events_in_total"), unit: perSecond, about: "Events that came from Redis." },
  { name: "Deliveries", read: () => numbers.rate("deliveries_total"), unit: perSecond, about: "Events written to clients." },
  {
    name: "Delay", read: () => numbers.quantile("change_to_write_seconds", 0.99).map(inMilliseconds), unit: milliseconds, alert: "PresenceDeliveriesSlow",
    bound: () => BOUNDS.PresenceDeliveriesSlow * 1_000, about: "From a change in Redis to its event being written: 99 of 100 within this.",
  },
  {
    name: "Redis", isOfRedis: true, read: () => numbers.quantile("redis_round_trip_seconds", 0.99).map(inMilliseconds), unit: milliseconds,
    about: "From a command to its reply: 99 of 100 within this.",
  },
  {
    name: "Loop", read: () => numbers.quantile("loop_turn_seconds", 0.9).map(inMilliseconds), unit: milliseconds, alert: "PresenceLoopOverloaded",
    bound: () => BOUNDS.PresenceLoopOverloaded * 1_000, about: "The longest turns of the shards' loops: 9 of 10 within this.",
  },
  {
    name: "Live shards", read: () => numbers.gauge("live"), unit: amount, alert: "PresencePartlyStale", bound: ({ shards }) => shards,
    // At once: what clients see is stale by now.
    alarm: (value, bound) => value < bound, boundText: (bound, value) => `all ${bound}${value ? "" : ". Alert: PresenceStale"}`,
    about: "Shards that show the truth. The clients of others are told that it may be stale.",
  },
  {
    name: "Commands waiting", read: () => numbers.gauge("redis_commands_pending"), unit: amount, alert: "PresenceRedisSlow",
    // Without a connection none waits.
    bound: ({ isLive }) => (isLive ? BOUNDS.PresenceRedisSlow : undefined), about: "Commands that Redis has not answered yet.",
  },
  {
    name: "Slow clients", read: () => numbers.gauge("outbox_bytes"), unit: bytes, alert: "PresenceOutboxesFull",
    bound: ({ outboxBytes }) => outboxBytes && outboxBytes * BOUNDS.PresenceOutboxesFull, about: "What waits for clients that do not read.",
  },
  {
    name: "Not stored yet", isOfRedis: true, read: () => numbers.gauge("sessions_untold"), unit: amount, alert: "PresenceSessionsUntold",
    bound: () => BOUNDS.PresenceSessionsUntold, about: "Sessions of which Redis does not know yet what they are.",
  },
  { name: "Errors", read: () => numbers.rate("errors_total"), unit: perSecond, about: "Errors that clients were answered." },
];

/** An operator who sees a bound crossed finds what to do under the alert's name. */
const told = ({ about, alert }) => (alert ? `${about} Alert: ${alert}.` : about);

const STATES = { live: "live", ranOut: "ran out", reaping: "being cleared" };

class Overview extends Screen {
  render() {
    const problem = h("p", { class: "bad", role: "alert" });
    const tiles = TILES.map((each) => ({
      ...each, tile: tile(each.name, { ...each, bound: undefined, about: told(each), seconds: HOLDS[each.alert] }),
    }));
    const rows = h("tbody");
    const redis = h("p", { class: "quiet" });
    let bounds = {};
    numbers.follow(this.signal, (error) => {
      problem.textContent = error ? `The numbers cannot be read: ${error.message}.` : "";
      const isLive = numbers.gauge("live").at(-1)?.[1] > 0;
      for (const { tile, read, bound, isOfRedis } of tiles) {
        // Without Redis, what it last said is not how it is.
        tile.show(error || (isOfRedis && !isLive) ? [] : read(), bound?.({ ...bounds, isLive }));
      }
    });
    every(2_000, this.signal, async () => {
      try {
        const told = await api.ask("GET", "/v1/console/servers", { signal: this.signal });
        bounds = told.bounds;
        redis.textContent = `Redis uses ${bytes(told.redis.usedBytes)}` + (told.redis.mostBytes ? ` of ${bytes(told.redis.mostBytes)}.` : ", and has no bound (maxmemory).");
        rows.replaceChildren(...told.servers.map((each) => this.#row(each, told.now)));
      } catch (error) {
        if (this.signal.aborted) return;
        redis.textContent = `The servers cannot be read: ${error.message}.`;
        // What was so a while ago is not shown as if it were.
        rows.replaceChildren(h("tr", {}, h("td", { colspan: "4" }, "Not known")));
      }
    });
    return [
      h("h1", { tabindex: "-1" }, "Overview"), problem,
      h("div", { class: "tiles" }, ...tiles.map(({ tile }) => tile.node)),
      h("section", { class: "card", "aria-label": "Servers" }, h("h2", {}, "Servers"),
        h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Servers by their leases" }, h("table", {},
          h("thead", {}, h("tr", {}, ...["Shard", "Lease", "Renewed", "Ends"].map((text) => h("th", { scope: "col" }, text)))), rows)), redis,
        h("p", { class: "quiet" }, "The shards of all servers that share this Redis. The numbers above are those of the server that answers.")),
    ];
  }

  #row({ name, state, renewedAt, until }, now) {
    const isBad = state !== "live";
    return h("tr", {}, h("td", {}, h("code", {}, name)), h("td", { class: isBad && "bad" }, STATES[state] ?? state),
      h("td", {}, `${duration(now - renewedAt)} ago`), h("td", {}, until > now ? `in ${duration(until - now)}` : `${duration(now - until)} ago`));
  }
}

customElements.define("overview-screen", Overview);
