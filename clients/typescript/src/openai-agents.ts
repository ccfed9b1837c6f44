// A Session of the OpenAI Agents SDK that Strata holds.

import { create } from "@bufbuild/protobuf";
import type { AgentInputItem, CallModelInputFilter, Session } from "@openai/agents";
import type { BaseClient } from "./client.js";
import { NotFound } from "./errors.js";
import { dumpJson, type Item, isRecord, list, loadJson } from "./json.js";
import { pack, unpack } from "./messages.js";
import * as parts from "./parts.js";
import { isRecalled } from "./recall.js";
import { type Message, MessageSchema, type Part, Role } from "./v1.js";

/** Items of the OpenAI Agents SDK for JavaScript, which has names of its own for those of OpenAI's Responses. */
export const OPENAI_AGENTS_JS = "openai.agents-js/v1";

const pageSize = 200;

/** What a session is of. */
export interface StrataSessionOptions {
  client: BaseClient;
  userId: string;
  sessionId: string;
  /** The profile of the session, by which its context and its background work go; the server's default where it is not given. */
  profile?: string;
  /**
   * What clearSession does: erase deletes the items, and the facts that only they taught; hide keeps transcript and facts and starts
   * the session anew, as is right where OpenAIResponsesCompactionSession replaces the items by what it made of them.
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
    const start = most > 0 ? await this.#start() : undefined;
    if (start === undefined) {
      return [];
    }
    const newestFirst: AgentInputItem[] = [];
    for await (const m of this.#newestFirst(Math.min(most, pageSize))) {
      if (m.seq < start || newestFirst.length >= most) {
        break;
      }
      if (!m.hidden) {
        newestFirst.push(...itemsOf(m).reverse());
      }
    }
    return newestFirst.slice(0, most).reverse();
  }

  /**
   * Records the items as one turn: all of them, or none. The block of withMemory is left out: the SDK hands over what a filter made
   * of the input, and not what it was made of.
   */
  async addItems(items: AgentInputItem[]): Promise<void> {
    const messages = items.flatMap(readItem).filter((m) => m.role !== Role.USER || !isRecalled(parts.textOf(m)));
    if (messages.length) {
      await this.#client.memory.record({ ...this.#scope, messages, profile: this.#profile });
    }
  }

  /** Erases the latest item and returns it, also where a call loses its result by it. */
  async popItem(): Promise<AgentInputItem | undefined> {
    const start = await this.#start();
    while (start !== undefined) {
      const latest = await this.#newestFirst(1).next();
      if (latest.done || latest.value.seq < start) {
        return undefined;
      }
      const reply = await this.#client.memory.popMessages({ ...this.#scope, count: 1, includeOriginal: true });
      if (reply.messages.length === 0 && !reply.replayed) {
        return undefined;
      }
      const taken = itemsOf(reply.messages[0] ?? latest.value); // the reply of a repeated call holds none
      const last = taken.pop();
      if (taken.length) {
        await this.addItems(taken); // a message of another provider: the SDK wants its last item alone
      }
      if (last) {
        return last;
      }
    }
    return undefined;
  }

  /** Erases or hides all items; see clear. */
  async clearSession(): Promise<void> {
    try {
      if (this.#clear === "hide") {
        const { session } = await this.#client.memory.getSession(this.#scope);
        const contextStartSeq = (session?.lastSeq ?? 0n) + 1n;
        await this.#client.memory.updateSession({
          session: { ...this.#scope, contextStartSeq },
          updateMask: { paths: ["context_start_seq"] },
        });
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

  #newestFirst(size: number): AsyncGenerator<Message, void> {
    const { userId, sessionId } = this.#scope;
    return this.#client.messages(userId, sessionId, { pageSize: size, newestFirst: true, includeOriginal: true });
  }

  /** The seq from which the session shows its items; undefined where there is no session. */
  async #start(): Promise<bigint | undefined> {
    try {
      return (await this.#client.memory.getSession(this.#scope)).session?.contextStartSeq;
    } catch (error) {
      if (error instanceof NotFound) {
        return undefined;
      }
      throw error;
    }
  }
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
