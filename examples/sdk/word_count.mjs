// Lets the model call a function of this program, and answers its questions.
//
//     node examples/sdk/word_count.mjs [SCENARIO]

import { readFile } from "node:fs/promises";
import { Answer, Brynhild } from "brynhild-sdk";

const script = process.argv[2] ? { provider: "script", model: process.argv[2] } : {};
const onQuestion = (question) => (question.isReadOnly ? Answer.once() : Answer.deny("this program only reads"));
const b = new Brynhild({ mode: "ask", onQuestion, ...script });

const schema = { type: "object", properties: { file: { type: "string" } }, required: ["file"] };
b.tool({ name: "count_words", description: "Counts the words of a file.", schema }, async ({ file }) => {
  return (await readFile(file, "utf8")).split(/\s+/).filter(Boolean).length;
});

const result = await b.run("How many words has notes.txt?");
console.log(result.text);
await b.close();
