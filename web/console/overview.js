// Overview: what this server does, against what it promises, and all servers by their leases.
import { Screen, h } from "/console/parts.js";
import { BOUNDS, HOLDS, runbookLink } from "./alerts.js";
import { amount, api, bytes, duration, every, numbers } from "./api.js";
import { tile } from "./charts.js";
import { Verdict } from "./verdict.js";

const milliseconds = (value) => `${amount(value)} ms`;
const inMilliseconds = ([at, seconds]) => [at, seconds && seconds * 1_000];
const perSecond = (value) => `${amount(value)}/s`;

/** Each: how it is read, and the texts of its tile. `bound` is that of an `alert`, and may need the server's settings. */
const TILES = [
  { name: "Connections", read: () => numbers.gauge("connections"), unit: amount, about: "Open WebSockets of this server." },
  { name: "Sessions", read: () => numbers.gauge("sessions"), unit: amount, about: "Devices that are here, with those that linger." },
  { name: "Changes", read: () => numbers.rate("events_in_total"), unit: perSecond, about: "Events that came from Redis." },
  { name: "Deliveries", read: () => numbers.rate("deliveries_total"), unit: perSecond, about: "Events written to clients." },
  {
    name: "Delay", isOfRedis: true, read: () => numbers.quantile("change_to_write_seconds", 0.99).map(inMilliseconds), unit: milliseconds, alert: "PresenceDeliveriesSlow", fault: "Changes reach clients late",
    bound: () => BOUNDS.PresenceDeliveriesSlow * 1_000, about: "From a change in Redis to the write of its event: 99 of 100 within this.",
  },
  {
    name: "Redis", isOfRedis: true, read: () => numbers.quantile("redis_round_trip_seconds", 0.99).map(inMilliseconds), unit: milliseconds,
    about: "From a command to its reply: 99 of 100 within this.",
  },
  {
    name: "Loop", read: () => numbers.quantile("loop_turn_seconds", 0.9).map(inMilliseconds), unit: milliseconds, alert: "PresenceLoopOverloaded", fault: "A shard is overloaded",
    bound: () => BOUNDS.PresenceLoopOverloaded * 1_000, about: "The longest turns of the shards' loops: 9 of 10 within this.",
  },
  {
    name: "Live shards", read: () => numbers.gauge("live"), unit: amount, alert: "PresencePartlyStale", fault: "Some shards do not reach Redis: their clients see stale data", bound: ({ shards }) => shards,
    // Clients see stale data already.
    isSeen: true, alarm: (value, bound) => value < bound, boundText: (bound, value) => `all ${bound}${value ? "" : ". Alert: PresenceStale"}`,
    about: "Shards that reach Redis. The clients of others know that their data may be stale.",
  },
  {
    name: "Commands waiting", read: () => numbers.gauge("redis_commands_pending"), unit: amount, alert: "PresenceRedisSlow", fault: "Commands wait for Redis",
    // Without a connection none waits.
    bound: ({ isLive }) => (isLive ? BOUNDS.PresenceRedisSlow : undefined), about: "Commands that Redis has not answered yet.",
  },
  {
    name: "Slow clients", read: () => numbers.gauge("outbox_bytes"), unit: bytes, alert: "PresenceOutboxesFull", fault: "Much data waits for slow clients",
    bound: ({ outboxBytes }) => (outboxBytes ? outboxBytes * BOUNDS.PresenceOutboxesFull : undefined), about: "Data that waits for clients that read slowly.",
  },
  {
    name: "Not stored yet", isOfRedis: true, read: () => numbers.gauge("sessions_untold"), unit: amount, alert: "PresenceSessionsUntold", fault: "Sessions are not stored",
    bound: () => BOUNDS.PresenceSessionsUntold, about: "Sessions that are missing or outdated in Redis.",
  },
  { name: "Errors", read: () => numbers.rate("errors_total"), unit: perSecond, about: "Errors in answers to clients." },
];

/** In ms: how often users are counted over all servers, a command for each list of each shard. */
const COUNTED = 10_000;

const STATES = { live: "live", ranOut: "ran out", reaping: "being cleared" };

class Overview extends Screen {
  #verdict = new Verdict();
  /** Answers so far: servers by their leases, a server's bounds, users by shard and of all shards, the doctor's last report. */
  #known = {};
  #rows = h("tbody");
  #all = h("tfoot");
  #redis = h("p", { class: "quiet" });

