// The TypeScript clients: the package `sdk` (1.x, legacy) and the package `client` (2.x, legacy or auto).
//
//     node typescript.mjs FOLDER sdk|client PLAN
//
// FOLDER is where the packages are installed. The plan and the printed lines are those of `steps.py`.

import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [folder, flavour, planText] = process.argv.slice(2);
const plan = JSON.parse(planText);
const require = createRequire(`${folder}/package.json`);
const load = (name) => import(pathToFileURL(require.resolve(name)).href);
const STEP_MS = 20_000;

// Who answers what a server asks.
async function answer(client) {
  const types = await load("@modelcontextprotocol/sdk/types.js");
  client.setRequestHandler(types.ElicitRequestSchema, async ({ params }) => ({
    action: "accept",
    content: { color: params.message.replace("?", "") },
  }));
  client.setRequestHandler(types.CreateMessageRequestSchema, async ({ params }) => {
    const asked = params.messages[0].content;
    const text = (Array.isArray(asked) ? asked[0] : asked).text.replace("write", "written");
    return { role: "assistant", content: { type: "text", text }, model: "m", stopReason: "endTurn" };
  });
  client.setRequestHandler(types.ListRootsRequestSchema, async () => ({ roots: [{ uri: "file:///work" }] }));
}

async function connected() {
  const about = { name: "typescript", version: "1" };
  if (flavour === "sdk") {
    const { Client } = await load("@modelcontextprotocol/sdk/client/index.js");
    const can = { elicitation: {}, sampling: {}, roots: {} };
    const client = new Client(about, plan.asked ? { capabilities: can } : undefined);
    if (plan.asked) {
      await answer(client);
    }
    if (plan.url) {
      const { StreamableHTTPClientTransport } = await load("@modelcontextprotocol/sdk/client/streamableHttp.js");
      await client.connect(new StreamableHTTPClientTransport(new URL(plan.url)));
    } else {
      const { StdioClientTransport } = await load("@modelcontextprotocol/sdk/client/stdio.js");
      await client.connect(new StdioClientTransport({ command: plan.command, args: plan.args }));
    }
    return client;
  }
  const { Client, StreamableHTTPClientTransport } = await load("@modelcontextprotocol/client");
  const client = new Client(about, { versionNegotiation: { mode: plan.mode } });
  if (plan.url) {
    await client.connect(new StreamableHTTPClientTransport(new URL(plan.url)));
  } else {
    const { StdioClientTransport } = await load("@modelcontextprotocol/client/stdio");
    await client.connect(new StdioClientTransport({ command: plan.command, args: plan.args }));
  }
  return client;
}

const client = await connected();
const textOf = (blocks) => blocks.map((block) => block.text ?? "").join("");
const callTool = (params, options) =>
  flavour === "sdk" ? client.callTool(params, undefined, options) : client.callTool(params, options);

const actions = {
  async revision() {
    return client.getNegotiatedProtocolVersion();
  },
  async tools() {
    return (await client.listTools()).tools.map((tool) => tool.name);
  },
  async call({ name, arguments: given }, options) {
    const result = await callTool({ name, arguments: given }, options);
    return { texts: result.content.map((block) => block.text), error: result.isError ?? false, structured: result.structuredContent };
  },
  async read({ uri }) {
    return textOf((await client.readResource({ uri })).contents);
  },
  async prompt({ name, arguments: given }) {
    return textOf((await client.getPrompt({ name, arguments: given })).messages.map((message) => message.content));
  },
  async progress(given) {
    const heard = [];
    const answer = await actions.call(given, { onprogress: ({ progress }) => heard.push(progress) });
    return { ...answer, progress: heard };
  },
  async asked({ what, rounds, at_once, first = 0 }) {
    const wrong = [];
    for (let number = first; number < first + rounds * at_once; number += at_once) {
      const numbers = Array.from({ length: at_once }, (_, one) => number + one);
      const answers = await Promise.all(
        numbers.map((one) => actions.call({ name: "ask", arguments: { what, number: one } })),
      );
      answers.forEach((given, one) => {
        if (given.texts.join() !== `accept: color ${numbers[one]}`) {
          wrong.push([numbers[one], given]);
        }
      });
    }
    return wrong;
  },
  async cancel(given) {
    const stop = new AbortController();
    try {
      const answer = await actions.call(given, { onprogress: () => stop.abort("not needed"), signal: stop.signal });
      return { ended: JSON.stringify(answer) };
    } catch (error) {
      return { ended: stop.signal.aborted ? "cancelled" : String(error) };
    }
  },
};

function inTime(work) {
  const late = new Promise((_, reject) => setTimeout(() => reject(new Error("no end in time")), STEP_MS).unref());
  return Promise.race([work, late]);
}

for (const step of plan.steps) {
  let told;
  try {
    let value = await inTime(actions[step.do](step.with));
    for (let again = 0; step.until && !value.includes(step.until) && again < 100; again++) {
      await new Promise((resolve) => setTimeout(resolve, 200));
      value = await inTime(actions[step.do](step.with));
    }
    told = { value };
  } catch (error) {
    told = { error: String(error) };
  }
  console.log(JSON.stringify({ step: step.name, ...told }));
}
await client.close();
process.exit(0);
