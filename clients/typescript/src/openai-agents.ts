// A Session of the OpenAI Agents SDK that Strata holds.

import { create, equals } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import type { AgentInputItem, CallModelInputFilter, Session, SessionHistoryTransactionArgs } from "@openai/agents";
import type { BaseClient } from "./client.js";
import { AlreadyExists, Conflict, FailedPrecondition, NotFound } from "./errors.js";
import { dumpJson, type Item, isRecord, list, loadJson } from "./json.js";
import { pack, unpack } from "./messages.js";
import * as parts from "./parts.js";
import { isRecalled } from "./recall.js";
import { ExtractMode, type Message, MessageSchema, type Part, Role } from "./v1.js";

/** Items of the OpenAI Agents SDK for JavaScript, which has names of its own for those of OpenAI's Responses. */
export const OPENAI_AGENTS_JS = "openai.agents-js/v1";

const pageSize = 200;
const replaceTries = 5; // where others change the list between reading and writing it

/** The messages that a session shows, as they were at one time. */
interface Listed {
  messages: Message[];
  etag: string;
  /** The seq of the session's last message, which may be hidden. */
  lastSeq: bigint;
}

/** What a session is of. */
export interface StrataSessionOptions {
  client: BaseClient;
  userId: string;
  sessionId: string;
  /** The profile of the session, by which its context and its background work go; the server's default where it is not given. */
  profile?: string;
  /**
   * What becomes of items that clearSession or replaceItems takes away: erase deletes them, and the facts that only they taught; hide
   * keeps transcript and facts, and the session no longer shows them.
   */
  clear?: "erase" | "hide";
}

/** Keeps the items of a session as they are, and brings what Strata knows about the user into each call of the model. */
export class StrataSession implements Session {
  readonly #client: BaseClient;
  readonly #scope: { userId: string; sessionId: string };
  readonly #profile: string;
  readonly #clear: "erase" | "hide";

  constructor(options: StrataSessionOptions) {
    this.#client = options.client;
    this.#scope = { userId: options.userId, sessionId: options.sessionId };
    this.#profile = options.profile ?? "";
    this.#clear = options.clear ?? "erase";
  }

  async getSessionId(): Promise<string> {
    return this.#scope.sessionId;
  }

  /** The latest items, as many as limit, in their order; all without a limit. */
  async getItems(limit?: number): Promise<AgentInputItem[]> {
    const most = limit ?? Number.POSITIVE_INFINITY;
    const newestFirst: AgentInputItem[] = [];
    if (most > 0) {
      const { userId, sessionId } = this.#scope;
      const fields = { pageSize: Math.min(most, pageSize), newestFirst: true, visibleOnly: true, includeOriginal: true };
      try {
        for await (const m of this.#client.messages(userId, sessionId, fields)) {
          newestFirst.push(...itemsOf(m).reverse());
          if (newestFirst.length >= most) {
            break;
          }
        }
      } catch (error) {
        if (!(error instanceof NotFound)) {
          throw error; // there is no session yet
        }
      }
    }
    return newestFirst.slice(0, Math.max(most, 0)).reverse();
  }

  /**
   * Records the items as one turn: all of them, or none. The block of withMemory is left out: the SDK hands over what a filter made
   * of the input, and not what it was made of.
   */
  async addItems(items: AgentInputItem[]): Promise<void> {
    const messages = readItems(items);
    if (messages.length) {
      await this.#client.memory.record({ ...this.#scope, messages, profile: this.#profile });
    }
  }

  /** Erases the latest item and returns it, also where a call loses its result by it. */
  async popItem(): Promise<AgentInputItem | undefined> {
    for (;;) {
      const { messages, etag } = await this.#list(1);
      const [latest] = messages;
      if (!latest) {
        return undefined;
      }
      const taken = itemsOf(latest);
      const last = taken.pop();
      try {
        // Others record several items in one message: those before the last one are recorded again.
        await this.#client.memory.replaceMessages({ ...this.#scope, etag, afterSeq: latest.seq - 1n, messages: readItems(taken) });
      } catch (error) {
        if (error instanceof Conflict || error instanceof NotFound) {
          continue; // somebody else was faster
        }
        throw error;
      }
      if (last) {
        return last;
      }
    }
  }

