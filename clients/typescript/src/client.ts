// The client: the services of the contract, whose calls retry and throw StrataError, and short forms of what agents call.
import type { DescMessage, MessageInitShape } from "@bufbuild/protobuf";
import { type CallOptions, createClient, type Client as ServiceClient, type Transport } from "@connectrpc/connect";
import { NotFound } from "./errors.js";
import * as messages from "./messages.js";
import { recalled, recallRequest } from "./recall.js";
import { checkOptions } from "./requests.js";
import { defaultRetry, type RetryPolicy } from "./retry.js";
import { type CallSettings, RetryingTransport } from "./transport.js";
import * as v1 from "./v1.js";

export const defaultAddress = "127.0.0.1:8081";
export const defaultTimeoutMs = 30_000;

/** What a client is made of. */
export interface ClientOptions {
  /** The token of a key. */
  key?: string;
  /** How long one call may take with all its attempts; 30 seconds where it is not given. */
  timeoutMs?: number;
  /** What differs from how calls are retried: seven attempts, the first wait below 100 ms, none below what the service asks for. */
  retry?: Partial<RetryPolicy>;
  /** A transport of Connect-ES in the place of the one for the address. */
  transport?: Transport;
}

/** The names of ClientOptions. */
export const optionNames = ["key", "timeoutMs", "retry", "transport"];

/** The fields of a request, beside those that a short form has as arguments. */
type Fields<T extends DescMessage, Known extends string> = Omit<Exclude<MessageInitShape<T>, { $typeName: string }>, Known>;

/** A message of the contract, or one of a provider, as messages.read reads it. */
export type Said = v1.Message | object;

/** A connection that a client closes. */
export interface Connection {
  readonly transport: Transport;
  /** What to say where the connection ends before the first reply ever came; undefined for the transport's own words. */
  readonly noReply?: string;
  close(): void;
}

/** Calls one server. Client of the package's entry is this, with the transport of where it runs. */
export class BaseClient {
  readonly memory: ServiceClient<typeof v1.MemoryService>;
  readonly facts: ServiceClient<typeof v1.FactService>;
  readonly documents: ServiceClient<typeof v1.DocumentService>;
  readonly summaries: ServiceClient<typeof v1.SummaryService>;
  readonly users: ServiceClient<typeof v1.UserService>;
  readonly history: ServiceClient<typeof v1.HistoryService>;
  readonly work: ServiceClient<typeof v1.WorkService>;
  readonly maintenance: ServiceClient<typeof v1.MaintenanceService>;
  readonly keys: ServiceClient<typeof v1.KeyService>;
  readonly tenants: ServiceClient<typeof v1.TenantService>;
  readonly audit: ServiceClient<typeof v1.AuditService>;
  readonly #connection: Connection;
  readonly #timeoutMs: number;

  constructor(connection: Connection, options: ClientOptions) {
    checkOptions(options.retry ?? {}, Object.keys(defaultRetry), "retry.");
    const settings: CallSettings = {
      noReply: connection.noReply,
      key: options.key ?? "",
      timeoutMs: options.timeoutMs ?? defaultTimeoutMs,
      retry: { ...defaultRetry, ...options.retry },
    };
    const transport = new RetryingTransport(connection.transport, settings);
    this.#connection = connection;
    this.#timeoutMs = settings.timeoutMs;
    this.memory = createClient(v1.MemoryService, transport);
    this.facts = createClient(v1.FactService, transport);
    this.documents = createClient(v1.DocumentService, transport);
    this.summaries = createClient(v1.SummaryService, transport);
    this.users = createClient(v1.UserService, transport);
    this.history = createClient(v1.HistoryService, transport);
    this.work = createClient(v1.WorkService, transport);
    this.maintenance = createClient(v1.MaintenanceService, transport);
    this.keys = createClient(v1.KeyService, transport);
    this.tenants = createClient(v1.TenantService, transport);
    this.audit = createClient(v1.AuditService, transport);
  }

  /** Closes the connection. A program ends without it too. */
  close(): void {
    this.#connection.close();
  }

