// The entry for Node.js: gRPC over HTTP/2.
import type { Http2Session, SecureClientSessionOptions } from "node:http2";
import { createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";
import { BaseClient, type ClientOptions, type Connection, defaultAddress, optionNames, urlOf } from "./client.js";
import { checkOptions } from "./requests.js";

export * from "./exports.js";

/** What a client of Node.js is made of. */
export interface NodeClientOptions extends ClientOptions {
  /** Certificates, as of node:http2: ca for an authority of one's own, cert and key for a certificate of the client. */
  tls?: SecureClientSessionOptions;
}

/**
 * Calls one server, over one connection. The address is host and port, or a URL, of https for TLS; STRATA_SERVER where none is
 * given, else 127.0.0.1:8081. The key is that of STRATA_KEY where options have none.
 */
export class Client extends BaseClient {
  constructor(address?: string, options: NodeClientOptions = {}) {
    checkOptions(options, [...optionNames, "tls"]);
    const connection = connect(urlOf(address || process.env.STRATA_SERVER || defaultAddress), options);
    super(connection, { ...options, key: options.key ?? process.env.STRATA_KEY ?? "" });
  }
}

// The service takes requests of 8 MiB, and closes the connection on what is larger; a reply may be somewhat larger than one of gRPC.
const readMaxBytes = 64 << 20;
const writeMaxBytes = 8 << 20;

function connect(baseUrl: string, options: NodeClientOptions): Connection {
  if (options.transport) {
    return { transport: options.transport, close: () => {} };
  }
  const sessions = new HeardSessions(baseUrl, undefined, options.tls);
  const transport = createGrpcTransport({ baseUrl, sessionManager: sessions, readMaxBytes, writeMaxBytes });
  return { transport, close: () => sessions.abort(), noReply: noReplyOf(new URL(baseUrl)) };
}

function noReplyOf({ protocol, host }: URL): string {
  const tls = protocol === "http:" ? "it speaks TLS (then write https:// before its address), " : "";
  return `the connection to ${host} ended before any reply: ${tls}it is no Strata server, or it is being stopped`;
}

/**
 * Listens for the errors of each session. The manager takes its own listener off when it is closed, and an error that comes after
 * that, as of a server that does not speak HTTP/2, would end the process. Calls fail with the error all the same.
 */
class HeardSessions extends Http2SessionManager {
  readonly #heard = new WeakSet<Http2Session>();

  override async request(...call: Parameters<Http2SessionManager["request"]>): ReturnType<Http2SessionManager["request"]> {
    const stream = await super.request(...call);
    const session = stream.session;
    if (session && !this.#heard.has(session)) {
      this.#heard.add(session);
      session.on("error", () => {});
    }
    return stream;
  }
}
