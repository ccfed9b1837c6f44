// Connect-ES in Node.js over HTTP/1.1.
import { readFileSync } from "node:fs";
import { createConnectTransport } from "@connectrpc/connect-node";
import { walk } from "./connect_walk.mjs";

const { STRATA_ADDRESS, STRATA_KEY, STRATA_USER, STRATA_DESCRIPTORS } = process.env;
const transport = createConnectTransport({ baseUrl: "http://" + STRATA_ADDRESS, httpVersion: "1.1" });
console.log(JSON.stringify(await walk(transport, readFileSync(STRATA_DESCRIPTORS), STRATA_USER, STRATA_KEY)));