  /** Records a turn: messages of v1, or of a provider as messages.read reads them. fields are those of RecordRequest. */
  record(
    userId: string,
    sessionId: string,
    said: Iterable<Said> = [],
    fields: Fields<typeof v1.RecordRequestSchema, "userId" | "sessionId" | "messages"> = {},
    options?: CallOptions,
  ): Promise<v1.RecordResponse> {
    return this.memory.record({ ...fields, userId, sessionId, messages: messages.readAll(said) }, options);
  }

  /** Builds the context of the next model call. fields are those of BuildContextRequest; see messages.rendered. */
  buildContext(
    userId: string,
    sessionId: string,
    query = "",
    fields: Fields<typeof v1.BuildContextRequestSchema, "userId" | "sessionId" | "query" | "pending"> & { pending?: Iterable<Said> } = {},
    options?: CallOptions,
  ): Promise<v1.BuildContextResponse> {
    const { pending, ...rest } = fields;
    return this.memory.buildContext({ ...rest, userId, sessionId, query, pending: messages.readAll(pending ?? []) }, options);
  }

  /**
   * What memory knows that helps with the query, as one text between fences, "" for nothing: for agents that hold their session's
   * messages themselves. What the messages beside it say is left out; summary has it hold the session's summary, for messages that
   * do not reach back to the beginning.
   */
  async recall(
    userId: string,
    sessionId: string,
    query: string,
    how: { beside?: Iterable<Said>; summary?: boolean; profile?: string } = {},
    options?: CallOptions,
  ): Promise<string> {
    checkOptions(how, ["beside", "summary", "profile"]);
    const beside = messages.readAll(how.beside ?? []);
    const request = recallRequest(query, beside, how.summary ? "with summary" : "without summary");
    return recalled((await this.memory.buildContext({ ...request, userId, sessionId, profile: how.profile ?? "" }, options)).rendering);
  }

  /**
   * The session's messages in order, page by page as they are read; messages.textOf has the words of each, which stand in its parts
   * as a rule. fields are those of ListMessagesRequest.
   */
  messages(
    userId: string,
    sessionId: string,
    fields: Fields<typeof v1.ListMessagesRequestSchema, "userId" | "sessionId"> = {},
  ): AsyncGenerator<v1.Message, void> {
    return pages(
      (pageToken) => this.memory.listMessages({ ...fields, ...(pageToken && { pageToken }), userId, sessionId }),
      (page) => page.messages,
    );
  }

  /** The user's sessions, the one spoken in last first. */
  sessions(userId: string, fields: Fields<typeof v1.ListSessionsRequestSchema, "userId"> = {}): AsyncGenerator<v1.Session, void> {
    return pages(
      (pageToken) => this.memory.listSessions({ ...fields, ...(pageToken && { pageToken }), userId }),
      (page) => page.sessions,
    );
  }

  /** The user's messages that answer the query, best first; fields are those of SearchMessagesRequest. */
  search(
    userId: string,
    query: string,
    fields: Fields<typeof v1.SearchMessagesRequestSchema, "userId" | "query"> = {},
  ): AsyncGenerator<v1.MessageHit, void> {
    return pages(
      (pageToken) => this.memory.searchMessages({ ...fields, ...(pageToken && { pageToken }), userId, query }),
      (page) => page.hits,
    );
  }

  /** What is known about the user; fields are those of ListFactsRequest. */
  knownFacts(userId: string, fields: Fields<typeof v1.ListFactsRequestSchema, "userId"> = {}): AsyncGenerator<v1.Fact, void> {
    return pages(
      (pageToken) => this.facts.listFacts({ ...fields, ...(pageToken && { pageToken }), userId }),
      (page) => page.facts,
    );
  }

  /** Stores a JSON object under a namespace and a key; fields are those of Document. */
  async putDocument(
    userId: string,
    namespace: string[],
    key: string,
    value: object,
    fields: Fields<typeof v1.DocumentSchema, "userId" | "namespace" | "key" | "value" | "valueJson"> = {},
  ): Promise<v1.Document> {
    const reply = await this.documents.putDocument({ document: { ...fields, userId, namespace, key, valueJson: JSON.stringify(value) } });
    return reply.document as v1.Document;
  }

