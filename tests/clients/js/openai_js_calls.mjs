// Documented calls of the `openai` package of npm.
import assert from "node:assert/strict";
import OpenAI from "openai";
import { zodResponseFormat, zodTextFormat } from "openai/helpers/zod";
import { z } from "zod";
import { HELLO, MODEL, PERSON_QUESTION, user } from "./questions.mjs";

const client = new OpenAI({ maxRetries: 0 });
const CHAT = { model: MODEL, messages: [user(HELLO)], max_tokens: 100, temperature: 0 };
const LONG = { ...CHAT, max_tokens: 3000, ignore_eos: true };
const TEXT = { model: MODEL, prompt: "The tree", max_tokens: 8, temperature: 0 };
const TURN = { model: MODEL, input: HELLO, max_output_tokens: 100, temperature: 0 };
const Person = z.object({ name: z.string(), age: z.number().int() });

async function all(pages) {
  const found = [];
  for await (const each of pages) found.push(each);
  return found;
}

export async function chat_completions() {
  const whole = (await client.chat.completions.create(CHAT)).choices[0].message.content;
  const chunks = await all(await client.chat.completions.create({ ...CHAT, stream: true }));
  assert.equal(chunks.map((chunk) => chunk.choices[0]?.delta.content ?? "").join(""), whole);
  const stream = client.chat.completions.stream(CHAT);
  assert.equal(await stream.finalContent(), whole);
  const response_format = zodResponseFormat(Person, "person");
  const messages = [user(PERSON_QUESTION)];
  const parsed = await client.chat.completions.parse({ model: MODEL, messages, response_format });
  Person.parse(parsed.choices[0].message.parsed);
}

export async function completions() {
  const whole = (await client.completions.create(TEXT)).choices[0].text;
  const chunks = await all(await client.completions.create({ ...TEXT, stream: true }));
  assert.equal(chunks.map((chunk) => chunk.choices[0]?.text ?? "").join(""), whole);
}

export async function responses() {
  const first = await client.responses.create(TURN);
  const events = await all(await client.responses.create({ ...TURN, stream: true }));
  assert.equal(events.at(-1).type, "response.completed");
  const stream = client.responses.stream(TURN);
  assert.equal((await stream.finalResponse()).output_text, first.output_text);
  const text = { format: zodTextFormat(Person, "person") };
  const parsed = await client.responses.parse({ model: MODEL, input: PERSON_QUESTION, text });
  Person.parse(parsed.output_parsed);
  assert.equal((await client.responses.retrieve(first.id)).output_text, first.output_text);
  await assert.rejects(client.responses.cancel(first.id), { status: 400 }); // it has ended
  const counted = await client.responses.inputTokens.count({ model: MODEL, input: HELLO });
  assert.equal(counted.input_tokens, first.usage.input_tokens);
  const second = await client.responses.create({ ...TURN, previous_response_id: first.id });
  const items = await all(client.responses.inputItems.list(second.id, { order: "asc", limit: 1 }));
  assert.deepEqual(items.map((item) => item.role), ["user", "assistant", "user"]);
  await client.responses.delete(first.id);
  await assert.rejects(client.responses.retrieve(first.id), OpenAI.NotFoundError);
}

export async function models() {
  assert.deepEqual((await all(client.models.list())).map((model) => model.id), [MODEL]);
  assert.equal((await client.models.retrieve(MODEL)).id, MODEL);
  await assert.rejects(client.models.retrieve("none"), OpenAI.NotFoundError);
}

export async function calls_that_are_not_served() {
  const code = "unsupported_endpoint";
  await assert.rejects(client.embeddings.create({ model: MODEL, input: "x" }), { status: 400, code });
  await assert.rejects(client.responses.compact({ model: MODEL, input: "x" }), { status: 400, code });
  await assert.rejects(client.moderations.create({ input: "x" }), OpenAI.NotFoundError);
  await assert.rejects(client.files.list(), OpenAI.NotFoundError);
  await assert.rejects(client.chat.completions.list(), { status: 405 });
}

export async function raw_answers() {
  const headers = { "X-Request-ID": "mine" };
  const call = client.chat.completions.create(CHAT, { headers });
  const { data, response, request_id } = await call.withResponse();
  assert.equal(request_id, "mine");
  assert.equal(response.headers.get("x-request-id"), "mine");
  assert(data.choices[0].message.content);
  const raw = await client.chat.completions.create(CHAT).asResponse();
  assert.equal((await raw.json()).object, "chat.completion");
}

export async function options_of_a_call() {
  await assert.rejects(
    client.chat.completions.create(LONG, { timeout: 50 }), OpenAI.APIConnectionTimeoutError);
  const controller = new AbortController();
  const call = client.chat.completions.create(CHAT, { signal: controller.signal });
  controller.abort();
  await assert.rejects(call, OpenAI.APIUserAbortError);
  const stream = await client.chat.completions.create({ ...LONG, stream: true });
  for await (const chunk of stream) { assert(chunk.id); break; }
}