  /** Erases or hides all items; see clear. */
  async clearSession(): Promise<void> {
    try {
      if (this.#clear === "hide") {
        const { session } = await this.#client.memory.getSession(this.#scope);
        await this.#beginAt((session?.lastSeq ?? 0n) + 1n);
      } else {
        await this.#client.memory.deleteMessages({ ...this.#scope, all: true });
      }
    } catch (error) {
      if (!(error instanceof NotFound)) {
        throw error; // there is nothing to clear
      }
    }
  }

  /**
   * Puts items in the place of all that the session shows, as after compaction, in one step. What both begin with stays, and is not
   * learnt from again; a user's message that says the same stays as it was recorded. insteadOf are the items that getItems returned:
   * where the session has others by now it stays as it is, and Conflict is thrown. Without it whatever is there is replaced.
   */
  async replaceItems(items: AgentInputItem[], how: { insteadOf?: AgentInputItem[] } = {}): Promise<void> {
    for (let n = 1; ; n++) {
      const listed = await this.#list();
      if (how.insteadOf && dumped(listed.messages.flatMap(itemsOf)) !== dumped(how.insteadOf)) {
        throw conflict("the session has other items by now: read them again", "ETAG_MISMATCH");
      }
      try {
        return await this.#put(listed, readItems(items));
      } catch (error) {
        if (!(error instanceof Conflict) || n === replaceTries) {
          throw error;
        }
      }
    }
  }

