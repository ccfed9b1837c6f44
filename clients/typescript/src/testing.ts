// A server for tests: the real program on a file that goes with it.
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { createInterface } from "node:readline";
import { Client, type NodeClientOptions } from "./node.js";

const startMs = 60_000;
const stopMs = 30_000;

/** A running server. */
export interface Server extends AsyncDisposable {
  /** Host and port. */
  readonly address: string;
  /** What it stores; deleted when it stops. */
  readonly folder: string;
  /** The token of an admin, of a server with the flags --auth required --bootstrap-key; "" for others. */
  readonly key: string;
  /** A client of it, over gRPC. */
  client(options?: NodeClientOptions): Client;
  /** Stops it, and deletes its file. */
  stop(): Promise<void>;
}

/** The program: STRATA_BINARY, else strata on the PATH. */
export function binary(): string {
  const onPath = (process.env.PATH ?? "").split(delimiter).map((folder) => join(folder, "strata"));
  const found = process.env.STRATA_BINARY || onPath.find((path) => existsSync(path));
  if (!found) {
    throw new Error("there is no strata on the PATH: set STRATA_BINARY to the program, such as bin/strata of make build");
  }
  return found;
}

/**
 * Starts a server on a free port and a temporary file. Flags are those of strata serve; of this process's environment it takes no
 * setting of the service.
 */
export async function startServer(...flags: string[]): Promise<Server> {
  const folder = await mkdtemp(join(tmpdir(), "stratamem-"));
  const args = ["serve", "--data", join(folder, "strata.db"), "--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0", ...flags];
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("STRATA_")));
  const child = spawn(binary(), args, { env, stdio: ["ignore", "pipe", "pipe"] });
  const stop = async () => {
    await ended(child);
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const { address, key } = await started(child);
    const client = (options: NodeClientOptions = {}) => new Client(address, { key, ...options });
    return { address, key, folder, client, stop, [Symbol.asyncDispose]: stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Reads what the server prints up to the last line of its start, and on, so that it never waits for a reader. */
function started(child: ChildProcess): Promise<{ address: string; key: string }> {
  return new Promise((resolve, reject) => {
    const printed: string[] = [];
    const failed = (why: string) => {
      clearTimeout(timer);
      reject(new Error(`the server did not start: ${why}\n${printed.slice(-20).join("\n")}`));
    };
    const timer = setTimeout(() => failed(`nothing after ${startMs} ms`), startMs);
    const read = (line: string) => {
      printed.push(line);
      if (line.startsWith("stop with")) {
        clearTimeout(timer);
        const words = printed.map((l) => l.trim().split(/\s+/));
        const address = words.find((w) => w[0] === "address")?.[1];
        const key = words.find((w) => w.length === 1 && w[0]?.startsWith("strata_"))?.[0] ?? "";
        address ? resolve({ address, key }) : failed("it printed no address");
      }
    };
    for (const stream of [child.stdout, child.stderr]) {
      if (stream) {
        createInterface({ input: stream }).on("line", read);
      }
    }
    child.once("error", (error) => failed(error.message));
    child.once("close", (code) => failed(`it ended with ${code}`)); // when all that it printed was read
  });
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) {
    return;
  }
  const exit = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGTERM");
  const timer = setTimeout(() => child.kill("SIGKILL"), stopMs);
  await exit;
  clearTimeout(timer);
}
