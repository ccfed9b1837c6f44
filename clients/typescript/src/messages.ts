// Messages of providers in and out: OpenAI's chat completions and Responses, Anthropic's messages, and those of the Vercel AI SDK.
//
// What a provider's item says becomes the parts of a message, by which the service finds, counts and summarises it; the item itself
// stands beside them as its original, and is what comes back: equal JSON. An item that the service has from elsewhere, without an
// original, comes back made of its parts.
import { create, isMessage, toBinary } from "@bufbuild/protobuf";
import { type Calls, callsIn, readModelMessage, readUIMessage, writeModelMessage, writeUIMessage } from "./ai-messages.js";
import { dumpJson, type Item, isRecord, list, loadJson } from "./json.js";
import * as parts from "./parts.js";
import { isLabel, resultText, textOf } from "./parts.js";
import { type BuildContextResponse, type Message, MessageSchema, Origin, type Part, Role } from "./v1.js";

export type { Item } from "./json.js";
export { isLabel, textOf } from "./parts.js";

/** Messages of OpenAI's chat completions, and of what is compatible with them. */
export const OPENAI_CHAT = "openai.chat/v1";
/** Items of OpenAI's Responses. */
export const OPENAI_RESPONSES = "openai.responses/v1";
/** Messages of Anthropic. */
export const ANTHROPIC = "anthropic.messages/v1";
/** ModelMessage of the Vercel AI SDK: what generateText takes and returns. */
export const AI_SDK_MODEL = "ai-sdk.model/v1";
/** UIMessage of the Vercel AI SDK: what useChat has. */
export const AI_SDK_UI = "ai-sdk.ui/v1";

export type Format = typeof OPENAI_CHAT | typeof OPENAI_RESPONSES | typeof ANTHROPIC | typeof AI_SDK_MODEL | typeof AI_SDK_UI;

// A provider's message that became several has its original at the first; the others say so by this format.
const continued = "continued/v1";

const messageBytes = (1 << 20) - 4096; // the limit of a message, less what the service adds

const roles: Record<string, Role> = {
  system: Role.SYSTEM,
  developer: Role.DEVELOPER,
  user: Role.USER,
  assistant: Role.ASSISTANT,
  model: Role.ASSISTANT,
  tool: Role.TOOL,
  function: Role.TOOL,
};
const roleNames: Partial<Record<Role, string>> = {
  [Role.SYSTEM]: "system",
  [Role.DEVELOPER]: "developer",
  [Role.USER]: "user",
  [Role.ASSISTANT]: "assistant",
  [Role.TOOL]: "tool",
};

/** What is known of an item beside what it says. */
export interface About {
  /** The id of its message; those after the first have it with their number. The service makes one where there is none. */
  id?: string;
  /** Where its words come from, if that is not what its role says. */
  origin?: Origin;
}

/** The roles whose messages are nothing without words; those of others may be calls of tools. */
const wordy = new Set<unknown>(["user", "system", "developer"]);

/**
 * The messages of one item of a provider: one as a rule, several where the item holds results of tools beside other words. Without a
 * format it is known by its fields. A message of v1 is returned as it is.
 */
export function read(item: unknown, format?: Format, about: About = {}): Message[] {
  if (isMessage(item, MessageSchema)) {
    return [item];
  }
  if (!isRecord(item)) {
    throw new TypeError(`a message must be an object, and not ${item === null ? "null" : typeof item}`);
  }
  const known = format ?? formatOf(item);
  const speaks = "role" in item || (!("type" in item) && ("content" in item || "text" in item));
  if (known === OPENAI_CHAT && speaks && !(String(item.role) in roles)) {
    throw new TypeError("role: it must be one of user, assistant, system, developer and tool"); // a misspelt user's would teach nothing
  }
  if (known === OPENAI_CHAT && wordy.has(item.role) && !("content" in item) && !("text" in item)) {
    throw new TypeError(`content: what ${item.role} says must be in it; the message has only ${Object.keys(item).join(", ")}`);
  }
  return pack(readers[known](item), known, dumpJson(item), about);
}

