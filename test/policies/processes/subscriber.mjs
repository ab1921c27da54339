/** A process outside: registers itself by plain HTTP, verifies what it is posted, and prints it. */
import { createServer } from 'node:http'
import { verifySignature } from 'hookspan/policies'

const [hooks, token, expected] = process.argv.slice(2)
const secret = 'known to these two processes'
let got = 0
const server = createServer(async (request, response) => {
  let body = ''
  for await (const chunk of request) body += chunk
  const { id } = verifySignature({ secret, headers: request.headers, body })
  const posted = JSON.parse(body)
  process.stdout.write(`${JSON.stringify({ ...posted, verified: id === posted.id })}\n`)
  response.writeHead(204).end(() => {
    if (++got === Number(expected)) server.close()
  })
  response.shouldKeepAlive = false
})
server.listen(0, '127.0.0.1', async () => {
  const on = ['onStart', 'afterToolCall', 'onComplete']
  const fields = ['sequence', 'operationId', 'apiName', 'success', 'reason']
  const url = `http://127.0.0.1:${server.address().port}/`
  const answer = await fetch(`${hooks}/outside`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ on, url, fields, secret }),
  })
  process.stdout.write(`${JSON.stringify({ registered: answer.status })}\n`)
})
