// The messages of a conversation on the page. Some hundred messages have rows: those around what is looked at.
import { button, h } from "./parts.js";
import { icon } from "./icons.js";
import { arrange, arrows } from "./known.js";
import { messageRow } from "./message.js";

/** Pixels from an end within which more is loaded, or new messages count as read. */
const NEAR = 60;
const REACH = 600;
/** Rows at most, and how many come or go at a time. */
const [MOST, STEP] = [300, 50];
/** In ms: messages of one person that follow so soon are one group. */
const TOGETHER = 5 * 60_000;
/** In ms: how long a scroll has to rest before it counts as read. */
const REST = 150;

const today = () => new Date().toDateString();
const dayFormat = new Intl.DateTimeFormat("en", { weekday: "long", day: "numeric", month: "long" });
const yearFormat = new Intl.DateTimeFormat("en", { day: "numeric", month: "long", year: "numeric" });
const nameOfDay = (time) => {
  const day = new Date(time);
  if (day.toDateString() === today()) return "Today";
  if (day.toDateString() === new Date(Date.now() - 86_400_000).toDateString()) return "Yesterday";
  return (day.getFullYear() === new Date().getFullYear() ? dayFormat : yearFormat).format(day);
};

/** A part of the page: `node`; `fresh`, the button that leads to the newest; and `show` for the messages as they are. */
export const logOf = ({ app, conversation, known, read, readEarlier, signal }) => {
  const list = h("ol");
  const node = h("div", { class: "messages", role: "log", "aria-label": "Messages", "aria-live": "off", tabindex: "0" }, list);
  const said = h("p", { class: "said", role: "status" });
  const count = h("span", { class: "badge", hidden: true });
  const earlier = button("Earlier messages", { class: "plain small", hidden: true });
  const fresh = button("", { class: "fresh", "aria-label": "Newest messages", hidden: true });
  fresh.append(icon("down"), count);
  // One stop of the Tab key: the message that had the focus last, or the newest that is looked at. No row changes for that.
  let stop;
  node.addEventListener("focus", () => {
    if (node.matches(":focus-visible")) (list.contains(stop) ? stop : rowAt(shownRows(), node.scrollTop + node.clientHeight - NEAR))?.focus();
  });
  list.addEventListener("focusin", ({ target }) => {
    stop = target.closest("li");
    node.tabIndex = -1;
  });
  list.addEventListener("focusout", () => (node.tabIndex = 0));
  arrows(list, "li[data-message]");
  const rows = new Map();
  const days = new Map();
  const line = h("li", { class: "new-line" }, h("span", {}, "New messages"));
  const load = button("Load them", { class: "plain small" });
  const hole = h("li", { class: "hole" }, h("span", {}, "Some messages are not here yet."), load);
  let all = [];
  let about = {};
  /** Which of them have rows. */
  let [from, to] = [0, 0];
  /** The first that was unread when it was opened; `null` when there is none. */
  let firstNew;
  /** The last of them, and the number of the newest; `undefined` until the server has given any, or none. */
  let newest;
  let highest;
  let news = 0;
  /** Whether more was asked for. */
  let isWanted = false;

  // A reader at the end stays there when the page gets narrow, a picture has come, or a text is edited.
  let isStaying = true;
  let top = 0;
  const isAtEnd = () => to === all.length && node.scrollHeight - node.scrollTop - node.clientHeight < NEAR;
  const toEnd = () => {
    isStaying = true;
    node.scrollTop = node.scrollHeight;
    top = node.scrollTop;
  };
  /** Also before rows are added or sizes change: a busy page gets the event of a scroll only afterwards. */
  const noteScroll = () => {
    // Only upwards: the browser itself scrolls down, to what gets the focus.
    isStaying = isAtEnd() || (isStaying && node.scrollTop >= top);
    top = node.scrollTop;
  };

  const shownRows = () => all.slice(from, to).map(({ id }) => rows.get(id)?.node).filter((each) => each?.parentNode === list);
  /** The first of the rows whose end is below a line, by halves: their places are asked for, and nothing is laid out. */
  const rowAt = (nodes, y) => {
    let [low, high] = [0, nodes.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (nodes[middle].offsetTop + nodes[middle].offsetHeight > y) high = middle;
      else low = middle + 1;
    }
    return nodes[low];
  };

  const dayLine = (time) => {
    const day = new Date(time).toDateString();
    if (!days.has(day)) days.set(day, h("li", { class: "day" }, h("span", {}, nameOfDay(time))));
    return days.get(day);
  };

  /** Puts the rows of a part of the messages on the page; what is looked at stays where it is. */
  const draw = () => {
    const nodes = [];
    const kept = new Set();
    let before = all[from - 1];
    for (const message of all.slice(from, to)) {
      kept.add(message.id);
      const isNewDay = new Date(message.at).toDateString() !== (before && new Date(before.at).toDateString());
      if (isNewDay) nodes.push(dayLine(message.at));
      if (message.id === about.missingBefore) nodes.push(hole);
      if (message.id === firstNew) nodes.push(line);
      const isFirst = isNewDay || nodes.at(-1) === hole || message.id === firstNew || before.from !== message.from || message.at - before.at > TOGETHER;
      if (!rows.has(message.id)) rows.set(message.id, messageRow({ app, conversation, known }));
      const row = rows.get(message.id);
      row.show(message, { ...about, isFirst });
      nodes.push(row.node);
      before = message;
    }
    for (const id of rows.keys()) if (!kept.has(id)) rows.delete(id);
    if (days.size > MOST) days.clear();
    arrange(list, nodes);
  };
  const drawAround = () => {
    const anchor = rowAt(shownRows(), node.scrollTop);
    const before = anchor?.offsetTop;
    draw();
    if (anchor?.isConnected) node.scrollTop += anchor.offsetTop - before;
    top = node.scrollTop;
  };

  const show = (messages, now) => {
    noteScroll();
    const wasAtEnd = isAtEnd();
    const [head, tail] = [all[from]?.id, all[to - 1]?.id];
    const wasWhole = to === all.length;
    [all, about] = [messages, now];
    // Rows stay; at the end, new messages get rows.
    const start = head === undefined ? -1 : all.findIndex(({ id }) => id === head);
    const end = wasWhole ? all.length : all.findIndex(({ id }) => id === tail) + 1 || all.length;
    [from, to] = [start < 0 ? Math.max(0, end - STEP) : start, end];
    // They were asked for, since the first is in sight.
    if (start > 0 && (isWanted || node.scrollTop < REACH)) {
      from = Math.max(0, start - 2 * STEP);
      isWanted = false;
    }
    if (to - from > MOST) {
      if (wasAtEnd) from = to - MOST + STEP;
      else to = from + MOST;
    }
    mark();
    const last = all.at(-1);
    const isOwnNews = newest !== undefined && last && last.id !== newest && last.from === app.client.user;
    if (isOwnNews) [from, to, firstNew] = [Math.max(from, all.length - MOST), all.length, null];
    if (wasAtEnd || isOwnNews) {
      draw();
      toEnd();
    } else drawAround();
    tellNews();
    if (newest !== undefined || about.isLive) newest = last?.id ?? null;
    if (opened) open();
    if (isAtEnd()) news = 0;
    showFresh();
    earlier.hidden = !from && !about.hasEarlier;
    tellRead();
  };

  let opened = false;
  /** Once it is known how many are unread, a line stands before them. */
  const mark = () => {
    if (firstNew !== undefined || about.unread === undefined || !all.length) return;
    firstNew = null;
    let left = about.unread;
    for (let place = all.length - 1; place >= 0 && left; place--) {
      const { id, from: sender, deletedAt, seq } = all[place];
      const isMissed = id === about.missingBefore;
      if (!isMissed && (sender === app.client.user || deletedAt || !seq)) continue;
      // The first one is among those that are not here.
      if (!--left || isMissed) [firstNew, left] = [id, 0];
    }
    opened = firstNew !== null;
  };
  const open = () => {
    opened = false;
    if (!line.isConnected || node.scrollHeight - line.offsetTop < node.clientHeight) return;
    node.scrollTop = line.offsetTop - NEAR;
    isStaying = false;
    top = node.scrollTop;
  };

  /** For screen readers: who wrote what, once. */
  const tellNews = () => {
    const before = highest;
    if (before !== undefined || about.isLive) highest = all.findLast(({ seq }) => seq)?.seq ?? 0;
    if (before === undefined || !(highest > before)) return;
    const place = all.findLastIndex(({ seq }) => seq <= before);
    const others = all.slice(place + 1).filter(({ from: sender, deletedAt, seq }) => seq && sender !== app.client.user && !deletedAt);
    if (!others.length) return;
    news += others.length;
    if (document.hidden) return;
    said.replaceChildren(...others.slice(-3).map(({ from: sender, text, attachments }) =>
      h("span", {}, `${known.name(sender)}: ${text || (attachments ? "sent a file" : "")} `)));
  };
  const showFresh = () => {
    fresh.hidden = !all.length || (to === all.length && node.scrollHeight - node.scrollTop - node.clientHeight < Math.max(NEAR, news ? 0 : node.clientHeight / 2));
    count.textContent = news || "";
    count.hidden = !news;
    fresh.setAttribute("aria-label", news ? "New messages" : "Newest messages");
  };

  let timer;
  let told = 0;
  /** All that was on the page counts as read: up to the newest message of another person, which may stand before one's own. */
  const tellRead = () => {
    timer ??= setTimeout(() => {
      timer = undefined;
      if (signal.aborted || !node.isConnected || about.read === undefined) return;
      const nodes = shownRows();
      const last = isAtEnd() ? nodes.at(-1) : rowAt(nodes, node.scrollTop + node.clientHeight - NEAR);
      const place = all.findIndex(({ id }) => id === last?.dataset.message);
      const seq = all.slice(0, place + 1).findLast((message) => message.seq && message.from !== app.client.user)?.seq;
      if (!(seq > Math.max(told, about.read)) || document.hidden) return;
      told = seq;
      read(seq);
    }, REST);
  };

  const back = () => {
    from = Math.max(0, from - STEP);
    if (to - from > MOST) to = from + MOST - STEP;
    drawAround();
  };
  const grow = () => {
    if (node.scrollTop < REACH && from > 0) back();
    else if (to < all.length && node.scrollHeight - node.scrollTop - node.clientHeight < REACH) {
      to = Math.min(all.length, to + STEP);
      if (to - from > MOST) from = to - MOST + STEP;
      drawAround();
    }
    const distance = hole.offsetTop - node.scrollTop;
    if (hole.isConnected && about.isLive && distance > -REACH && distance < node.clientHeight + REACH) readEarlier(about.missingBefore);
    if (!from && node.scrollTop < REACH && node.scrollHeight > node.clientHeight) readEarlier();
  };
  node.addEventListener("scroll", () => {
    noteScroll();
    grow();
    if (isAtEnd()) news = 0;
    showFresh();
    tellRead();
  });
  fresh.addEventListener("click", () => {
    [from, to] = [Math.max(0, all.length - STEP), all.length];
    news = 0;
    draw();
    toEnd();
    showFresh();
    list.lastChild?.focus({ preventScroll: true });
  });
  const sizes = new ResizeObserver(() => {
    noteScroll();
    if (isStaying) toEnd();
    showFresh();
  });
  for (const each of [node, list]) sizes.observe(each);
  signal.addEventListener("abort", () => sizes.disconnect());
  load.addEventListener("click", () => readEarlier(about.missingBefore));
  earlier.addEventListener("click", () => {
    if (from > 0) return back();
    isWanted = true;
    readEarlier();
  });
  return { node, earlier, fresh, said, show, tellRead };
};