  /**
   * What the SDK calls where a guardrail blocks an answer: items are added, or put in the place of the latest ones, once for an
   * operationId however often it is called with it. Conflict is thrown where the latest items are others, or where the operationId was
   * used for another change; then nothing is changed. A replacement is known by its items: one of nothing, or one whose items were taken
   * away since, is refused when it is repeated.
   */
  async applyHistoryTransaction({ operationId, transaction }: SessionHistoryTransactionArgs): Promise<void> {
    if (!operationId.trim()) {
      throw new TypeError("operationId must not be empty");
    }
    const mark = `op-${await digestOf(operationId)}`;
    if (transaction.type === "append_items") {
      const messages = readItems(transaction.items);
      if (messages.length) {
        await once(this.#client.memory.record({ ...this.#scope, requestId: mark, messages, profile: this.#profile }));
      }
      return;
    }
    const ids = `${mark}-${await digestOf(canonical(transaction))}-`;
    for (let n = 1; ; n++) {
      const { messages, etag } = await this.#list();
      const applied = messages.find((m) => m.id.startsWith(`${mark}-`));
      if (applied) {
        if (!applied.id.startsWith(ids)) {
          throw conflict("the operationId was used for another change", "REQUEST_ID_REUSED");
        }
        return;
      }
      const { expectedSuffix, replacement } = transaction;
      const from = messages.length - expectedSuffix.length;
      const stored = messages.slice(Math.max(from, 0)).map(itemsOf);
      if (from < 0 || stored.some((items, at) => canonical(items) !== canonical([expectedSuffix[at]]))) {
        throw conflict("the session ends with other items: read them again", "ETAG_MISMATCH");
      }
      const differs = replacement.findIndex((item, at) => canonical(item) !== canonical(expectedSuffix[at]));
      const kept = differs < 0 ? Math.min(replacement.length, expectedSuffix.length) : differs;
      const added = readItems(replacement.slice(kept));
      for (const [at, m] of added.entries()) {
        m.id = `${ids}${at}`;
      }
      const afterSeq = messages[from + kept - 1]?.seq ?? 0n;
      try {
        await this.#client.memory.replaceMessages({ ...this.#scope, etag, afterSeq, messages: added, profile: this.#profile });
        return;
      } catch (error) {
        if (!(error instanceof Conflict) || n === replaceTries) {
          throw error;
        }
      }
    }
  }

  /** What the SDK calls where a model compacted the history by itself. */
  async replaceHistoryWithCompaction(items: AgentInputItem[]): Promise<void> {
    await this.replaceItems(items);
  }

  /**
   * The session for OpenAIResponsesCompactionSession, which clears a session and then adds what it made of its items: clearing is put
   * off until items are added, which take the place of those that were there when it was cleared, in one step. Where somebody wrote in
   * between the session stays as it is, and Conflict is thrown.
   */
  forCompaction(): Session {
    return new CompactedSession(this);
  }

  /**
   * Puts what is known about the user before their last words, for this call alone: give it to a run as callModelInputFilter. No item
   * of the session holds it.
   */
  readonly withMemory: CallModelInputFilter = async ({ modelData }) => {
    const input = [...modelData.input];
    const said = input.map((item) => readItem(item));
    const words = said.map((messages) => (messages[0]?.role === Role.USER ? parts.textOf(messages[0]) : ""));
    const at = words.findLastIndex((text) => text !== "");
    const { userId, sessionId } = this.#scope;
    const block = await this.#client.recall(userId, sessionId, words[at] ?? "", { beside: said.flat(), profile: this.#profile });
    if (block) {
      input.splice(Math.max(at, 0), 0, { role: "user", content: block });
    }
    return { ...modelData, input };
  };

  /** The latest messages that the session shows: so many, or all; none where there is no session. */
  async #list(limit = Number.POSITIVE_INFINITY): Promise<Listed> {
    const newestFirst: Message[] = [];
    let etag = "";
    try {
      const { session } = await this.#client.memory.getSession(this.#scope);
      for (let pageToken = ""; newestFirst.length < limit; ) {
        const page = await this.#client.memory.listMessages({
          ...this.#scope,
          pageSize: Math.min(limit - newestFirst.length, pageSize),
          pageToken,
          newestFirst: true,
          visibleOnly: true,
          includeOriginal: true,
        });
        etag ||= page.etag;
        newestFirst.push(...page.messages);
        pageToken = page.nextPageToken;
        if (!pageToken) {
          break;
        }
      }
      return { messages: newestFirst.reverse(), etag, lastSeq: session?.lastSeq ?? 0n };
    } catch (error) {
      if (error instanceof NotFound) {
        return { messages: [], etag: "", lastSeq: 0n };
      }
      throw error;
    }
  }

  /** Puts messages in the place of the list, where it is still the session's. */
  async #put({ messages: old, etag, lastSeq }: Listed, messages: Message[]): Promise<void> {
    if (this.#clear === "erase" && etag) {
      await this.#client.memory.replaceMessages({ ...this.#scope, etag, messages: keptAsRecorded(old, messages) });
      return;
    }
    for (const m of messages) {
      if (old.some((o) => saySame(o, m))) {
        m.extract = ExtractMode.NONE;
      }
    }
    const first = await this.#recordBehind(lastSeq, messages);
    if (old.length) {
      await this.#beginAt(first);
    }
  }

  /** Records behind lastSeq, or throws Conflict where that is not the session's last; the seq of the first. */
  async #recordBehind(lastSeq: bigint, messages: Message[]): Promise<bigint> {
    if (!messages.length) {
      return lastSeq + 1n;
    }
    try {
      const turn = { ...this.#scope, messages, profile: this.#profile, expectedLastSeq: lastSeq };
      return (await this.#client.memory.record(turn)).firstSeq;
    } catch (error) {
      if (error instanceof FailedPrecondition && error.reason === "LAST_SEQ_MISMATCH") {
        throw conflict("somebody else recorded meanwhile", error.reason, error);
      }
      throw error;
    }
  }

  async #beginAt(contextStartSeq: bigint): Promise<void> {
    await this.#client.memory.updateSession({
      session: { ...this.#scope, contextStartSeq },
      updateMask: { paths: ["context_start_seq"] },
    });
  }
}

