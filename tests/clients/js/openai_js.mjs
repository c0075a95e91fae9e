// Cases of the `openai` package of npm.
import assert from "node:assert/strict";
import OpenAI from "openai";
import { zodResponseFormat } from "openai/helpers/zod";
import { z } from "zod";
import {
  BOTH, DRAINING_URL, EMBEDDER, HELLO, MODEL, PERSON_QUESTION, RESULT, RESULTS, RETRIEVAL_URL,
  TOO_LONG, TWO_CALLS, UNKNOWN, WEATHER, WRONG_KEY, checkVectors, sixteen, user,
} from "./questions.mjs";

const client = new OpenAI({ maxRetries: 0 });
const parameters = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
  additionalProperties: false,
};
const description = "Return the weather of a city.";
const tool = { type: "function", function: { name: "get_weather", description, parameters } };
const create = (fields) => client.chat.completions.create({ model: MODEL, ...fields });
const ask = async (content, fields) =>
  (await create({ messages: [user(content)], ...fields })).choices[0];

export async function chat() {
  assert((await ask(HELLO)).message.content);
}

export async function stream() {
  const stream = client.chat.completions.stream({ model: MODEL, messages: [user(HELLO)] });
  let text = "";
  for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? "";
  assert(text);
  assert.equal(await stream.finalContent(), text);
}

export async function multi_turn() {
  const first = (await ask(HELLO)).message;
  const answer = await create({ messages: [user(HELLO), first, user("And again?")] });
  assert(answer.choices[0].message.content);
  assert(answer.usage.prompt_tokens_details.cached_tokens > 0);
}

export async function tools_auto() {
  const cities = [];
  const runner = client.chat.completions.runTools({
    model: MODEL,
    temperature: 0,
    messages: [user(WEATHER)],
    tools: [{
      type: "function",
      function: {
        name: "get_weather", description, parameters, parse: JSON.parse,
        function: ({ city }) => { cities.push(city); return JSON.stringify(RESULT); },
      },
    }],
  });
  assert.match(await runner.finalContent(), /21/);
  assert.deepEqual(cities, ["Paris"]);
}

export async function tools_required() {
  const answer = await ask(HELLO, { tools: [tool], tool_choice: "required" });
  assert(answer.message.tool_calls.length >= 1);
}

export async function tools_named() {
  const choice = { type: "function", function: { name: "get_weather" } };
  const answer = await ask(HELLO, { tools: [tool], tool_choice: choice });
  assert.equal(answer.message.tool_calls.length, 1);
  assert("city" in JSON.parse(answer.message.tool_calls[0].function.arguments));
}

export async function tools_parallel() {
  const fields = { temperature: 0, tools: [tool] };
  const forced = { ...fields, tool_choice: "required", ...TWO_CALLS };
  const { message } = await ask(BOTH, forced);
  assert.equal(new Set(message.tool_calls.map((call) => call.id)).size, 2);
  const results = message.tool_calls.map((call, at) => (
    { role: "tool", tool_call_id: call.id, content: JSON.stringify(RESULTS[at]) }));
  const last = await create({ ...fields, messages: [user(BOTH), message, ...results] });
  assert.match(last.choices[0].message.content, /21[^]*17|17[^]*21/);
  const only = await ask(BOTH, { ...forced, parallel_tool_calls: false });
  assert.equal(only.message.tool_calls.length, 1);
}

export async function schema() {
  const Person = z.object({ name: z.string(), age: z.number().int() });
  const answer = await client.chat.completions.parse({
    model: MODEL,
    messages: [user(PERSON_QUESTION)],
    response_format: zodResponseFormat(Person, "person"),
  });
  Person.parse(answer.choices[0].message.parsed);
}

export async function async_16() {
  const answers = await sixteen((text) => ask(text, { max_tokens: 16 }));
  assert(answers.every((answer) => answer.message.content));
}

export async function errors() {
  await assert.rejects(ask(HELLO, { model: UNKNOWN }), OpenAI.NotFoundError);
  await assert.rejects(ask(TOO_LONG), { code: "context_length_exceeded" });
  await assert.rejects(ask(HELLO, { temperature: -1 }), { param: "temperature" });
  const fields = { model: MODEL, messages: [user(HELLO)] };
  const wrong = client.withOptions({ apiKey: WRONG_KEY });
  await assert.rejects(wrong.chat.completions.create(fields), OpenAI.AuthenticationError);
  const draining = client.withOptions({ baseURL: DRAINING_URL });
  await assert.rejects(
    draining.chat.completions.create(fields), { status: 503, code: "engine_draining" });
}

export async function embeddings() {
  const at = client.withOptions({ baseURL: RETRIEVAL_URL });
  const answer = await at.embeddings.create({ model: EMBEDDER, input: [HELLO, WEATHER] });
  await checkVectors([HELLO, WEATHER], answer.data.map((each) => each.embedding));
  assert(answer.usage.prompt_tokens > 2);
}
