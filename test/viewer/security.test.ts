import { once } from 'node:events'
import { request } from 'node:http'
import { connect, createServer } from 'node:net'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { startViewer, type Viewer } from 'hookspan/viewer'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { getJson, id, otlp, post, TRACE } from './support.ts'

let viewer: Viewer
beforeAll(async () => {
  viewer = await startViewer({ db: ':memory:', port: 0 })
  await post(viewer, otlp([{ spanId: id(1), name: 'work' }]))
})
afterAll(() => viewer.close())

/** `fetch` does not let us lie about `Host`. */
function raw(
  path: string,
  headers: Record<string, string>,
  method = 'GET',
  body?: string,
  at = viewer,
): Promise<number> {
  return new Promise((resolve, reject) => {
    const call = request(`${at.url}${path}`, { method, headers }, (response) => {
      response.resume()
      resolve(response.statusCode!)
    })
    call.on('error', reject)
    call.end(body)
  })
}

describe('who may call', () => {
  it.each([
    'evil.example',
    'evil.example:4318',
    '127.0.0.1.evil.example',
    'localhost@evil.example',
    '192.168.1.5:4318',
  ])('refuses Host "%s"', async (host) => {
    for (const path of ['/', '/api/runs', '/v1/hookspan', '/app.js'])
      expect(await raw(path, { host })).toBe(403)
    expect(
      await raw('/v1/traces', { host, 'content-type': 'application/json' }, 'POST', '{"resourceSpans":[]}'),
    ).toBe(403)
  })

  it.each(['127.0.0.1:1', 'localhost', 'LOCALHOST:9', '[::1]:4318'])('accepts Host "%s"', async (host) => {
    expect(await raw('/api/runs', { host })).toBe(200)
  })

  it('refuses posts and reads that a foreign page makes', async () => {
    expect(
      (await post(viewer, otlp([{ spanId: id(2) }]), { headers: { origin: 'https://evil.example' } })).status,
    ).toBe(403)
    expect((await post(viewer, otlp([{ spanId: id(2) }]), { headers: { origin: 'null' } })).status).toBe(403)
    expect(await raw('/api/runs', { origin: 'http://localhost:3000' })).toBe(403)
    expect(await raw('/api/runs', { 'sec-fetch-site': 'cross-site' })).toBe(403)
    // What a form or an image can send without asking the browser first is no OTLP.
    expect(
      (await post(viewer, '{"resourceSpans":[]}', { headers: { 'content-type': 'text/plain' } })).status,
    ).toBe(415)
    expect((await getJson<{ summary: { spans: number } }>(viewer, `/api/runs/${TRACE}`)).summary.spans).toBe(
      1,
    )
  })

  it('is called by the names that it is told, however they are written', async () => {
    const allowedHosts = ['Traces.Example.org', 'fe80::1']
    const named = await startViewer({ db: ':memory:', port: 0, allowedHosts })
    try {
      for (const host of ['traces.example.org', 'TRACES.example.org:80', '[fe80::1]:4318'])
        expect([host, await raw('/api/runs', { host }, 'GET', undefined, named)]).toEqual([host, 200])
      expect(await raw('/api/runs', { host: 'example.org' }, 'GET', undefined, named)).toBe(403)
    } finally {
      await named.close()
    }
  })

  it.each(['http://traces.example.org', 'traces.example.org:80', 'traces/x', '*.example.org', ''])(
    'refuses to be called %j, which no Host could say',
    async (name) => {
      const asked = { db: ':memory:', port: 0, allowedHosts: [name] }
      await expect(startViewer(asked)).rejects.toThrow(/allowed host to be a name such as/)
    },
  )

  it('says that a host is no address of this machine', async () => {
    const asked = { db: ':memory:', port: 0, host: '192.0.2.7' }
    await expect(startViewer(asked)).rejects.toThrow(
      /`host` to be an address of this machine.*"192\.0\.2\.7"/,
    )
  })

  it('never allows another origin to read', async () => {
    const answers = [
      [200, await fetch(`${viewer.url}/api/runs`)],
      [404, await fetch(`${viewer.url}/api/nothing`)],
      [200, await post(viewer, '{"resourceSpans":[]}')],
      [400, await post(viewer, 'no JSON')],
      [403, await post(viewer, '{}', { headers: { origin: 'http://elsewhere.example' } })],
    ] as const
    for (const [status, { status: given, headers }] of answers) {
      expect([given, headers.get('access-control-allow-origin')]).toEqual([status, null])
      expect(headers.get('content-security-policy')).toContain("default-src 'none'")
      expect(headers.get('x-content-type-options')).toBe('nosniff')
    }
  })

  it('asks for the token before anything changes', async () => {
    const attempts: [string, string][] = [
      ['DELETE', `/api/runs/${TRACE}`],
      ['POST', '/api/import'],
    ]
    for (const [method, path] of attempts) {
      for (const authorization of [
        '',
        'Bearer ',
        'Bearer wrong',
        `Bearer ${viewer.token}x`,
        `Basic ${viewer.token}`,
      ]) {
        expect((await fetch(`${viewer.url}${path}`, { method, headers: { authorization } })).status).toBe(401)
      }
    }
    const authorization = `Bearer ${viewer.token}`
    const traceId = 'c'.repeat(32)
    const imported = await post(viewer, otlp([{ traceId, spanId: id(1) }]), {
      path: '/api/import',
      headers: { authorization },
    })
    expect(await imported.json()).toMatchObject({ runs: [traceId], spans: 1 })
    expect(
      (await fetch(`${viewer.url}/api/runs/${traceId}`, { method: 'DELETE', headers: { authorization } }))
        .status,
    ).toBe(200)
    expect((await fetch(`${viewer.url}/api/runs/${traceId}`)).status).toBe(404)
  })

  it('asks for the token before reading, too, when it listens beyond loopback', async () => {
    const open = await startViewer({ db: ':memory:', port: 0, host: '0.0.0.0' })
    try {
      expect((await fetch(`${open.url}/api/runs`)).status).toBe(401)
      expect(
        (await fetch(`${open.url}/api/runs`, { headers: { authorization: `Bearer ${open.token}` } })).status,
      ).toBe(200)
    } finally {
      await open.close()
    }
  })

  it('listens on loopback unless told otherwise', () => {
    expect(new URL(viewer.url).hostname).toBe('127.0.0.1')
  })

  it.each([
    '/../../package.json',
    '/..%2f..%2fpackage.json',
    '/ui/../../package.json',
    '/app.js%00.html',
    '/index.html/..',
  ])('serves no file but its own: %s', async (path) => {
    const body = await new Promise<string>((resolve) => {
      const socket = connect(Number(new URL(viewer.url).port), '127.0.0.1')
      let text = ''
      socket.on('data', (chunk) => {
        text += chunk
      })
      socket.on('close', () => resolve(text))
      socket.end(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`)
    })
    expect(body).not.toContain('"engines"')
  })
})

describe('how much', () => {
  const small = () => startViewer({ db: ':memory:', port: 0, maxBodyBytes: 1_000_000 })

  it.each([
    ['gzip', gzipSync],
    ['br', (body: Buffer) => brotliCompressSync(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } })],
  ] as const)('refuses a %s bomb with 413 and stays well', async (encoding, pack) => {
    const one = await small()
    try {
      const bomb = pack(Buffer.alloc(100_000_000))
      expect(bomb.length).toBeLessThan(1_000_000)
      const before = process.memoryUsage().rss
      const response = await post(one, bomb, {
        headers: { 'content-encoding': encoding, 'content-type': 'application/x-protobuf' },
      })
      expect(response.status).toBe(413)
      expect(process.memoryUsage().rss - before).toBeLessThan(100_000_000)
      expect((await post(one, otlp([{ spanId: id(1) }]))).status).toBe(200)
    } finally {
      await one.close()
    }
  })

  it('refuses a body of 100 MB with 413, announced or not', async () => {
    const announced = await raw(
      '/v1/traces',
      { 'content-type': 'application/json', 'content-length': '100000000' },
      'POST',
      '{',
    )
    expect(announced).toBe(413)
    const streamed = await fetch(`${viewer.url}/v1/traces`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      duplex: 'half',
      body: new ReadableStream({
        start(controller) {
          for (let mb = 0; mb < 100; mb++) controller.enqueue(new Uint8Array(1_000_000))
          controller.close()
        },
      }),
    } as RequestInit)
    expect(streamed.status).toBe(413)
    expect((await post(viewer, otlp([{ spanId: id(1) }]))).status).toBe(200)
  })

  it('answers 400 to what is not gzip and 415 to unknown encodings', async () => {
    expect((await post(viewer, 'no gzip', { headers: { 'content-encoding': 'gzip' } })).status).toBe(400)
    expect((await post(viewer, 'x', { headers: { 'content-encoding': 'zstd' } })).status).toBe(415)
  })
})

describe('hostile spans', () => {
  const HOSTILE = [
    '<script>alert(1)</script>',
    '<img src=x onerror=alert(1)>',
    '\u001b[2J\u001b]0;owned\u0007',
    'abc\u202Egnp.exe',
    '{"__proto__":{"polluted":true}}',
    '\u0000',
    '</script><script>',
    '🦜'.repeat(50),
  ]

  it('come back as the text they are, and change nothing else', async () => {
    const traceId = 'd'.repeat(32)
    const attributes = Object.fromEntries(HOSTILE.map((text, index) => [`${text}${index}`, text]))
    const spans = HOSTILE.map((name, index) => ({
      traceId,
      spanId: id(index + 1),
      name,
      attributes: { ...attributes, ['__proto__']: 'x', constructor: 'y' },
      events: [{ name, attributes }],
      error: name,
    }))
    expect(
      (await post(viewer, otlp(spans, { 'service.name': HOSTILE[0]!, ['__proto__']: 'z' }))).status,
    ).toBe(200)
    const { span } = await getJson<{ span: { name: string; attributes: Record<string, unknown> } }>(
      viewer,
      `/api/runs/${traceId}/spans/${id(1)}`,
    )
    expect(span.name).toBe(HOSTILE[0])
    expect(span.attributes.constructor).toBe('y')
    for (const view of ['conversation', 'lint', 'export.json'])
      expect((await fetch(`${viewer.url}/api/runs/${traceId}/${view}`)).status).toBe(200)
    expect(({} as Record<string, unknown>).polluted).toBeUndefined()
  })

  it('of 10 MB are taken, cut for the panel, and whole on demand', async () => {
    const traceId = 'e'.repeat(32)
    const text = 'wide '.repeat(2_000_000)
    expect(
      (
        await post(
          viewer,
          otlp([
            {
              traceId,
              spanId: id(1),
              name: text,
              attributes: { 'gen_ai.tool.name': 'x', 'gen_ai.tool.call.result': text },
            },
          ]),
        )
      ).status,
    ).toBe(200)
    const panel = await fetch(`${viewer.url}/api/runs/${traceId}/spans/${id(1)}`)
    const shown = (await panel.json()) as { cut: Record<string, number> }
    expect(shown.cut).toEqual({ 'gen_ai.tool.call.result': 10_000_000 })
    expect(Number(panel.headers.get('content-length'))).toBeLessThan(100_000)
    const list = await fetch(`${viewer.url}/api/runs/${traceId}`)
    expect(Number(list.headers.get('content-length'))).toBeLessThan(20_000)
    const whole = await getJson<{ span: { attributes: Record<string, string> } }>(
      viewer,
      `/api/runs/${traceId}/spans/${id(1)}?full=1`,
    )
    expect(whole.span.attributes['gen_ai.tool.call.result']).toHaveLength(10_000_000)
  })

  it('nested without end cost only themselves', async () => {
    const traceId = 'f'.repeat(32)
    const deep = `${'{"arrayValue":{"values":['.repeat(5000)}{"stringValue":"x"}${']}}'.repeat(5000)}`
    const traces = JSON.stringify(
      otlp([
        { traceId, spanId: id(1), attributes: { deep: 'DEEP' } },
        { traceId, spanId: id(2) },
      ]),
    )
    const response = await post(viewer, traces.replace('{"stringValue":"DEEP"}', deep))
    expect(response.status).toBe(200)
    expect(
      (await getJson<{ columns: { rows: unknown[] } }>(viewer, `/api/runs/${traceId}`)).columns.rows.length,
    ).toBeGreaterThanOrEqual(1)
    expect((await fetch(`${viewer.url}/api/runs/${traceId}/spans/${id(2)}`)).status).toBe(200)
  })
})

describe('a taken port', () => {
  it('is explained by what holds it and what to do', async () => {
    const port = Number(new URL(viewer.url).port)
    await expect(startViewer({ db: ':memory:', port })).rejects.toThrow(
      `A hookspan viewer already runs there: open ${viewer.url}`,
    )
  })

  it('held by another program is named, with a way on', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const { port } = other.address() as { port: number }
    try {
      await expect(startViewer({ db: ':memory:', port })).rejects.toThrow(
        /Cannot listen on 127\.0\.0\.1:\d+\. [\s\S]+hookspan view --port \d+\n {2}OTEL_EXPORTER_OTLP_ENDPOINT=/,
      )
    } finally {
      other.close()
    }
  })
})