/** A session that is cleared when items are added next. */
class CompactedSession implements Session {
  readonly #session: StrataSession;
  /** The items that were there when it was cleared; undefined where it was not. */
  #cleared: AgentInputItem[] | undefined;
  /** Those of a replacement that failed: who clears again wants them back, and they never went. */
  #failed: AgentInputItem[] | undefined;

  constructor(session: StrataSession) {
    this.#session = session;
  }

  getSessionId(): Promise<string> {
    return this.#session.getSessionId();
  }

  async getItems(limit?: number): Promise<AgentInputItem[]> {
    return this.#cleared ? [] : this.#session.getItems(limit);
  }

  async addItems(items: AgentInputItem[]): Promise<void> {
    const insteadOf = this.#cleared;
    this.#cleared = this.#failed = undefined;
    if (!insteadOf) {
      return this.#session.addItems(items);
    }
    try {
      await this.#session.replaceItems(items, { insteadOf });
    } catch (error) {
      this.#failed = insteadOf;
      throw error;
    }
  }

  async popItem(): Promise<AgentInputItem | undefined> {
    return this.#cleared ? undefined : this.#session.popItem();
  }

  async clearSession(): Promise<void> {
    this.#cleared ??= this.#failed ?? (await this.#session.getItems());
  }

  replaceHistoryWithCompaction(items: AgentInputItem[]): Promise<void> {
    this.#cleared = this.#failed = undefined;
    return this.#session.replaceHistoryWithCompaction(items);
  }
}

function conflict(message: string, reason: string, cause?: unknown): Conflict {
  return new Conflict(message, { code: Code.Aborted, reason, cause });
}

/** A call with a requestId: that it was used for another body is a conflict. */
async function once(call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (error) {
    throw error instanceof AlreadyExists && error.reason === "REQUEST_ID_REUSED"
      ? conflict("the operationId was used for another change", error.reason, error)
      : error;
  }
}

/** A value as JSON that is the same for equal values, in whatever order they have their keys. */
function canonical(value: unknown): string {
  const sorted = (v: unknown): unknown =>
    Array.isArray(v)
      ? v.map(sorted)
      : isRecord(v)
        ? Object.fromEntries(
            Object.keys(v)
              .sort()
              .map((k) => [k, sorted(v[k])]),
          )
        : v;
  return JSON.stringify(sorted(JSON.parse(new TextDecoder().decode(dumpJson(value ?? null)))));
}

