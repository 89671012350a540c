// A server on the TypeScript SDK 1.x over Streamable HTTP, whose tool asks with `elicitInput`, `createMessage` and
// `listRoots`: those go out on the standing GET stream, and not on the stream of the call.
//
//     node asker.mjs FOLDER PORT

import { randomUUID } from "node:crypto";
import http from "node:http";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [folder, port] = process.argv.slice(2);
const require = createRequire(`${folder}/package.json`);
const load = (name) => import(pathToFileURL(require.resolve(name)).href);
const { Server } = await load("@modelcontextprotocol/sdk/server/index.js");
const { StreamableHTTPServerTransport } = await load("@modelcontextprotocol/sdk/server/streamableHttp.js");
const { CallToolRequestSchema, ListToolsRequestSchema } = await load("@modelcontextprotocol/sdk/types.js");

const properties = { what: { type: "string" }, number: { type: "integer" } };
const tool = { name: "ask", inputSchema: { type: "object", properties } };
const requestedSchema = { type: "object", properties: { color: { type: "string" } }, required: ["color"] };
const pause = () => new Promise((resolve) => setTimeout(resolve, Math.random() * 4));

async function asked(server, { what, number }) {
  if (what === "form") {
    const answer = await server.elicitInput({ message: `color ${number}?`, requestedSchema });
    return `${answer.action}: ${answer.content?.color}`;
  }
  if (what === "roots") {
    return (await server.listRoots()).roots.map((root) => root.uri).join(", ");
  }
  const content = { type: "text", text: `write ${number}` };
  return (await server.createMessage({ messages: [{ role: "user", content }], maxTokens: 20 })).content.text;
}

function serving() {
  const server = new Server({ name: "asker", version: "1" }, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, async () => ({ tools: [tool] }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
    await pause();
    const text = await asked(server, params.arguments);
    await pause();
    return { content: [{ type: "text", text }] };
  });
  return server;
}

const sessions = new Map();
http
  .createServer(async (request, response) => {
    const known = sessions.get(request.headers["mcp-session-id"]);
    if (known) {
      await known.handleRequest(request, response);
      return;
    }
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (id) => sessions.set(id, transport),
    });
    await serving().connect(transport);
    await transport.handleRequest(request, response);
  })
  .listen(Number(port), "127.0.0.1");