  /** What a document holds; undefined where there is none. */
  async documentValue(userId: string, namespace: string[], key: string): Promise<unknown> {
    try {
      const reply = await this.documents.getDocument({ userId, namespace, key, asJson: true });
      return JSON.parse(reply.document?.valueJson ?? "{}");
    } catch (error) {
      if (error instanceof NotFound) return undefined;
      throw error;
    }
  }

  /** Documents for the query, best first, or the latest put without one; fields are those of SearchDocumentsRequest, such as filter. */
  findDocuments(
    userId: string,
    query = "",
    fields: Fields<typeof v1.SearchDocumentsRequestSchema, "userId" | "query" | "asJson"> = {},
  ): Promise<v1.SearchDocumentsResponse> {
    return this.documents.searchDocuments({ ...fields, userId, query, asJson: true });
  }

  /** All documents below a namespace, by namespace and key; fields are those of ListDocumentsRequest. */
  listDocuments(
    userId: string,
    namespacePrefix: string[] = [],
    fields: Fields<typeof v1.ListDocumentsRequestSchema, "userId" | "namespacePrefix" | "asJson"> = {},
  ): AsyncGenerator<v1.Document, void> {
    return pages(
      (pageToken) => this.documents.listDocuments({ ...fields, ...(pageToken && { pageToken }), userId, namespacePrefix, asJson: true }),
      (page) => page.documents,
    );
  }

  /** Deletes a document; whether there was one. */
  async deleteDocument(userId: string, namespace: string[], key: string): Promise<boolean> {
    try {
      await this.documents.deleteDocument({ userId, namespace, key });
      return true;
    } catch (error) {
      if (error instanceof NotFound) return false;
      throw error;
    }
  }

  /** Waits for background work, for at most so many milliseconds, and the server's request-timeout, 10 s by default; whether it is done. */
  async wait(userId: string, sessionId: string, of: Iterable<v1.Watermark | WorkName> = [], timeoutMs = 10_000): Promise<boolean> {
    const timeout = { seconds: BigInt(Math.floor(timeoutMs / 1000)), nanos: Math.round((timeoutMs % 1000) * 1e6) };
    const request = { userId, sessionId, of: watermarks(of), timeout };
    return (await this.work.waitForWatermark(request, { timeoutMs: timeoutMs + this.#timeoutMs })).reached;
  }
}

/** What all pages of a list hold: call is made with "" and then with the token of each next page, when that is asked for. */
export async function* pages<P extends { nextPageToken: string }, T>(
  call: (pageToken: string) => Promise<P>,
  items: (page: P) => T[],
): AsyncGenerator<T, void> {
  for (let token = ""; ; ) {
    const page = await call(token);
    yield* items(page);
    if (!page.nextPageToken) {
      return;
    }
    token = page.nextPageToken;
  }
}

const works = { indexed: v1.Watermark.INDEXED, extracted: v1.Watermark.EXTRACTED, summarised: v1.Watermark.SUMMARISED };

/** The name of a kind of background work. */
export type WorkName = keyof typeof works;

/** The kinds of work by their names or numbers. In plain JavaScript anything may be given: what is none of them is refused by name. */
function watermarks(of: Iterable<v1.Watermark | WorkName>): v1.Watermark[] {
  const names = `of is a list of ${Object.keys(works).join(", ")}, or of v1.Watermark`;
  if (typeof of === "string") {
    throw new TypeError(`${names}, and not the text ${JSON.stringify(of)}`);
  }
  return [...of].map((w) => {
    const known = typeof w === "string" && Object.hasOwn(works, w) ? works[w] : w;
    if (typeof known !== "number" || v1.Watermark[known] === undefined) {
      throw new TypeError(`${names}, and ${JSON.stringify(w)} is none of them`);
    }
    return known;
  });
}

/** The URL of an address: host and port, or a URL with its scheme. */
export function urlOf(address: string): string {
  return /^https?:\/\//.test(address) ? address : `http://${address}`;
}
