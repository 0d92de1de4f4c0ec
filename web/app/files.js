// Files and pictures of messages: what they are called, and how those that are to be sent are made small.
import { button, fileAt, fileHere, h } from "./parts.js";
import { icon } from "./icons.js";

const amounts = (unit) => new Intl.NumberFormat("en", { style: "unit", unit, maximumFractionDigits: 0 });
const [kilobytes, megabytes] = [amounts("kilobyte"), amounts("megabyte")];
export const size = (bytes) => (bytes < 1e6 ? kilobytes.format(Math.ceil(bytes / 1e3)) : megabytes.format(bytes / 1e6));

/** Pixels of a side and bytes of a picture that is sent as it is, at most; the server makes larger ones small too. */
const [LONGEST, LARGEST] = [2_048, 500_000];
const QUALITY = 0.85;

/** A picture that is not larger than others can use, as a JPEG; anything else as it is. */
export const smaller = async (file, longest = LONGEST) => {
  if (!/^image\/(?!gif|svg)/.test(file.type)) return file;
  const isCommon = ["image/jpeg", "image/png"].includes(file.type);
  const bitmap = await createImageBitmap(file).catch(() => undefined);
  if (!bitmap) return file;
  const scale = Math.min(1, longest / Math.max(bitmap.width, bitmap.height));
  if (scale === 1 && file.size <= LARGEST && isCommon) return file;
  const canvas = h("canvas");
  [canvas.width, canvas.height] = [bitmap.width, bitmap.height].map((side) => Math.max(1, Math.round(side * scale)));
  const context = canvas.getContext("2d");
  // Transparent parts become white.
  context.fillStyle = "#fff";
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  bitmap.close();
  const made = await new Promise((resolve) => canvas.toBlob(resolve, "image/jpeg", QUALITY));
  if (!made || (made.size >= file.size && isCommon)) return file;
  return new File([made], `${file.name.replace(/\.\w+$/, "")}.jpg`, { type: made.type });
};

/** By address: a file keeps its name. */
const names = new Map();
const MOST_NAMES = 1_000;

const readName = async (address) => {
  // A server may lead to a bucket of another host, where this page may not ask.
  const answer = await fetch(address, { method: "HEAD", redirect: "manual" });
  const [, name] = /filename\*=UTF-8''([^;]+)/i.exec(answer.headers.get("Content-Disposition")) ?? [];
  return name && decodeURIComponent(name);
};

/** Without marks of direction, which would show "gpj.exe" as "exe.jpg". */
const decoded = async (text) => decodeURIComponent(text).replace(/[\p{Cc}\p{Bidi_Control}]/gu, "");

/** A file's name: from this server, or from the address of another host. */
const nameOfFile = (address, here) => {
  if (names.size > MOST_NAMES) names.clear();
  if (!names.has(address)) {
    const last = new URL(address).pathname.split("/").at(-1);
    names.set(address, (here ? readName(here) : Promise.resolve(decoded(last))).catch(() => {}));
  }
  return names.get(address);
};

const KINDS = { image: "Picture", video: "Video" };

/** One attachment of a message in its list. */
export const attachmentOf = ({ kind, url, thumbnailURL, sizeBytes, name }) => {
  const place = fileAt(url);
  if (!place) return h("li", {}, kind);
  const link = h("a", { href: place, target: "_blank", rel: "noopener noreferrer nofollow" });
  const named = () => {
    const called = h("span", { class: "file-name", dir: "auto" }, name ?? KINDS[kind] ?? "File");
    link.className = "file";
    link.replaceChildren(icon("file"), h("span", {}, called, h("span", { class: "file-size" }, sizeBytes ? size(sizeBytes) : kind)));
    if (name) return void names.set(url, Promise.resolve(name));
    nameOfFile(url, fileHere(url)).then((found) => found && (called.textContent = found), () => {});
  };
  // A picture that cannot be had is a link like any other.
  const draw = (src) => link.replaceChildren(h("img", { src, alt: "Picture", loading: "lazy", referrerpolicy: "no-referrer", onerror: named }));
  const here = fileHere(thumbnailURL) ?? fileHere(url);
  if (kind === "image" && here) draw(here);
  else named();
  const node = h("li", {}, link);
  if (kind === "image" && !here) {
    // Another host learns who looks, from where, and when.
    const load = button(`Show the picture from ${new URL(place).host}`, { class: "plain small" });
    load.addEventListener("click", () => {
      load.remove();
      link.className = "";
      draw(fileAt(thumbnailURL) ?? place);
    });
    node.append(load);
  }
  return node;
};