async function digestOf(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return [...new Uint8Array(digest, 0, 16)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

function dumped(items: AgentInputItem[]): string {
  return items.map((item) => new TextDecoder().decode(dumpJson(item))).join("\n");
}

function saySame(a: Message, b: Message): boolean {
  const words = (m: Message) => create(MessageSchema, { role: m.role, name: m.name, parts: m.parts });
  return equals(MessageSchema, words(a), words(b));
}

function sameOriginal(a: Message, b: Message): boolean {
  const original = (m: Message) => create(MessageSchema, m.original ? { original: m.original } : {});
  return equals(MessageSchema, original(a), original(b));
}

/**
 * The new messages, of which those that a user said before are without the original, so that ReplaceMessages keeps what was recorded and
 * learnt of them: an SDK that compacts writes the same words in another form. It is the beginning that ReplaceMessages keeps.
 */
function keptAsRecorded(old: Message[], messages: Message[]): Message[] {
  let at = 0;
  for (const m of messages) {
    const isUser = m.role === Role.USER;
    const found = old.findIndex((o, n) => n >= at && saySame(o, m) && (isUser || sameOriginal(o, m)));
    if (found < 0) {
      break;
    }
    at = found + 1;
    if (isUser) {
      delete m.original;
    }
  }
  return messages;
}

/** The messages of items, without blocks of withMemory. */
function readItems(items: AgentInputItem[]): Message[] {
  return items.flatMap(readItem).filter((m) => m.role !== Role.USER || !isRecalled(parts.textOf(m)));
}

/** The items of a message; none of one whose original cannot be read. */
function itemsOf(m: Message): AgentInputItem[] {
  try {
    return unpack([m], OPENAI_AGENTS_JS, (data) => loadJson(data) as AgentInputItem, writeItem);
  } catch {
    return [];
  }
}

/** The message of an item. */
export function readItem(item: AgentInputItem): Message[] {
  const body: Item = { ...item };
  const kind = String(body.type ?? "message");
  return pack([create(MessageSchema, kind === "message" ? spoken(body) : done(kind, body))], OPENAI_AGENTS_JS, dumpJson(item));
}

const roles: Record<string, Role> = { system: Role.SYSTEM, developer: Role.DEVELOPER, user: Role.USER };

function spoken(body: Item): { role: Role; parts: Part[] } {
  return { role: roles[String(body.role)] ?? Role.ASSISTANT, parts: contentOf(body.content) };
}

/** What an item says that is no message: a call, its result, or what the model thought. */
function done(kind: string, body: Item): { role: Role; parts: Part[] } {
  if (kind === "reasoning") {
    const said = [...list(body.content), ...list(body.rawContent)].map((p) => (isRecord(p) ? String(p.text ?? "") : ""));
    return { role: Role.ASSISTANT, parts: [parts.reasoning(said.filter(Boolean).join("\n\n"))] };
  }
  if (/_call_(result|output)$|_output$/.test(kind) && parts.isLabel(body.callId)) {
    const failed = body.status === "failed" || body.status === "incomplete";
    return { role: Role.TOOL, parts: [parts.result(body.callId, contentOf(body.output), failed ? "failed" : "ok")] };
  }
  if (kind.endsWith("_call") && body.callId) {
    const words = body.arguments ?? body.action ?? body.operation ?? body.input ?? "";
    return { role: Role.ASSISTANT, parts: [parts.call(body.callId, body.name ?? kind.replace(/_call$/, ""), words)] };
  }
  return { role: Role.ASSISTANT, parts: [parts.opaque(`openai.${kind}`)] }; // a hosted tool answers itself
}

function contentOf(content: unknown): Part[] {
  return list(content).flatMap((piece) => {
    if (!isRecord(piece)) {
      return parts.of(piece);
    }
    switch (piece.type) {
      case "input_image":
      case "image":
      case "computer_screenshot":
        return [parts.at(piece.image ?? piece.data ?? piece.imageUrl) ?? parts.opaque(String(piece.type))];
      case "input_file":
      case "audio":
      case "file":
        return [parts.opaque(piece.type)];
      default: // of a shell, for one: what it printed, and how it ended
        return "type" in piece ? parts.of(piece) : parts.texts(parts.json(piece));
    }
  });
}

/** The items of a message that was recorded by others. */
function writeItem(m: Message): AgentInputItem[] {
  const out: AgentInputItem[] = parts.resultsOf(m).map((r) => ({
    type: "function_call_result",
    name: "tool",
    callId: r.callId,
    status: r.isError ? "incomplete" : "completed",
    output: { type: "text", text: parts.resultText(r) },
  }));
  const text = parts.textOf(m);
  const images = m.role === Role.USER ? m.parts.filter(parts.isImage) : [];
  if (m.role === Role.ASSISTANT) {
    if (text) {
      out.push({ role: "assistant", status: "completed", content: [{ type: "output_text", text }] });
    }
  } else if (images.length) {
    const shown = images.map((p) => ({ type: "input_image" as const, image: parts.urlOf(p) }));
    out.push({ role: "user", content: [...(text ? [{ type: "input_text" as const, text }] : []), ...shown] });
  } else if (text) {
    out.push({ role: m.role === Role.SYSTEM || m.role === Role.DEVELOPER ? "system" : "user", content: text });
  }
  for (const c of parts.callsOf(m)) {
    out.push({ type: "function_call", callId: c.id, name: c.name, arguments: c.arguments, status: "completed" });
  }
  return out;
}
