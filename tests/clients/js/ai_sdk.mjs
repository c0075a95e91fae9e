// Cases of the AI SDK with its provider for OpenAI-compatible servers.
import assert from "node:assert/strict";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { APICallError, embedMany, generateObject, generateText, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";
import {
  BASE_URL, BOTH, DRAINING_URL, EMBEDDER, HELLO, KEY, MODEL, PERSON_QUESTION, RESULT, RESULTS,
  RETRIEVAL_URL, TOO_LONG, TWO_CALLS, UNKNOWN, WEATHER, WRONG_KEY, checkVectors, sixteen, user,
} from "./questions.mjs";

const at = (options) => createOpenAICompatible({
  name: "yaie", baseURL: BASE_URL, apiKey: KEY, includeUsage: true, supportsStructuredOutputs: true,
  ...options,
});
const provider = at({});
const fields = { model: provider(MODEL), maxRetries: 0 };
const get_weather = tool({
  description: "Return the weather of a city.",
  inputSchema: z.object({ city: z.string().describe("Name of the city") }),
  strict: true, // the small model names arguments at random otherwise
  execute: async () => RESULT,
});
const forced = (toolChoice) =>
  generateText({ ...fields, prompt: HELLO, tools: { get_weather }, toolChoice });

export async function chat() {
  const answer = await generateText({ ...fields, prompt: HELLO });
  assert(answer.text && answer.usage.outputTokens);
}

export async function stream() {
  const answer = streamText({ ...fields, prompt: HELLO });
  let text = "";
  for await (const part of answer.textStream) text += part;
  assert(text && (await answer.usage).outputTokens);
}

export async function multi_turn() {
  const first = await generateText({ ...fields, messages: [user(HELLO)] });
  const messages = [user(HELLO), ...first.response.messages, user("And again?")];
  assert((await generateText({ ...fields, messages })).text);
}

export async function tools_auto() {
  const answer = await generateText({
    ...fields, temperature: 0, prompt: WEATHER, tools: { get_weather }, stopWhen: stepCountIs(3),
  });
  assert.deepEqual(answer.steps[0].toolCalls.map((call) => call.input), [{ city: "Paris" }]);
  assert.match(answer.text, /21/);
}

export async function tools_required() {
  assert((await forced("required")).toolCalls.length >= 1);
}

export async function tools_named() {
  const answer = await forced({ type: "tool", toolName: "get_weather" });
  assert.equal(answer.toolCalls.length, 1);
}

export async function tools_parallel() {
  let number = 0;
  const weather = tool({ ...get_weather, execute: async () => RESULTS[number++ % 2] });
  const answer = await generateText({
    ...fields, temperature: 0, prompt: BOTH, tools: { get_weather: weather },
    stopWhen: stepCountIs(2), providerOptions: { yaie: TWO_CALLS },
    prepareStep: ({ stepNumber }) => ({ toolChoice: stepNumber === 0 ? "required" : "auto" }),
  });
  assert.equal(answer.steps[0].toolCalls.length, 2);
  assert.equal(number, 2);
  assert.match(answer.text, /21[^]*17|17[^]*21/);
}

const Person = z.object({ name: z.string(), age: z.number().int() });

export async function schema() {
  const answer = await generateObject({ ...fields, schema: Person, prompt: PERSON_QUESTION });
  Person.parse(answer.object);
}

export async function async_16() {
  const answers = await sixteen((prompt) =>
    generateText({ ...fields, prompt, maxOutputTokens: 16 }));
  assert(answers.every((answer) => answer.text));
}

export async function errors() {
  const unknown = generateText({ ...fields, model: provider(UNKNOWN), prompt: HELLO });
  await assert.rejects(unknown, (error) => APICallError.isInstance(error) && error.statusCode === 404);
  await assert.rejects(generateText({ ...fields, prompt: TOO_LONG }), /maximum context length/);
  await assert.rejects(generateText({ ...fields, prompt: HELLO, temperature: -1 }), /temperature/);
  const refusal = (options) =>
    generateText({ model: at(options)(MODEL), maxRetries: 0, prompt: HELLO });
  await assert.rejects(refusal({ apiKey: WRONG_KEY }), { statusCode: 401 });
  await assert.rejects(refusal({ baseURL: DRAINING_URL }), { statusCode: 503 });
}

export async function embeddings() {
  const model = at({ baseURL: RETRIEVAL_URL }).textEmbeddingModel(EMBEDDER);
  const answer = await embedMany({ model, values: [HELLO, WEATHER], maxRetries: 0 });
  await checkVectors([HELLO, WEATHER], answer.embeddings);
  assert(answer.usage.tokens > 2);
}