/** The messages of a provider's list. */
export function readAll(items: Iterable<unknown>, format?: Format): Message[] {
  if (typeof items === "string" || typeof items?.[Symbol.iterator] !== "function") {
    throw new TypeError("messages are a list, also of a single one");
  }
  return [...items].flatMap((item) => read(item, format));
}

/**
 * The provider's items of messages: the original where it is of this format, else one that is made of the parts. What no item can be
 * made of is left out.
 */
export function write(messages: Iterable<Message>, format: Format): Item[] {
  const all = [...messages];
  const known = callsIn(all);
  return unpack(
    all,
    format,
    (data) => loadJson(data) as Item,
    (m) => writers[format](m, known),
  );
}

/**
 * Makes one item's messages whole: the first has the original, and each says something. For adapters of formats of their own, which
 * have read an item into messages with role, name and parts.
 */
export function pack(drafts: Message[], format: string, data: Uint8Array, about: About = {}): Message[] {
  drafts.forEach((m, n) => {
    m.original = { $typeName: "memory.v1.Original", ...(n ? { format: continued, data: new Uint8Array() } : { format, data }) };
    m.origin = about.origin ?? Origin.UNSPECIFIED;
    if (about.id) {
      m.id = n ? `${about.id}:${n}` : about.id;
    }
    if (m.parts.length === 0 && m.role !== Role.ASSISTANT) {
      m.parts.push(parts.opaque("empty")); // the service wants something to be said
    }
    fit(m);
  });
  return drafts;
}

/** The items of messages: what load makes of an original of the format, and make of a message that has none. */
export function unpack<T>(messages: Iterable<Message>, format: string, load: (data: Uint8Array) => T, make: (m: Message) => T[]): T[] {
  const out: T[] = [];
  for (const m of messages) {
    if (m.original?.format === format) {
      out.push(load(m.original.data));
    } else if (m.original?.format !== continued) {
      out.push(...make(m));
    }
  }
  return out;
}

/** The format that the fields of an item speak for. */
export function formatOf(item: Item): Format {
  const kind = item.type;
  if (Array.isArray(item.parts) && "role" in item) {
    return AI_SDK_UI;
  }
  if ((kind && !("role" in item)) || kind === "message") {
    return OPENAI_RESPONSES;
  }
  const kinds = new Set(list(item.content).map((b) => (isRecord(b) ? b.type : undefined)));
  const has = (...names: string[]) => names.some((name) => kinds.has(name));
  if (has("tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use")) {
    return ANTHROPIC;
  }
  if (has("input_text", "output_text", "input_image", "input_file")) {
    return OPENAI_RESPONSES;
  }
  if (has("tool-call", "tool-result", "tool-approval-request", "tool-approval-response", "reasoning") || "providerOptions" in item) {
    return AI_SDK_MODEL;
  }
  const located = list(item.content).some(
    (b) => isRecord(b) && ((b.type === "image" && "image" in b) || (b.type === "file" && "data" in b)),
  );
  return located ? AI_SDK_MODEL : OPENAI_CHAT;
}

/** The messages of a context that was rendered for OpenAI or Anthropic, or the items for OpenAI's Responses. */
export function rendered(context: BuildContextResponse): Item[] {
  const body = context.rendering ? JSON.parse(context.rendering) : {};
  return body.input ?? body.messages ?? [];
}

// --- in ---------------------------------------------------------------------------------------------------------------------

const readers: Record<Format, (item: Item) => Message[]> = {
  [OPENAI_CHAT]: readMessage,
  [ANTHROPIC]: readMessage,
  [OPENAI_RESPONSES]: (item) => ((item.type ?? "message") === "message" ? readMessage(item) : readResponsesItem(item)),
  [AI_SDK_MODEL]: readModelMessage,
  [AI_SDK_UI]: readUIMessage,
};