  render() {
    const tiles = TILES.map((each) => ({ ...each, tile: tile(each.name, { ...each, bound: undefined, seconds: each.isSeen ? 0 : HOLDS[each.alert], link: each.alert && runbookLink(each.alert) }) }));
    numbers.follow(this.signal, (error) => this.#judge(tiles, error));
    every(2_000, this.signal, () => this.#readServers());
    every(COUNTED, this.signal, () => this.#count());
    api.ask("GET", "/v1/console/doctor", { signal: this.signal }).then((doctor) => (this.#known.doctor = doctor), () => {});
    return [
      h("h1", { tabindex: "-1" }, "Overview"), this.#verdict.node,
      h("div", { class: "tiles" }, ...tiles.map(({ tile }) => tile.node)),
      h("section", { class: "card", "aria-label": "Servers" }, h("h2", {}, "Servers"),
        h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Servers by their leases" }, h("table", {},
          h("thead", {}, h("tr", {}, ...["Shard", "Lease", "Renewed", "Ends", "Users here"].map((text) => h("th", { scope: "col", class: text === "Users here" && "number" }, text)))), this.#rows, this.#all)), this.#redis,
        h("p", { class: "quiet" }, "The shards of all servers that share this Redis; a user with devices on two of them is in both numbers, and once in that of all. The numbers above are those of the server that answers.")),
    ];
  }

  #judge(tiles, error) {
    const live = numbers.gauge("live").at(-1)?.[1];
    const limited = tiles.map((each) => ({ ...each, limit: each.bound?.({ ...this.#known.bounds, isLive: live > 0 }) }));
    for (const { tile, read, limit, isOfRedis } of limited) {
      // Without Redis, the last numbers of it are not those of now.
      tile.show(error || (isOfRedis && !(live > 0)) ? [] : read(), limit);
    }
    const [, version] = /version="([^"]*)"/.exec([...(numbers.last?.samples.keys() ?? [])].find((key) => key.startsWith("presence_build_info{")) ?? "") ?? [];
    const { told, users, doctor } = this.#known;
    const people = told && users?.all;
    this.#verdict.show({ error, live, tiles: limited, servers: told?.servers, people, doctor, version, now: told?.now ?? Date.now() });
  }

  async #readServers() {
    try {
      const told = await api.ask("GET", "/v1/console/servers", { signal: this.signal });
      Object.assign(this.#known, { told, bounds: told.bounds });
      this.#redis.textContent = `Redis uses ${bytes(told.redis.usedBytes)}` + (told.redis.mostBytes ? ` of ${bytes(told.redis.mostBytes)}.` : ", and has no bound (maxmemory).");
      this.#show();
    } catch (error) {
      if (this.signal.aborted) return;
      this.#known = { doctor: this.#known.doctor, bounds: this.#known.bounds };
      this.#redis.textContent = `The servers cannot be read: ${error.message}.`;
      // Earlier answers are not shown as if they were of now.
      this.#rows.replaceChildren(h("tr", {}, h("td", { colspan: "5" }, "Not known")));
      this.#all.replaceChildren();
    }
  }

  async #count() {
    const totals = await api.ask("GET", "/v1/console/totals", { signal: this.signal }).catch(() => undefined);
    this.#known.users = totals && { all: totals.users, shards: new Map(totals.shards.map(({ name, users }) => [name, users])) };
    if (this.#known.told) this.#show();
  }

  #show() {
    const { told, users } = this.#known;
    this.#rows.replaceChildren(...told.servers.map((each) => this.#row(each, told.now, users?.shards.get(each.name))));
    const live = told.servers.filter(({ state }) => state === "live").length;
    this.#all.replaceChildren(h("tr", {}, h("th", { scope: "row" }, "All"), h("td", { colspan: "3" }, `${live} of ${told.servers.length} live`), h("td", { class: "number" }, users === undefined ? "–" : amount(users.all))));
  }

  #row({ name, state, renewedAt, until }, now, users) {
    const isBad = state !== "live";
    return h("tr", {}, h("td", {}, h("code", {}, name)), h("td", { class: isBad && "bad" }, STATES[state] ?? state),
      h("td", {}, `${duration(now - renewedAt)} ago`), h("td", {}, until > now ? `in ${duration(until - now)}` : `${duration(now - until)} ago`),
      h("td", { class: "number" }, users === undefined ? "–" : amount(users)));
  }
}

customElements.define("overview-screen", Overview);
