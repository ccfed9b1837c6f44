// One server for the tests of a file, the built program; each test has a user of its own.
import { randomUUID } from "node:crypto";
import { after, before } from "node:test";
import type { Client } from "@stratamem/client";
import { type Server, startServer } from "@stratamem/client/testing";

export function serverForTests(): { server: () => Server; client: () => Client } {
  let running: Server;
  let client: Client;
  before(async () => {
    running = await startServer("--request-timeout", "2m", "--embedding-deadline", "10s"); // a slow machine fails no test
    client = running.client();
  });
  after(async () => {
    client.close();
    await running.stop();
  });
  return { server: () => running, client: () => client };
}

export function newUser(): string {
  return `user-${randomUUID()}`;
}

export async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const out: T[] = [];
  for await (const item of items) {
    out.push(item);
  }
  return out;
}
