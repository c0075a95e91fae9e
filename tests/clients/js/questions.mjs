// Questions and tools that the cases of all JavaScript libraries share.
import assert from "node:assert/strict";
export const MODEL = "builtin";
export const UNKNOWN = "nowhere-1";
export const BASE_URL = process.env.OPENAI_BASE_URL;
export const DRAINING_URL = process.env.DRAINING_BASE_URL; // of a server that shuts down
export const RETRIEVAL_URL = process.env.RETRIEVAL_BASE_URL; // of an embedding model
export const EMBEDDER = "embedder";
export const KEY = process.env.OPENAI_API_KEY;
export const WRONG_KEY = "wrong";
export const HELLO = "Say hello.";
export const WEATHER = "What is the weather in Paris?";
export const BOTH = "What is the weather in Paris and in Rome?";
export const PERSON_QUESTION = "Ada is 36. Who is it?";
export const TOO_LONG = "word ".repeat(9000);
export const RESULT = { temperature: 21 };
export const RESULTS = [RESULT, { temperature: 17 }];
// With a required choice: one call is shorter, so the grammar leaves only a second one.
export const TWO_CALLS = { min_tokens: 40 };
export const user = (content) => ({ role: "user", content });
export const sixteen = (ask) =>
  Promise.all(Array.from({ length: 16 }, (_, number) => ask(`${HELLO} ${number}`)));

// Check vectors against the server's plain answer.
export async function checkVectors(input, vectors) {
  const headers = { authorization: `Bearer ${KEY}`, "content-type": "application/json" };
  const body = JSON.stringify({ model: EMBEDDER, input });
  const answer = await fetch(`${RETRIEVAL_URL}/embeddings`, { method: "POST", headers, body });
  const plain = (await answer.json()).data.map((each) => each.embedding);
  assert.equal(vectors.length, input.length);
  vectors.forEach((vector, row) => vector.forEach((number, column) =>
    assert(Math.abs(number - plain[row][column]) < 1e-6)));
}
