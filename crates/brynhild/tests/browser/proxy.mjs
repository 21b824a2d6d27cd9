// A proxy between the browser and the server that can break connections: `drop` closes all streams
// of events, `hush` keeps them open and lets nothing more through.

import http from "node:http";

const isStream = (request) => (request.headers.accept ?? "").includes("text/event-stream");

export async function startProxy(link) {
  const target = new URL(link);
  const streams = new Set();
  const proxy = { opened: 0, isHushed: false };
  const server = http.createServer((request, response) => {
    const headers = { ...request.headers, host: target.host };
    if (headers.origin) headers.origin = target.origin;
    const { method, url: path } = request;
    const options = { host: target.hostname, port: target.port, method, path, headers };
    const onward = http.request(options, (reply) => {
      response.writeHead(reply.statusCode, reply.headers);
      response.flushHeaders();
      if (!isStream(request)) return reply.pipe(response);
      proxy.opened++;
      const stream = { reply, response, isHushed: false };
      streams.add(stream);
      reply.on("data", (bytes) => stream.isHushed || response.write(bytes));
      reply.on("close", () => response.destroy());
      response.on("close", () => streams.delete(stream) && reply.destroy());
    });
    onward.on("error", () => response.destroy());
    request.on("error", () => onward.destroy());
    request.pipe(onward);
  });
  proxy.drop = () => streams.forEach((stream) => stream.response.destroy());
  proxy.hush = () => streams.forEach((stream) => (stream.isHushed = true));
  proxy.close = () => (server.closeAllConnections(), server.close());
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  proxy.origin = `http://127.0.0.1:${server.address().port}`;
  return proxy;
}