function readMessage(body: Item): Message[] {
  const said = String(body.role ?? body.type ?? "");
  const role = roles[said] ?? Role.ASSISTANT;
  const m = create(MessageSchema, { role });
  const name = said in roles ? body.name : said;
  if (isLabel(name) && role !== Role.TOOL) {
    m.name = name;
  }
  for (const key of ["reasoning_content", "reasoning"]) {
    const thought = body[key];
    if (typeof thought === "string" && thought) {
      m.parts.push(parts.reasoning(thought));
      break;
    }
  }
  m.parts.push(...parts.of("content" in body ? body.content : body.text)); // text is the service's own short form
  m.parts.push(...parts.texts(body.refusal));
  if (body.function_call) {
    m.parts.push(parts.opaque("openai.function_call")); // OpenAI's older form, which has no id that a result could name
  }
  for (const call of list(body.tool_calls)) {
    m.parts.push(chatCall(isRecord(call) ? call : {}));
  }
  if (role === Role.TOOL) {
    answer(m, body);
  }
  return apart(m);
}

/** Makes a tool's message of what it says: a result of its call. */
function answer(m: Message, body: Item): void {
  if (isLabel(body.tool_call_id)) {
    m.parts = [parts.result(body.tool_call_id, m.parts, "ok")];
  } else if (m.parts.length === 0) {
    m.parts.push(parts.opaque("tool")); // the older form, without an id
  }
}

/** Puts the results of tools in a user's message into a message of the tool, before what the person says. */
function apart(m: Message): Message[] {
  const results = m.parts.filter((p) => p.kind.case === "toolResult");
  if (m.role !== Role.USER || results.length === 0) {
    return [m];
  }
  const rest = m.parts.filter((p) => p.kind.case !== "toolResult");
  const tool = create(MessageSchema, { role: Role.TOOL, parts: results });
  return rest.length ? [tool, create(MessageSchema, { role: m.role, name: m.name, parts: rest })] : [tool];
}

/** The part of a call as OpenAI writes it. */
function chatCall(call: Item): Part {
  const inner = [call.function, call.custom].find(isRecord) ?? call;
  return parts.call(call.id, inner.name, inner.arguments ?? inner.input ?? "");
}

/** Reads what stands beside messages among the items of OpenAI's Responses. */
function readResponsesItem(item: Item): Message[] {
  const kind = String(item.type);
  const callId = item.call_id || item.id;
  if (kind === "reasoning") {
    return [create(MessageSchema, { role: Role.ASSISTANT, parts: [reasoningItem(item)] })];
  }
  if (kind.endsWith("_call_output") && isLabel(callId)) {
    return [create(MessageSchema, { role: Role.TOOL, parts: [parts.result(callId, parts.of(item.output), "ok")] })];
  }
  if (kind.endsWith("_call") && item.call_id) {
    // those without one answer themselves, as a search in the web
    const words = item.arguments ?? item.input ?? item.action ?? item.operation ?? "";
    return [create(MessageSchema, { role: Role.ASSISTANT, parts: [parts.call(callId, item.name || kind.replace(/_call$/, ""), words)] })];
  }
  return [create(MessageSchema, { role: Role.ASSISTANT, parts: [parts.opaque(`openai.${kind}`)] })];
}

function reasoningItem(item: Item): Part {
  const said = [...list(item.summary), ...list(item.content)].map((s) => (isRecord(s) ? String(s.text ?? "") : ""));
  return parts.reasoning(said.join("\n\n"), { encrypted: item.encrypted_content });
}

