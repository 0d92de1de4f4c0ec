// Playground: two phones side by side, each on the library for browsers, with a switch that cuts it off the network.
import { PresenceMessages } from "/console/presence-messages.js";
import { Screen, clock, describe, field, h, nameOf } from "/console/parts.js";
import { PresenceClient } from "/console/presence.js";
import { api, pictureHere } from "./api.js";

const STATES = { connecting: "Connecting…", live: "Live", stale: "As last known", waiting: "No connection", refused: "Refused", closed: "Closed" };
const SENT = { sending: "Sending…", sent: "Sent", delivered: "Delivered", read: "Read", failed: "Not sent" };
/** To the server, a connection that ends with it was lost: its user lingers before they are offline. */
const LOST = 4900;

const Plain = globalThis.WebSocket;

/** The network of one phone. `address` leads to the server like any other; it differs so that its sockets can be recognised. */
class Radio {
  static all = new Map();
  #sockets = new Set();
  isOn = true;

  constructor(number) {
    this.address = location.origin + "/.".repeat(number + 1);
    Radio.all.set(`${this.address.replace(/^http/, "ws")}/v1/ws`, this);
  }

  add(socket) {
    this.#sockets.add(socket);
    socket.addEventListener("close", () => this.#sockets.delete(socket));
  }

  switch(isOn) {
    this.isOn = isOn;
    if (isOn) return;
    for (const socket of this.#sockets) {
      const { onclose } = socket;
      socket.onmessage = null;
      onclose?.call(socket, { code: 1006, reason: "" });
      socket.close(LOST);
    }
  }
}

/** Sockets of a phone in airplane mode fail at once. */
class PhoneSocket extends Plain {
  constructor(address, protocols) {
    const radio = Radio.all.get(address);
    if (radio && !radio.isOn) {
      const dead = { readyState: Plain.CLOSED, send() {}, close() {} };
      setTimeout(() => dead.onclose?.({ code: 1006, reason: "" }));
      return dead;
    }
    super(address, protocols);
    radio?.add(this);
  }
}

class Phone {
  #screen;
  #user;
  #other;
  #radio;
  #client;
  #messages;
  #conversation = "";
  #settle;
  /** The conversation's id, once it is made: texts that are sent before wait for it. */
  #ready = new Promise((resolve) => (this.#settle = resolve));
  #problem = h("p", { class: "bad", role: "alert" });

