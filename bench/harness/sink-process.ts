/** Takes OTLP over HTTP and counts what came. A process of its own, so that none of its time is the agent's. */
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { readJson, readProtobuf, type SpanShape } from './sink-otlp.ts'

let spans = 0
let bytes = 0
let requests = 0
/** The last request that held whole runs. */
let last: { readonly body: Buffer; readonly json: boolean } | undefined

const server = createServer(async (request, response) => {
  const body = await bodyOf(request)
  const type = request.headers['content-type'] ?? ''
  const json = type.startsWith('application/json')
  // Whoever asks whether this is a viewer is told that it is none.
  if (request.method !== 'POST' || !(json || type.startsWith('application/x-protobuf'))) {
    response.writeHead(404).end()
    return
  }
  const count = (json ? readJson(body) : readProtobuf(body)).length
  spans += count
  bytes += body.length
  requests++
  if (count >= 40) last = { body, json }
  response.writeHead(200, { 'content-type': type }).end(json ? '{"partialSuccess":{}}' : undefined)
})

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks)
}

process.on('message', () => {
  const shapes: SpanShape[] = last === undefined ? [] : (last.json ? readJson : readProtobuf)(last.body)
  process.send?.({ spans, bytes, requests, shapes })
})
process.on('disconnect', () => process.exit())
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))
