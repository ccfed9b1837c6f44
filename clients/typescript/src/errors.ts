// What a call can fail with: one class a code, with what the service says about it.
import { Code, ConnectError } from "@connectrpc/connect";
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "./gen/google/rpc/error_details_pb.js";

/** A field of the request that is not as it must be. */
export interface FieldViolation {
  readonly field: string;
  readonly description: string;
}

/** What is known of a failure beside its message. */
export interface ErrorDetails {
  code: Code;
  reason?: string;
  fields?: readonly FieldViolation[];
  metadata?: Readonly<Record<string, string>>;
  retryAfter?: number | undefined;
  cause?: unknown;
}

/** A call failed. The message is the service's own: it names the field, the limit and what to do about it. */
export class StrataError extends Error {
  override readonly name: string = "StrataError";
  /** The canonical code, with the numbers of gRPC. */
  readonly code: Code;
  /** ErrorReason of the API without its prefix, such as SESSION_NOT_FOUND; "" where the call did not reach the service. */
  readonly reason: string;
  /** Every field that the service refuses. */
  readonly fields: readonly FieldViolation[];
  /** The variables of the message, such as the id that was not found. */
  readonly metadata: Readonly<Record<string, string>>;
  /** The milliseconds after which the service wants to be asked again; undefined where it says nothing of that. */
  readonly retryAfter: number | undefined;

  constructor(message: string, details: ErrorDetails) {
    const where = details.reason || Code[details.code] || "Unknown";
    super(message ? `${where}: ${message}` : where, { cause: details.cause });
    this.code = details.code;
    this.reason = details.reason ?? "";
    this.fields = details.fields ?? [];
    this.metadata = details.metadata ?? {};
    this.retryAfter = details.retryAfter;
  }

  /** The first field that the service refuses; "" for none. */
  get field(): string {
    return this.fields[0]?.field ?? "";
  }
}

/** A field of the request is not as it must be: see field and fields. */
export class InvalidArgument extends StrataError {
  override readonly name = "InvalidArgument";
}

/** There is no such user, session, message, fact, summary or job in the caller's reach. */
export class NotFound extends StrataError {
  override readonly name = "NotFound";
}

/** The id or request_id was used before, for something else. */
export class AlreadyExists extends StrataError {
  override readonly name = "AlreadyExists";
}

/** The state is not what the request expects. */
export class FailedPrecondition extends StrataError {
  override readonly name = "FailedPrecondition";
}

/** Somebody was faster: read again and retry. */
export class Conflict extends StrataError {
  override readonly name = "Conflict";
}

/** A quota or the disk is full, or too much is asked for at once. */
export class ResourceExhausted extends StrataError {
  override readonly name = "ResourceExhausted";
}

/** The service, or what it needs, does not respond: retry later. */
export class Unavailable extends StrataError {
  override readonly name = "Unavailable";
}

/** The time was up. A write may have been done: repeat it with the same requestId. */
export class DeadlineExceeded extends StrataError {
  override readonly name = "DeadlineExceeded";
}

/** The key is missing or not good. */
export class Unauthenticated extends StrataError {
  override readonly name = "Unauthenticated";
}

/** The role of the key does not allow the call. */
export class PermissionDenied extends StrataError {
  override readonly name = "PermissionDenied";
}

/** The call was cancelled. */
export class Cancelled extends StrataError {
  override readonly name = "Cancelled";
}

/** A fault of the service; its log has the cause. */
export class Internal extends StrataError {
  override readonly name = "Internal";
}

const classes = new Map<Code, new (message: string, details: ErrorDetails) => StrataError>([
  [Code.InvalidArgument, InvalidArgument],
  [Code.NotFound, NotFound],
  [Code.AlreadyExists, AlreadyExists],
  [Code.FailedPrecondition, FailedPrecondition],
  [Code.Aborted, Conflict],
  [Code.ResourceExhausted, ResourceExhausted],
  [Code.Unavailable, Unavailable],
  [Code.DeadlineExceeded, DeadlineExceeded],
  [Code.Unauthenticated, Unauthenticated],
  [Code.PermissionDenied, PermissionDenied],
  [Code.Canceled, Cancelled],
  [Code.Internal, Internal],
]);