  constructor(screen, number, own, other, token) {
    this.#screen = screen;
    this.#user = own;
    this.#other = other;
    this.#radio = new Radio(number);
    this.#client = new PresenceClient({
      url: this.#radio.address, token, share: false, device: { id: `playground-${crypto.randomUUID().slice(0, 8)}`, kind: "phone", name: `${own.displayName}’s phone` },
    });
    this.#messages = new PresenceMessages(this.#client, { user: own.user, history: false });
    screen.signal.addEventListener("abort", () => {
      this.#messages.close();
      this.#client.close();
    });
    this.node = this.#make();
    this.#begin().catch((error) => this.#tell(error));
  }

  #tell(error) {
    if (!this.#screen.signal.aborted) this.#problem.textContent = `${error.message}.`;
  }

  #each(loop, show) {
    return this.#screen.each(loop, show).catch((error) => this.#tell(error));
  }

  #make() {
    const signal = this.#screen.signal;
    const { displayName } = this.#user;
    const state = h("span", { class: "quiet", role: "status" });
    const airplane = h("button", { type: "button", role: "switch", "aria-checked": "false", class: "switch" }, "Airplane mode");
    airplane.addEventListener("click", () => {
      const isOn = !this.#radio.isOn;
      this.#radio.switch(isOn);
      airplane.setAttribute("aria-checked", String(!isOn));
      if (isOn) this.#client.reconnect();
    });
    this.#each(this.#client.connections({ signal }), (connection) => {
      state.textContent = this.#radio.isOn ? STATES[connection.state] : "No connection";
      if (connection.state === "refused") this.#tell(connection.error);
    });

    const avatar = h("presence-avatar");
    const name = h("strong", {}, this.#other.displayName);
    const status = h("p", { class: "quiet" });
    this.#each(this.#client.person(this.#other.user, { signal }), (person) => {
      name.textContent = person.profile?.displayName ? nameOf(person) : this.#other.displayName;
      avatar.show(name.textContent, pictureHere(person), person.live ? person.presence?.status : undefined);
      status.textContent = describe(person, this.#client.now());
    });

    const chosen = field("Status", { name: `status-${this.#user.user}` }, { tag: "select" });
    chosen.input.append(h("option", { value: "auto" }, "Online"), h("option", { value: "busy" }, "Busy"), h("option", { value: "invisible" }, "Invisible"));
    chosen.input.addEventListener("change", () => this.#client.setStatus(chosen.value).catch((error) => this.#tell(error)));
    this.#each(this.#client.me({ signal }), (me) => {
      if (me.status && chosen.input !== document.activeElement) chosen.input.value = me.status.status;
    });

    return h("section", { class: "card phone", "aria-label": `${displayName}’s phone` },
      h("div", { class: "row" }, h("h2", {}, `${displayName}’s phone`), state), h("div", { class: "row" }, chosen.node, airplane),
      h("div", { class: "talk-head" }, avatar, h("div", {}, name, status)), this.#log(), this.#composer(), this.#problem);
  }

  #log() {
    const list = h("ol");
    this.log = h("div", { class: "messages", role: "log", "aria-label": `Messages on ${this.#user.displayName}’s phone`, tabindex: "0" }, list);
    this.typing = h("p", { class: "typing", role: "status" });
    this.show = ({ messages, live }) => {
      list.replaceChildren(...messages.map((message) => {
        const isOwn = message.from === this.#user.user;
        const sent = message.status === "sending" && !live ? "Waits for a connection" : SENT[message.status] ?? "";
        const meta = h("p", { class: "meta" }, clock(message.at), isOwn ? ` · ${sent}` : "");
        return h("li", { class: isOwn ? "mine" : "theirs" }, h("div", { class: "bubble" }, h("p", { class: "text", dir: "auto" }, message.deletedAt ? "(deleted)" : message.text), meta));
      }));
      this.log.scrollTop = this.log.scrollHeight;
    };
    new ResizeObserver(() => (this.log.scrollTop = this.log.scrollHeight)).observe(this.log);
    return h("div", {}, this.log, this.typing);
  }

  #composer() {
    const text = h("input", { "aria-label": `Message of ${this.#user.displayName}`, name: `text-${this.#user.user}`, placeholder: "Message", dir: "auto", autocomplete: "off", maxlength: "5000" });
    const made = h("form", { class: "composer", novalidate: true }, text, h("button", { type: "submit", class: "main" }, "Send"));
    text.addEventListener("input", () => this.#conversation && this.#client.setTyping(this.#conversation, !!text.value));
    made.addEventListener("submit", (event) => {
      event.preventDefault();
      const wanted = text.value.trim();
      if (!wanted) return;
      text.value = "";
      this.#problem.textContent = "";
      if (this.#conversation) this.#client.setTyping(this.#conversation, false);
      this.#ready.then((id) => this.#messages.send(id, wanted)).catch((error) => this.#tell(error));
    });
    return made;
  }

  /** The steps that need a connection: they wait for one. */
  async #begin() {
    const signal = this.#screen.signal;
    for (;;) {
      try {
        this.#conversation = (await this.#messages.create([this.#other.user])).id;
        const [{ profile }] = await this.#client.get([this.#user.user]);
        if (!profile?.displayName) await this.#client.updateProfile({ displayName: this.#user.displayName });
        break;
      } catch (error) {
        // No answer in time. Any other error would come again.
        if (signal.aborted || error.code !== "unavailable") throw error;
      }
    }
    const id = this.#conversation;
    this.#settle(id);
    this.#each(this.#messages.messages(id, { signal }), (page) => {
      this.show(page);
      // Both are on the screen.
      if (page.messages.some(({ from }) => from === this.#other.user) && !document.hidden) this.#messages.read(id).catch(() => {});
    });
    this.#each(this.#client.typing(id, { signal }), ({ users }) => {
      this.typing.textContent = users.length ? `${this.#other.displayName} is typing…` : "";
    });
  }
}

class Playground extends Screen {
  #tokens = { at: -Infinity };

  render() {
    globalThis.WebSocket = PhoneSocket;
    this.signal.addEventListener("abort", () => {
      globalThis.WebSocket = Plain;
      Radio.all.clear();
    });
    const problem = h("p", { class: "bad", role: "alert" });
    const phones = h("div", { class: "columns" });
    this.#ask().then(({ phones: [first, second] }) => {
      if (this.signal.aborted) return;
      const token = ({ user }) => async (how) => (await this.#ask(how)).phones.find((each) => each.user === user).token;
      phones.replaceChildren(new Phone(this, 0, first, second, token(first)).node, new Phone(this, 1, second, first, token(second)).node);
    }, (error) => !this.signal.aborted && (problem.textContent = `There is no playground: ${error.message}.`));
    return [
      h("h1", { tabindex: "-1" }, "Playground"),
      h("p", {}, "Two users of this server, Ana and Ben, each on a phone. Type, send, change a status. Airplane mode cuts a phone off: its messages wait, and the other phone shows its user offline after a while."),
      problem, phones,
    ];
  }

  /** Tokens for both, for an hour. */
  async #ask({ renew = false } = {}) {
    const age = performance.now() - this.#tokens.at;
    if (age > (renew ? 5_000 : 3_000_000)) {
      const told = api.ask("POST", "/v1/console/playground", { signal: this.signal });
      const tokens = (this.#tokens = { at: performance.now(), told });
      told.catch(() => (tokens.at = -Infinity));
    }
    return this.#tokens.told;
  }
}

customElements.define("playground-screen", Playground);
