// The console's requests to the server: calls with the token of a backend, and the numbers of /metrics.

const KEY = "presence-console-token";

const reach = async (path, options) => {
  try {
    return await fetch(path, { ...options, cache: "no-store", credentials: "omit" });
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw Object.assign(new Error("the server cannot be reached"), { code: "network", status: 0 });
  }
};

/**
 * The path of a picture that this server has made; such a one has a thumbnail. Any other is at an address
 * of its user's choice: loading it would show that host when an operator looks.
 */
export const pictureHere = ({ profile }) => profile?.thumbnailURL && `/v1/photos/${profile.thumbnailURL.split("/").at(-1)}`;

/** The token is kept for this tab alone, and never in an address. */
class API extends EventTarget {
  get token() {
    return sessionStorage.getItem(KEY);
  }

  /** Takes the token that `make run` puts behind the `#`, and takes it out of the address. */
  takeToken() {
    const [, place, token] = /^#(.*?)&?token=([\w.-]+)$/.exec(location.hash) ?? [];
    if (!token) return;
    history.replaceState(null, "", `${location.pathname}#${place}`);
    this.token = token;
  }

  set token(token) {
    if (token) sessionStorage.setItem(KEY, token);
    else sessionStorage.removeItem(KEY);
    this.dispatchEvent(new Event("token"));
  }

  /** The answer's JSON, or undefined if it has none. Throws an object with `status`, `code` and `message`. */
  async ask(method, path, { body, signal, token = this.token } = {}) {
    const answer = await reach(path, { method, signal, headers: { Authorization: `Bearer ${token}` }, body: body && JSON.stringify(body) });
    const text = await answer.text();
    let value;
    try {
      value = text ? JSON.parse(text) : undefined;
    } catch {
      value = undefined;
    }
    if (answer.ok) return value;
    if (answer.status === 401 && token === this.token) this.token = null;
    throw Object.assign(new Error(value?.message ?? `the server answered ${answer.status}`), { ...value, status: answer.status });
  }

  /** The bytes of an answer. */
  async download(path) {
    const answer = await reach(path, { headers: { Authorization: `Bearer ${this.token}` } });
    if (answer.ok) return answer.blob();
    const value = await answer.json().catch(() => undefined);
    throw Object.assign(new Error(value?.message ?? `the server answered ${answer.status}`), { ...value, status: answer.status });
  }

  user(id, ...rest) {
    return ["/v1/users", encodeURIComponent(id), ...rest].join("/");
  }
}

export const api = new API();

/** Every so often (ms, or a function that returns them) while the page is looked at, until a signal; the next time comes when the last one is over. */
export const every = (milliseconds, signal, act) => {
  let timer;
  let isBusy = false;
  const go = async () => {
    clearTimeout(timer);
    if (signal.aborted || document.hidden || isBusy) return;
    isBusy = true;
    try {
      await act();
    } finally {
      isBusy = false;
      if (!signal.aborted) timer = setTimeout(go, typeof milliseconds === "function" ? milliseconds() : milliseconds);
    }
  };
  document.addEventListener("visibilitychange", go, { signal });
  signal.addEventListener("abort", () => clearTimeout(timer));
  go();
  return go;
};

/** Names that were read, each once: a name that is cut out of a page would keep the whole page. */
const names = new Map();

/** The samples of Prometheus' text format by their names, with labels as they stand there. */
export const parse = (text) => {
  const samples = new Map();
  for (const line of text.split("\n")) {
    const space = line.lastIndexOf(" ");
    if (space <= 0 || line[0] === "#") continue;
    const name = line.slice(0, space);
    if (!names.has(name)) names.set(name, name);
    samples.set(names.get(name), Number(line.slice(space + 1)));
  }
  return samples;
};

export const LENGTH = 900;
/** In ms: quantiles are of what happened in so long. A second has too little of it. */
const WINDOW = 30_000;

/** The value of a metric; of one with labels, the sum of all of them. */
const sumOf = ({ samples }, name) => {
  const own = samples.get(`presence_${name}`);
  if (own !== undefined) return own;
  let total = 0;
  for (const [key, value] of samples) if (key.startsWith(`presence_${name}{`)) total += value;
  return total;
};