/** What the encoding says of a value that no type checker has seen, of a program in plain JavaScript. */
const unencodable = /^serialize binary: cannot encode field (\S+) to binary: (.*)$/s;

/**
 * The error of this package for what a transport threw, of a call that its caller gives up by the signal. noReply is its message where
 * the connection ended without a word of why.
 */
export function errorOf(thrown: unknown, signal?: AbortSignal, noReply?: string): StrataError {
  if (thrown instanceof StrataError) {
    return thrown;
  }
  const error = ConnectError.from(thrown);
  const unsent = unencodable.exec(error.rawMessage);
  if (unsent) {
    const [, field = "", why = ""] = unsent;
    const description = `its value is none of its type (${why}); those of an enum are in v1, such as v1.Render.OPENAI`;
    const details = { code: Code.InvalidArgument, fields: [{ field: field.split(".").at(-1) ?? field, description }], cause: error };
    return new InvalidArgument(`${field}: ${description}`, details);
  }
  const info = error.findDetails(ErrorInfoSchema)[0];
  const bad = error.findDetails(BadRequestSchema)[0];
  const delay = error.findDetails(RetryInfoSchema)[0]?.retryDelay;
  const code = info ? error.code : codeOfConnection(error, signal);
  const details: ErrorDetails = {
    code,
    reason: info?.reason ?? "",
    fields: bad?.fieldViolations.map((v) => ({ field: v.field, description: v.description })) ?? [],
    metadata: info?.metadata ?? {},
    retryAfter: delay ? Number(delay.seconds) * 1000 + delay.nanos / 1e6 : undefined,
    cause: error,
  };
  const kind = classes.get(code) ?? StrataError;
  return new kind(messageOf(error, info || !isCutOff(error, signal) ? undefined : noReply), details);
}

function messageOf(error: ConnectError, noReply: string | undefined): string {
  return insecure.test(nodeCodeOf(error)) ? withoutTls(error) : (noReply ?? error.rawMessage);
}

/** Whether the connection ended, or what came on it is no HTTP/2. */
function isCutOff(error: ConnectError, signal: AbortSignal | undefined): boolean {
  return (error.code === Code.Canceled && !signal?.aborted) || nodeCodeOf(error) === notHttp2;
}

const notHttp2 = "ERR_HTTP2_ERROR";

/** The codes of Node.js's errors where a server is not reached. */
const unreachable = /^(EPIPE|EHOSTUNREACH|ENETUNREACH)$/;
/** Those of OpenSSL for what is wrong with a handshake or a certificate. */
const insecure = /^(EPROTO$|ERR_SSL_|ERR_TLS_|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/;

/** The code of the error of Node.js that a call failed with; "" for none. */
function nodeCodeOf(error: ConnectError): string {
  const code = error.cause instanceof Error && "code" in error.cause ? error.cause.code : "";
  return typeof code === "string" ? code : "";
}

/** Why there is no TLS with the server, in words that say what to do. */
function withoutTls(error: ConnectError): string {
  if (nodeCodeOf(error) === "ERR_SSL_WRONG_VERSION_NUMBER") {
    return "no TLS handshake: the server does not speak TLS: leave https:// out of its address";
  }
  return `no TLS handshake: ${error.rawMessage.trim()}: name who may sign the server's certificate by tls: { ca }, or call it by its name there`;
}

/** What browsers and Node.js say where fetch reaches no server. */
const unreached = /fetch|load failed/i;

/**
 * The code of a failure for which the service gives no reason. A connection that broke is ABORTED, CANCELED, INTERNAL or UNKNOWN to
 * Connect-ES, by how it broke; it is UNAVAILABLE in gRPC.
 */
function codeOfConnection(error: ConnectError, signal: AbortSignal | undefined): Code {
  const isBroken =
    error.code === Code.Aborted ||
    isCutOff(error, signal) ||
    error.rawMessage.includes("NGHTTP2_REFUSED_STREAM") ||
    unreachable.test(nodeCodeOf(error)) ||
    insecure.test(nodeCodeOf(error)) ||
    (error.code === Code.Unknown && error.cause instanceof TypeError && unreached.test(error.rawMessage));
  return isBroken ? Code.Unavailable : error.code;
}
