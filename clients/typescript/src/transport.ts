// The transport that the generated services are called by: it sends the key, keeps one deadline over all attempts, retries, and
// throws StrataError.
import type { DescMessage, DescMethodStreaming, DescMethodUnary, MessageInitShape } from "@bufbuild/protobuf";
import { Code, type ContextValues, type StreamResponse, type Transport, type UnaryResponse } from "@connectrpc/connect";
import { Cancelled, DeadlineExceeded, errorOf, type StrataError } from "./errors.js";
import { checkRequest } from "./requests.js";
import { type RetryPolicy, traitsOf, waitAfter } from "./retry.js";

/** What all calls of a client share. */
export interface CallSettings {
  readonly key: string;
  readonly timeoutMs: number;
  readonly retry: RetryPolicy;
  /** What to say where the connection ends before the first reply ever came. */
  readonly noReply: string | undefined;
}

export class RetryingTransport implements Transport {
  readonly #inner: Transport;
  readonly #settings: CallSettings;
  #replied = false;

  constructor(inner: Transport, settings: CallSettings) {
    this.#inner = inner;
    this.#settings = settings;
  }

  async unary<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    signal: AbortSignal | undefined,
    timeoutMs: number | undefined,
    header: HeadersInit | undefined,
    input: MessageInitShape<I>,
    contextValues?: ContextValues,
  ): Promise<UnaryResponse<I, O>> {
    checkRequest(method.input, input);
    const { retry } = this.#settings;
    const { hasRequestId, repeatable } = traitsOf(method);
    const request = hasRequestId ? withRequestId(input) : input;
    const headers = this.#headers(header);
    const deadline = performance.now() + (timeoutMs ?? this.#settings.timeoutMs);
    for (let attempt = 1; ; attempt++) {
      const left = deadline - performance.now();
      if (left <= 0) {
        throw new DeadlineExceeded("the time of the call was up before it was made", { code: Code.DeadlineExceeded });
      }
      try {
        const reply = await this.#inner.unary(method, signal, Math.ceil(left), headers, request, contextValues);
        this.#replied = true;
        return reply;
      } catch (thrown) {
        const error = this.#errorOf(thrown, signal);
        const wait = waitAfter(retry, error, attempt, repeatable);
        if (wait === undefined || performance.now() + wait >= deadline) {
          throw error;
        }
        await pause(wait, signal);
      }
    }
  }

  async stream<I extends DescMessage, O extends DescMessage>(
    method: DescMethodStreaming<I, O>,
    signal: AbortSignal | undefined,
    timeoutMs: number | undefined,
    header: HeadersInit | undefined,
    input: AsyncIterable<MessageInitShape<I>>,
    contextValues?: ContextValues,
  ): Promise<StreamResponse<I, O>> {
    try {
      const reply = await this.#inner.stream(method, signal, timeoutMs, this.#headers(header), input, contextValues);
      this.#replied = true;
      return { ...reply, message: withErrors(reply.message, signal) };
    } catch (thrown) {
      throw this.#errorOf(thrown, signal);
    }
  }

  #errorOf(thrown: unknown, signal: AbortSignal | undefined): StrataError {
    const error = errorOf(thrown, signal, this.#replied ? undefined : this.#settings.noReply);
    this.#replied ||= error.reason !== "";
    return error;
  }

  #headers(header: HeadersInit | undefined): HeadersInit | undefined {
    const { key } = this.#settings;
    if (!key) {
      return header;
    }
    const headers = new Headers(header);
    headers.set("authorization", `Bearer ${key}`);
    return headers;
  }
}

async function* withErrors<T>(messages: AsyncIterable<T>, signal: AbortSignal | undefined): AsyncIterable<T> {
  try {
    yield* messages;
  } catch (thrown) {
    throw errorOf(thrown, signal);
  }
}

/**
 * The request that all attempts send: with a request_id, so that the service knows a repeat by it. The caller's own is left as it
 * is, since it may be sent again as another call.
 */
function withRequestId<T extends object>(input: T): T {
  if ((input as { requestId?: string }).requestId) {
    return input;
  }
  const copy = Object.assign(Object.create(Object.getPrototypeOf(input)), input);
  copy.requestId = newId();
  return copy;
}

/** 128 random bits in hex. crypto.randomUUID is missing on pages that came without TLS. */
export function newId(): string {
  let id = "";
  for (const byte of crypto.getRandomValues(new Uint8Array(16))) {
    id += byte.toString(16).padStart(2, "0");
  }
  return id;
}

function pause(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const cancelled = () => {
      clearTimeout(timer);
      reject(
        new Cancelled("the caller gave up while the call waited for its next attempt", { code: Code.Canceled, cause: signal?.reason }),
      );
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", cancelled);
      resolve();
    }, milliseconds);
    if (signal?.aborted) {
      cancelled();
    }
    signal?.addEventListener("abort", cancelled, { once: true });
  });
}
