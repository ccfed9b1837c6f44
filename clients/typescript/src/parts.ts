// The parts of messages: made of a provider's blocks, and read back.
import { create } from "@bufbuild/protobuf";
import { base64, bytes, dumpJson, type Item, isRecord, list } from "./json.js";
import { ImageDetail, type Message, type Part, PartSchema, type ToolCall, type ToolResult } from "./v1.js";

export { base64 } from "./json.js";

const labelBytes = 255;
const urlBytes = 8192;
// Control characters and the like, and separators, but for what joins emoji and the blank.
const unprintable = /[^\P{C}\u200d]|[^\P{Z} ]/u;

/** Whether the service takes this as an id or a name. */
export function isLabel(value: unknown): value is string {
  return typeof value === "string" && value !== "" && size(value) <= labelBytes && !unprintable.test(value);
}

function size(text: string): number {
  return text.length * 3 <= labelBytes ? text.length : new TextEncoder().encode(text).length;
}

/** The text as UTF-8 can have it: half of a surrogate pair, as cut JSON leaves it, becomes a question mark. */
export function clean(text: string): string {
  return text.replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "?");
}

/** The part of a text; none of an empty one. */
export function texts(text: unknown): Part[] {
  return typeof text === "string" && text ? [create(PartSchema, { kind: { case: "text", value: { text: clean(text) } } })] : [];
}

/** The part of what a model thought. */
export function reasoning(text: unknown, more: { signature?: unknown; encrypted?: unknown } = {}): Part {
  const hidden = typeof more.encrypted === "string" ? more.encrypted : "";
  const value = {
    text: typeof text === "string" ? clean(text) : "",
    signature: typeof more.signature === "string" ? clean(more.signature) : "",
    encrypted: bytes(hidden) ?? new TextEncoder().encode(hidden),
  };
  return create(PartSchema, { kind: { case: "reasoning", value } });
}

/** The part of a call, whose arguments are the model's own text or a value. */
export function call(id: unknown, name: unknown, args: unknown): Part {
  if (!isLabel(id) || !isLabel(name)) {
    return opaque("tool_call"); // nothing could name it
  }
  const words = typeof args === "string" ? args : json(args);
  return create(PartSchema, { kind: { case: "toolCall", value: { id, name, arguments: clean(words) } } });
}

/** The part of a call's result. */
export function result(callId: unknown, content: Part[], state: "ok" | "failed"): Part {
  if (!isLabel(callId)) {
    return opaque("tool_result");
  }
  return create(PartSchema, { kind: { case: "toolResult", value: { callId, parts: content.map(ofResult), isError: state === "failed" } } });
}

/** What a result can hold: calls, results and reasoning within it are kept as they are in the original alone. */
function ofResult(p: Part): Part {
  const kind = p.kind.case;
  return kind === "toolCall" || kind === "toolResult" || kind === "reasoning" ? opaque(kind) : p;
}

/** The part of what has no form of its own here. The original holds it whole; item is what of it has to stand in the part too. */
export function opaque(kind: string, item = ""): Part {
  return create(PartSchema, { kind: { case: "opaque", value: { type: isLabel(kind) ? kind : "content", json: item } } });
}

/** A value as the text of its JSON. */
export function json(value: unknown): string {
  return new TextDecoder().decode(dumpJson(value ?? null));
}

/** The parts of a content: a text, or blocks of a provider. */
export function of(content: unknown): Part[] {
  return list(content).flatMap(block);
}

/** The parts of one piece of a content; none where it is empty. A kind that has no form of its own is kept as it is. */
function block(b: unknown): Part[] {
  if (typeof b === "string") {
    return texts(b);
  }
  if (!isRecord(b)) {
    return [opaque("content", json(b))];
  }
  const kind = String(b.type ?? "content");
  switch (kind) {
    case "text":
    case "input_text":
    case "output_text":
    case "summary_text":
      return texts(b.text);
    case "refusal":
      return texts(b.refusal);
    case "thinking":
    case "reasoning":
      return [reasoning(b.thinking ?? b.reasoning, { signature: b.signature })];
    case "redacted_thinking":
      return [reasoning("", { encrypted: b.data })];
    case "tool_use":
      return [call(b.id, b.name, b.input ?? {})];
    case "tool_result":
      return isLabel(b.tool_use_id) ? [result(b.tool_use_id, of(b.content), b.is_error ? "failed" : "ok")] : [opaque(kind, json(b))];
    default:
      return [located(b, kind) ?? opaque(kind, json(b))];
  }
}

