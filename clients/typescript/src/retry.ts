// When a failed call is made again. Decisions only: who waits, and by which clock, is the transport's.
import type { DescMethod } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import type { StrataError } from "./errors.js";

/**
 * How often and how soon a call is made again: full jitter below a bound that doubles up to a most, and never sooner than the
 * service asks for.
 */
export interface RetryPolicy {
  /** Calls in all; 1 for no retry. */
  attempts: number;
  /** The bound of the first wait, in milliseconds. */
  first: number;
  /** The bound of every wait, in milliseconds. */
  most: number;
  /** From 0 to 1, where in the bound a wait lies. */
  draw: () => number;
}

export const defaultRetry: RetryPolicy = { attempts: 7, first: 100, most: 5000, draw: Math.random };

// What these methods do can be done again: they change nothing.
const reads = /^(Get|List|Search|Build|Count|Check|Compact|WaitFor)/;

/** What is known of a method by its place in the contract. */
export interface MethodTraits {
  readonly hasRequestId: boolean;
  readonly repeatable: boolean;
}

const traits = new WeakMap<DescMethod, MethodTraits>();

export function traitsOf(method: DescMethod): MethodTraits {
  let known = traits.get(method);
  if (!known) {
    const hasRequestId = method.input.fields.some((f) => f.name === "request_id");
    known = { hasRequestId, repeatable: hasRequestId || reads.test(method.name) };
    traits.set(method, known);
  }
  return known;
}

/** The milliseconds to wait after this attempt, counted from 1; undefined where the error stands. */
export function waitAfter(policy: RetryPolicy, error: StrataError, attempt: number, repeatable: boolean): number | undefined {
  if (attempt >= policy.attempts || !passes(error, repeatable)) {
    return undefined;
  }
  const bound = Math.min(policy.most, policy.first * 2 ** (attempt - 1));
  return (error.retryAfter ?? 0) + policy.draw() * bound;
}

/**
 * Whether the call may succeed when it is repeated, and does no harm by it. RetryInfo says that nothing was done; or, of
 * OVERLOADED, that what was done is found again by its request_id.
 */
function passes(error: StrataError, repeatable: boolean): boolean {
  switch (error.code) {
    case Code.Unavailable:
      return repeatable || (error.retryAfter !== undefined && error.reason !== "");
    case Code.ResourceExhausted:
    case Code.Aborted:
      return error.retryAfter !== undefined && (repeatable || error.metadata.cause !== "reply_bytes");
    default:
      return false;
  }
}
