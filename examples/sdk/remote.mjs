// Runs a prompt on a server, and shows the work as it arrives.
//
//     brynhild serve --listen unix:/tmp/brynhild.sock
//     node examples/sdk/remote.mjs unix:/tmp/brynhild.sock "How many words has notes.txt?"

import { Answer, Brynhild } from "brynhild-sdk";

const [url, prompt] = process.argv.slice(2);
const onQuestion = (question) => (question.isReadOnly ? Answer.once() : Answer.deny("this program only reads"));
const b = new Brynhild({ url, token: process.env.TOKEN, mode: "ask", onQuestion });

for await (const event of b.stream(prompt)) {
  if (event.type === "tool_called") console.log("calls", event.call.name);
  if (event.type === "reply_finished") event.reply.parts.forEach((part) => part.type === "text" && console.log(part.text));
}
await b.close();