const locatable = ["image_url", "input_image", "image", "document", "computer_screenshot"];

/** An image or a document, inline or at an address; undefined for one in a provider's own file. */
function located(b: Item, kind: string): Part | undefined {
  if (!locatable.includes(kind)) {
    return undefined;
  }
  if (isRecord(b.source)) {
    const source = b.source; // Anthropic's
    if (source.type === "text") {
      return texts(source.data)[0];
    }
    return source.type === "url" ? at(source.url) : inline(source.media_type, source.data);
  }
  const where = b.image_url ?? b.url;
  const detail = isRecord(where) ? where.detail : b.detail;
  return at(isRecord(where) ? where.url : where, "", detail);
}

const details: Record<string, ImageDetail> = { low: ImageDetail.LOW, high: ImageDetail.HIGH };

/** The part of what lies at an address, or in a data URL; undefined where it is neither. */
export function at(url: unknown, mimeType = "", detail?: unknown): Part | undefined {
  if (typeof url !== "string") {
    return undefined;
  }
  if (url.startsWith("data:")) {
    const comma = url.indexOf(","); // RFC 2397
    const head = url.slice("data:".length, comma);
    return comma > 0 && head.endsWith(";base64") ? inline(head.slice(0, -";base64".length), url.slice(comma + 1), detail) : undefined;
  }
  if (!url || new TextEncoder().encode(url).length > urlBytes || unprintable.test(url)) {
    return undefined;
  }
  return create(PartSchema, {
    kind: { case: "uri", value: { uri: url, mimeType: isLabel(mimeType) ? mimeType : "", ...imageSize(detail) } },
  });
}

/** The part of bytes, as they are or in base64; undefined where they are not, or have no media type. */
export function inline(mimeType: unknown, data: unknown, detail?: unknown): Part | undefined {
  const raw = data instanceof Uint8Array ? data : typeof data === "string" ? bytes(data) : undefined;
  if (!raw?.length || !isLabel(mimeType)) {
    return undefined;
  }
  return create(PartSchema, { kind: { case: "blob", value: { mimeType, data: raw, ...imageSize(detail) } } });
}

function imageSize(detail: unknown): { image?: { detail: ImageDetail } } {
  const known = details[String(detail)];
  return known ? { image: { detail: known } } : {};
}

// --- back -------------------------------------------------------------------------------------------------------------------

/** What the message says in words. */
export function textOf(m: Message): string {
  return m.text || wordsOf(m.parts);
}

/** What a result says in words. */
export function resultText(r: ToolResult): string {
  return wordsOf(r.parts);
}

function wordsOf(all: Part[]): string {
  return all.flatMap((p) => (p.kind.case === "text" ? [p.kind.value.text] : [])).join("\n\n");
}

/** The calls of a message. */
export function callsOf(m: Message): ToolCall[] {
  return m.parts.flatMap((p) => (p.kind.case === "toolCall" ? [p.kind.value] : []));
}

/** The results that a message holds. */
export function resultsOf(m: Message): ToolResult[] {
  return m.parts.flatMap((p) => (p.kind.case === "toolResult" ? [p.kind.value] : []));
}

/** The arguments of a call as an object; an empty one where they are none. */
export function argumentsOf(c: ToolCall): Item {
  try {
    const value: unknown = JSON.parse(c.arguments || "{}");
    return isRecord(value) ? value : {};
  } catch {
    return {};
  }
}

/** Whether the part may be shown as an image. */
export function isImage(p: Part): boolean {
  return (
    (p.kind.case === "blob" && p.kind.value.mimeType.startsWith("image/")) ||
    (p.kind.case === "uri" && !p.kind.value.mimeType.startsWith("application/"))
  );
}

/** The address of an image, or a data URL of its bytes. */
export function urlOf(p: Part): string {
  if (p.kind.case === "blob") {
    return `data:${p.kind.value.mimeType};base64,${base64(p.kind.value.data)}`;
  }
  return p.kind.case === "uri" ? p.kind.value.uri : "";
}
