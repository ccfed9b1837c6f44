// The entry for Node.js: gRPC over HTTP/2.
import type { SecureClientSessionOptions } from "node:http2";
import { createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";
import { BaseClient, type ClientOptions, type Connection, defaultAddress, urlOf } from "./client.js";

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
  const sessionManager = new Http2SessionManager(baseUrl, undefined, options.tls);
  const transport = createGrpcTransport({ baseUrl, sessionManager, readMaxBytes, writeMaxBytes });
  return { transport, close: () => sessionManager.abort() };
}