/** The numbers of /metrics, once a second for at most 15 minutes, and only while a screen asks for it. */
class Numbers {
  #ring = [];

  get last() {
    return this.#ring.at(-1);
  }

  /** Until the signal: `show` is called after each reading. */
  follow(signal, show) {
    every(1_000, signal, async () => {
      let error;
      try {
        const answer = await reach("/metrics", { signal });
        if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
        this.#ring.push({ at: performance.now(), samples: parse(await answer.text()), made: new Map() });
        if (this.#ring.length > LENGTH) this.#ring.shift();
      } catch (failure) {
        error = failure;
      }
      if (!signal.aborted) show(error);
    });
  }

  /**
   * One value for each reading: [ms, value]. A gap of more than 5 s is null, and so is a value that was not measured. A value is
   * made once for a reading and a `key`, from the reading before and the first within `WINDOW`.
   */
  series(value, key) {
    const points = [];
    let before;
    let first = 0;
    for (const [index, sample] of this.#ring.entries()) {
      if (before && sample.at - before.at > 5_000) {
        points.push([sample.at, null]);
        before = undefined;
        first = index;
      }
      while (this.#ring[first].at < sample.at - WINDOW) first++;
      let number = sample.made.get(key);
      if (number === undefined) {
        number = value(sample, before, this.#ring[first]);
        if (key && number !== undefined) sample.made.set(key, number);
      }
      if (number !== undefined) points.push([sample.at, number]);
      before = sample;
    }
    return points;
  }

  /** By how much a counter has grown in so many ms, as far as this page has read it. */
  grown(name, ms) {
    const { last } = this;
    if (!last) return 0;
    const [before, now] = [this.#ring.find(({ at }) => at >= last.at - ms), last].map((sample) => sumOf(sample, name));
    // Less than before: the server was started anew.
    return now < before ? now : now - before;
  }

  gauge(name) {
    return this.series(({ samples }) => samples.get(`presence_${name}`));
  }

  /** A value of two gauges; none while one of them is missing. */
  both(one, other, value) {
    return this.series(({ samples }) => {
      const [first, second] = [one, other].map((name) => samples.get(`presence_${name}`));
      return first === undefined || second === undefined ? undefined : value(first, second);
    });
  }

  /** A counter's growth by the second. */
  rate(name) {
    return this.series((sample, before) => {
      if (!before) return undefined;
      return Math.max(0, sumOf(sample, name) - sumOf(before, name)) / ((sample.at - before.at) / 1_000);
    }, `rate ${name}`);
  }

  /** The bound below which a share of what happened in the last half minute lies; null if nothing happened. */
  quantile(name, share) {
    const start = `presence_${name}_bucket{le="`;
    const buckets = (sample) => [...sample.samples].filter(([key]) => key.startsWith(start))
      .map(([key, count]) => [Number(key.slice(start.length, -2).replace("+Inf", "Infinity")), count]);
    return this.series((sample, before, first) => {
      if (!before) return undefined;
      const earlier = new Map(buckets(first));
      const grown = buckets(sample).map(([bound, count]) => [bound, count - (earlier.get(bound) ?? 0)]);
      const total = grown.at(-1)?.[1] ?? 0;
      if (total <= 0) return null;
      const found = grown.findIndex(([, count]) => count >= total * share);
      return Number.isFinite(grown[found][0]) ? grown[found][0] : grown.at(-2)[0];
    }, `${share} ${name}`);
  }
}

export const numbers = new Numbers();

// Numbers and times as people read them

const short = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });
const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

export const amount = (value) => (Math.abs(value) < 10 && !Number.isInteger(value) ? short : whole).format(value);

export const bytes = (value) => {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  const step = value < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(value) / 10));
  return `${short.format(value / 1024 ** step)} ${units[step]}`;
};

const clock = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "medium" });
export const time = (value) => clock.format(value);

/** How long something took, or takes. */
export const duration = (milliseconds) => {
  const seconds = Math.max(0, milliseconds) / 1_000;
  if (seconds < 60) return `${whole.format(seconds)} s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${whole.format(Math.floor(seconds % 60))} s`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3_600)} h ${Math.floor((seconds % 3_600) / 60)} min`;
  return `${Math.floor(seconds / 86_400)} d ${Math.floor((seconds % 86_400) / 3_600)} h`;
};