/** Leaves bytes of images to the original where both are more than a message may hold. */
function fit(m: Message): void {
  const sized = [...m.parts, ...m.parts.flatMap((p) => (p.kind.case === "toolResult" ? p.kind.value.parts : []))];
  // Sizing costs as much as sending: only what carries bytes can be too large here and smaller there.
  if (!sized.some((p) => p.kind.case === "blob") || toBinary(MessageSchema, m).length <= messageBytes) {
    return;
  }
  for (const p of sized) {
    if (p.kind.case === "blob") {
      p.kind = parts.opaque(p.kind.value.mimeType).kind;
    }
  }
}

// --- out --------------------------------------------------------------------------------------------------------------------

const writers: Record<Format, (m: Message, known: Calls) => Item[]> = {
  [OPENAI_CHAT]: writeChat,
  [OPENAI_RESPONSES]: writeResponses,
  [ANTHROPIC]: writeAnthropic,
  [AI_SDK_MODEL]: writeModelMessage,
  [AI_SDK_UI]: writeUIMessage,
};

function writeChat(m: Message): Item[] {
  const out: Item[] = parts.resultsOf(m).map((r) => ({ role: "tool", tool_call_id: r.callId, content: resultText(r) }));
  const images = m.role === Role.USER ? m.parts.filter(parts.isImage) : [];
  let content: unknown = textOf(m);
  if (images.length) {
    const shown = images.map((p) => ({ type: "image_url", image_url: { url: parts.urlOf(p) } }));
    content = [...(content ? [{ type: "text", text: content }] : []), ...shown];
  }
  const calls = parts.callsOf(m).map((c) => ({ id: c.id, type: "function", function: { name: c.name, arguments: c.arguments } }));
  if (content || calls.length) {
    const item: Item = { role: roleNames[m.role] ?? "user", content: content || null };
    if (calls.length) {
      item.tool_calls = calls;
    }
    if (m.name) {
      item.name = m.name;
    }
    out.push(item);
  }
  return out;
}

function writeResponses(m: Message): Item[] {
  const out: Item[] = parts.resultsOf(m).map((r) => ({ type: "function_call_output", call_id: r.callId, output: resultText(r) }));
  const images = m.role === Role.USER ? m.parts.filter(parts.isImage) : [];
  let content: unknown = textOf(m);
  if (images.length) {
    const shown = images.map((p) => ({ type: "input_image", image_url: parts.urlOf(p), detail: "auto" }));
    content = [...(content ? [{ type: "input_text", text: content }] : []), ...shown];
  }
  if (content) {
    out.push({ role: m.role === Role.TOOL ? "user" : (roleNames[m.role] ?? "user"), content });
  }
  out.push(...parts.callsOf(m).map((c) => ({ type: "function_call", call_id: c.id, name: c.name, arguments: c.arguments })));
  return out;
}

function writeAnthropic(m: Message): Item[] {
  const content: Item[] = [];
  for (const { kind } of m.parts.length ? m.parts : parts.texts(m.text)) {
    if (kind.case === "text") {
      content.push({ type: "text", text: kind.value.text });
    } else if (kind.case === "reasoning" && kind.value.signature) {
      content.push({ type: "thinking", thinking: kind.value.text, signature: kind.value.signature });
    } else if (kind.case === "toolCall") {
      content.push({ type: "tool_use", id: kind.value.id, name: kind.value.name, input: parts.argumentsOf(kind.value) });
    } else if (kind.case === "toolResult") {
      const r = kind.value;
      content.push({ type: "tool_result", tool_use_id: r.callId, content: resultText(r), is_error: r.isError });
    } else if (kind.case === "blob" && kind.value.mimeType.startsWith("image/")) {
      content.push({ type: "image", source: { type: "base64", media_type: kind.value.mimeType, data: parts.base64(kind.value.data) } });
    } else if (kind.case === "uri" && !kind.value.mimeType.startsWith("application/")) {
      content.push({ type: "image", source: { type: "url", url: kind.value.uri } });
    }
  }
  return content.length ? [{ role: m.role === Role.ASSISTANT ? "assistant" : "user", content }] : [];
}
