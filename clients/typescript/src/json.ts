// JSON of provider's items. The Vercel AI SDK has bytes, URLs and dates in its messages, for which JSON has no form: they are written
// under a key of their own, and come back as what they were.

/** An object of a provider. */
export type Item = Record<string, unknown>;

const tag = "$strata";

export function isRecord(value: unknown): value is Item {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The value as a list: itself, nothing for nothing, else alone. */
export function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : value === undefined || value === null ? [] : [value];
}

/** A value as JSON in UTF-8. */
export function dumpJson(value: unknown): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(JSON.stringify(value, tagged));
}

/** What dumpJson wrote. */
export function loadJson(data: Uint8Array): unknown {
  const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(data);
  return JSON.parse(text, text.includes(`"${tag}"`) ? untagged : undefined);
}

/** What JSON.stringify writes for a value; it has called toJSON by then, so the value is taken from its holder. */
function tagged(this: unknown, key: string, value: unknown): unknown {
  const raw = isRecord(this) || Array.isArray(this) ? (this as Item)[key] : value;
  if (raw instanceof Uint8Array || raw instanceof ArrayBuffer) {
    return { [tag]: raw instanceof Uint8Array ? "bytes" : "buffer", base64: base64(raw instanceof Uint8Array ? raw : new Uint8Array(raw)) };
  }
  if (raw instanceof URL) {
    return { [tag]: "url", url: raw.href };
  }
  if (raw instanceof Date) {
    return { [tag]: "date", time: raw.getTime() };
  }
  if (typeof raw === "bigint") {
    return { [tag]: "bigint", digits: raw.toString() };
  }
  // An object that has the key itself, and is not one of those above, is wrapped.
  if (isRecord(raw) && tag in raw && !(isRecord(this) && this[tag] === "object")) {
    return { [tag]: "object", value: raw };
  }
  return value;
}

function untagged(this: unknown, _key: string, value: unknown): unknown {
  if (!isRecord(value) || (isRecord(this) && this[tag] === "object")) {
    return value;
  }
  switch (value[tag]) {
    case "bytes":
      return bytes(String(value.base64)) ?? value;
    case "buffer":
      return bytes(String(value.base64))?.buffer ?? value;
    case "url":
      return new URL(String(value.url));
    case "date":
      return new Date(value.time === null ? Number.NaN : Number(value.time));
    case "bigint":
      return BigInt(String(value.digits));
    case "object":
      return value.value;
    default:
      return value;
  }
}

/** Bytes in base64. */
export function base64(data: Uint8Array): string {
  let binary = "";
  for (let at = 0; at < data.length; at += 0x8000) {
    binary += String.fromCharCode(...data.subarray(at, at + 0x8000));
  }
  return btoa(binary);
}

/** The bytes of base64; undefined where it is none. */
export function bytes(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (text.length % 4 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) {
    return undefined;
  }
  return Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
}
