// What both entries have beside Client.
export type { CallOptions } from "@connectrpc/connect";
export { Code } from "@connectrpc/connect";
export { BaseClient, type ClientOptions, pages, type Said } from "./client.js";
export {
  AlreadyExists,
  Cancelled,
  Conflict,
  DeadlineExceeded,
  FailedPrecondition,
  type FieldViolation,
  Internal,
  InvalidArgument,
  NotFound,
  PermissionDenied,
  ResourceExhausted,
  StrataError,
  Unauthenticated,
  Unavailable,
} from "./errors.js";
export * as messages from "./messages.js";
export { isRecalled } from "./recall.js";
export type { RetryPolicy } from "./retry.js";
export * as v1 from "./v1.js";
