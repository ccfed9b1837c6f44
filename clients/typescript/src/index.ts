// The entry for browsers and edge runtimes: Connect over HTTP/1.1 by fetch. Node.js gets node.ts in its place.
import { createConnectTransport } from "@connectrpc/connect-web";
import { BaseClient, type ClientOptions, defaultAddress, optionNames, urlOf } from "./client.js";
import { checkOptions } from "./requests.js";

export * from "./exports.js";

/**
 * Calls one server, whose address is host and port, or a URL; 127.0.0.1:8081 where none is given. In Node.js it speaks gRPC, and
 * takes STRATA_SERVER and STRATA_KEY for what is not given; elsewhere it speaks Connect by fetch.
 */
export class Client extends BaseClient {
  constructor(address: string = defaultAddress, options: ClientOptions = {}) {
    checkOptions(options, optionNames);
    const transport = options.transport ?? createConnectTransport({ baseUrl: urlOf(address), useBinaryFormat: true });
    super({ transport, close: () => {} }, options);
  }
}
