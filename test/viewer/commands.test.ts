import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startViewer, type Viewer } from 'hookspan/viewer'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SAMPLE_TRACE, sampleRun } from './sample-run.ts'
import { id, otlp, post, runSpan } from './support.ts'

const BIN = fileURLToPath(new URL('../../dist/cli/bin.js', import.meta.url))
const OTHER = 'b'.repeat(32)
const folder = mkdtempSync(join(tmpdir(), 'hookspan-commands-'))
const soon = { timeout: 20_000, interval: 20 }
let viewer: Viewer

beforeAll(async () => {
  viewer = await startViewer({ port: 0, db: join(folder, 'traces.db') })
  await post(viewer, sampleRun())
  await post(
    viewer,
    sampleRun({
      traceId: OTHER,
      atMs: -60_000,
      edit: (spans) =>
        spans
          .filter((span) => span.name !== 'compact_context')
          .map((span) =>
            span.name === 'execute_tool cancel_booking'
              ? {
                  ...span,
                  attributes: { ...span.attributes, 'gen_ai.tool.call.arguments': '{"booking":"LX-1180"}' },
                }
              : span,
          ),
    }),
  )
})
afterAll(async () => {
  await viewer.close()
  rmSync(folder, { recursive: true })
})

interface Ended {
  code: number | null
  stdout: string
  stderr: string
}

async function run(...args: string[]): Promise<Ended> {
  const child = spawn(process.execPath, [BIN, ...args], {
    env: { ...process.env, NO_COLOR: '1', FORCE_COLOR: '0', COLUMNS: '120', HOOKSPAN_HOME: folder },
  })
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', (chunk) => (stdout += chunk))
  child.stderr.on('data', (chunk) => (stderr += chunk))
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve))
  return { code, stdout, stderr }
}

describe('hookspan runs', () => {
  it('says how many spans it could not search yet', async () => {
    const busy = createServer((request, response) =>
      response.end(
        JSON.stringify(
          request.url === '/v1/hookspan'
            ? { name: 'hookspan-viewer' }
            : { runs: [], total: 0, indexing: 1_250_000 },
        ),
      ),
    ).listen(0, '127.0.0.1')
    await once(busy, 'listening')
    const url = `http://127.0.0.1:${(busy.address() as AddressInfo).port}`
    const text = await run('runs', '--url', url, 'walrus')
    expect(text.stdout.trim().split('\n')).toEqual([
      'No run matches.',
      '… 1,250,000 spans are still being indexed and were not searched yet',
    ])
    expect(JSON.parse((await run('runs', '--json', '--url', url, 'walrus')).stdout).indexing).toBe(1_250_000)
    busy.close()
  })

  it('lists runs, newest first, and narrows them', async () => {
    const { stdout, code } = await run('runs', '--url', viewer.url)
    expect(code).toBe(0)
    expect(stdout.split('\n').slice(0, 3)).toEqual([
      expect.stringMatching(/^RUN +STATUS +AGENT +TIME +TOKENS +COST +CALLS +STARTED +INPUT$/),
      expect.stringMatching(
        /^5a3b1e77 +with errors +support +21\.4 s +8,411 +\$0\.023 +6\+5 .+\[1 error, 1\/5 mocked\] Hi, I am Mei Sato/,
      ),
      expect.stringMatching(/^bbbbbbbb +with errors/),
    ])
    expect((await run('runs', '--url', viewer.url, 'LX-1180', 'tool:cancel*', '--json')).stdout).toContain(
      OTHER,
    )
    expect((await run('runs', '--url', viewer.url, 'nowhere')).stdout).toBe('No run matches.\n')
    for (const query of [
      ['status:done', 'errors>=1'],
      ['steps>=1', 'errors<=1', '--', '-status:failed'],
    ]) {
      expect((await run('runs', '--url', viewer.url, ...query)).stdout, query.join(' ')).toContain('5a3b1e77')
    }
    expect((await run('runs', '--url', viewer.url, 'errors>=2')).stdout).toBe('No run matches.\n')
  })

  it('sums the runs by tool, model, agent, gate and person', async () => {
    const tools = await run('runs', '--by', 'tool', '--url', viewer.url)
    expect(tools.code).toBe(0)
    expect(tools.stdout.split('\n')[0]).toMatch(
      /^TOOL +CALLS +FAILED +DENIED +MOCKED +P50 +P95 +COST +TOP ERROR$/,
    )
    expect(tools.stdout).toMatch(/^fetch_page +4 +2 \(50 %\) +0 +0 .+ 2× connect ECONNREFUSED/m)
    expect(tools.stdout).toMatch(/^drop_table +2 +0 +2 \(100 %\) +0 /m)
    const gates = JSON.parse((await run('runs', '--by', 'gate', '--url', viewer.url, '--json')).stdout)
    expect(gates).toMatchObject({ kind: 'gate', names: 4, pending: 0, indexing: 0 })
    expect((await run('runs', '--by', 'tool', '--url', viewer.url, 'agent:nobody')).stdout).toBe(
      'No tools in these runs.\n',
    )
    const wrong = await run('runs', '--by', 'tools', '--url', viewer.url)
    expect(wrong.code).toBe(2)
    expect(wrong.stderr).toContain(
      'Expected --by to be one of tool, model, agent, gate, human, got `tools`. Did you mean tool?',
    )
  })

  it('sets the runs of one query against those of another', async () => {
    const { stdout, code } = await run('runs', 'LX-1180', '--against', 'agent:support', '--url', viewer.url)
    expect(code).toBe(0)
    expect(stdout).toMatch(/^OF THE RUNS THAT ENDED +A \(2\) +B \(2\) +B LESS A +95 % BETWEEN$/m)
    expect(stdout).toMatch(/^With errors +100 % +100 % +0 +−\d/m)
    expect(stdout).toMatch(/^Duration, p50 .+ too few runs$/m)
  })

  it('refuses a limit that is none', async () => {
    const { code, stderr } = await run('runs', '--url', viewer.url, '--limit', 'few')
    expect(code).toBe(2)
    expect(stderr).toContain('Expected --limit to be a whole number of at least 1, got `few`.')
  })
})

describe('hookspan show', () => {
  it('shows a run as a tree with everything that happened', async () => {
    const { stdout } = await run('show', '5a3b', '--url', viewer.url)
    expect(stdout).toContain(
      '21.4 s, 8,100 → 311 tokens (41% cached), $0.023, 6 model calls, 5 tool calls (1 mocked), 1 error',
    )
    const lines = stdout.split('\n').map((line) => line.replace(/ {2,}/g, '  '))
    expect(lines.slice(5, 12)).toEqual([
      '  time  tokens  cost',
      'invoke_agent support  21.4 s  8,100 → 311  $0.023',
      '├─ step 0  2.63 s',
      '│  ├─ chat gpt-4o  1.81 s  1,180 → 46  $0.0034',
      '│  └─ execute_tool search_bookings  mocked  {"customer":"Mei Sato"}  760 ms',
      '│  └─ gate tool-policy  proceed  400 µs',
      '├─ step 1  6.74 s',
    ])
    expect(stdout).toContain('execute_tool drop_table  denied  {"sql":"DROP TABLE bookings"}')
    expect(stdout).toContain('human_intervention  approve by ines (claimed, page)')
    expect(stdout).toContain('compact_context  14.2k → 1,900 tokens')
    expect(stdout).toContain('execute_tool fetch_page  ✗ connect ECONNREFUSED rules.example:443')
    expect(stdout).toContain('gate budget-service  shadow: deny')
    expect(stdout).toMatch(/chat gpt-4o {2}\d+% cached/)
  })

  it('shows the conversation, and JSON for programs', async () => {
    const chat = (await run('show', 'latest', '-c', '--url', viewer.url)).stdout
    expect(chat).toContain('user\n  Hi, I am Mei Sato.')
    expect(chat).toContain('☺ approve by ines (claimed, page) after 5.40 s')
    const json = JSON.parse((await run('show', SAMPLE_TRACE, '--json', '--url', viewer.url)).stdout)
    expect(json.run).toMatchObject({ traceId: SAMPLE_TRACE, agent: 'support', toolCalls: 5, mockedCalls: 1 })
    expect(json.spans[0]).toMatchObject({
      depth: 0,
      name: 'invoke_agent support',
      durationMs: 21_400,
      state: 'ended',
    })
    const span = JSON.parse((await run('show', SAMPLE_TRACE, '--span', id(4), '--url', viewer.url)).stdout)
    expect(span.attributes['gen_ai.tool.name']).toBe('search_bookings')
  })

  it('never lets a span write to the terminal', async () => {
    const traceId = 'c0ffee'.padEnd(32, '0')
    const hostile = '\u001b[2J\u001b]0;owned\u0007\u009b2J\u202Eevil\r\nfake line'
    await post(
      viewer,
      otlp([
        {
          traceId,
          spanId: id(1),
          name: hostile,
          error: hostile,
          attributes: {
            'gen_ai.operation.name': 'execute_tool',
            'gen_ai.tool.name': hostile,
            'gen_ai.tool.call.arguments': hostile,
            'gen_ai.tool.call.result': hostile,
          },
        },
      ]),
    )
    for (const args of [['runs'], ['show', 'c0ffee'], ['show', 'c0ffee', '-c'], ['diff', 'c0ffee', '5a3b']]) {
      const { stdout, code } = await run(...args, '--url', viewer.url)
      expect(code).toBe(0)
      // biome-ignore lint/suspicious/noControlCharactersInRegex: none of them may reach the terminal
      expect(stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/)
    }
    for (const args of [['runs'], ['show', 'c0ffee'], ['show', 'c0ffee', '-s', id(1)]]) {
      const { stdout } = await run(...args, '--json', '--url', viewer.url)
      expect(stdout).toContain('\\u009b')
      // biome-ignore lint/suspicious/noControlCharactersInRegex: none of them may reach the terminal
      expect(stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/)
      expect(JSON.stringify(JSON.parse(stdout))).toContain('\u202Eevil')
    }
    const { stdout } = await run('export', 'c0ffee', '-f', 'markdown', '--url', viewer.url)
    expect(stdout).toContain('⟦RLO⟧evil')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: none of them may reach the terminal
    expect(stdout).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202e]/)
  })

  it('says what to do when there is no such run, no viewer and no file', async () => {
    expect(await run('show', 'dddd', '--url', viewer.url)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('`hookspan runs` lists them'),
    })
    expect(await run('runs', '--url', 'http://127.0.0.1:9')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('Start one with `hookspan view`'),
    })
    expect(await run('runs', '--db', join(folder, 'none.db'))).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('none.db is not there'),
    })
  })
})

describe('hookspan diff', () => {
  it('aligns two runs and says how they differ', async () => {
    const { stdout } = await run('diff', OTHER, SAMPLE_TRACE, '--url', viewer.url)
    expect(stdout).toContain('13 the same, 1 changed, 0 only in A, 1 only in B')
    expect(stdout).toContain('+ compact Compaction')
    expect(stdout).toContain('~ tool cancel_booking({"booking":"LX-1180"})')
    expect(stdout).toContain('    -   "booking": "LX-1180"')
    expect(
      JSON.parse((await run('diff', OTHER, 'latest', '--json', '--url', viewer.url)).stdout),
    ).toMatchObject({ changed: expect.any(Number) })
  })
})

describe('hookspan view and tail', () => {
  it('keeps its promises on stdout and stops on SIGTERM', async () => {
    const db = join(folder, 'own.db')
    const child = spawn(process.execPath, [BIN, 'view', '--port', '0', '--db', db, '--no-open'])
    let stdout = ''
    child.stdout.on('data', (chunk) => (stdout += chunk))
    await expect.poll(() => stdout, { interval: 10 }).toContain('kept in')
    const url = /send traces to +(\S+)/.exec(stdout)![1]!
    expect(stdout).toMatch(/^hookspan viewer {2}http:\/\/127\.0\.0\.1:\d+\/#token=[\w-]{32}\n/)
    const tail = spawn(process.execPath, [BIN, 'tail', '--json', '--url', url])
    let lines = ''
    tail.stdout.on('data', (chunk) => (lines += chunk))
    await once(tail.stderr, 'data')
    await post({ url } as Viewer, sampleRun())
    await expect.poll(() => lines.trim().split('\n').length).toBe(22)
    expect(JSON.parse(lines.split('\n')[0]!)).toMatchObject({
      traceId: SAMPLE_TRACE,
      name: 'invoke_agent support',
    })
    tail.kill()
    child.kill('SIGTERM')
    expect(await new Promise((resolve) => child.on('close', resolve))).toBe(0)
    expect(existsSync(db)).toBe(true)
    const offline = await run('runs', '--db', db)
    expect(offline.stdout).toContain('support')
  })

  it('tail, diff and exports name runs by so much of their ids as tells them apart', async () => {
    const [one, two] = ['6749c0de0001'.padEnd(32, 'a'), '6749c0de0002'.padEnd(32, 'b')]
    const own = await startViewer({ port: 0, db: ':memory:' })
    const tail = spawn(process.execPath, [BIN, 'tail', '--url', own.url])
    let lines = ''
    tail.stdout.on('data', (chunk) => (lines += chunk))
    await once(tail.stderr, 'data')
    await post(own, sampleRun({ traceId: one }))
    await post(own, sampleRun({ traceId: two }))
    await expect.poll(() => lines.trim().split('\n').length, soon).toBe(44)
    tail.kill()
    expect(lines).toContain(' 6749c0de0001 ')
    expect(lines).toContain(' 6749c0de0002 ')
    expect((await run('diff', one, two, '--url', own.url)).stdout).toMatch(
      /^- A 6749c0de0001 .*\n\+ B 6749c0de0002 /,
    )
    // Of one that no test can be made of.
    const { stderr } = await run('export', 'agent:support', '--format', 'vitest', '--url', own.url)
    expect(stderr).toContain(`Run ${two} compacted its context`)
    await own.close()
  })

  it('tail waits for a viewer that is started again, and goes on', async () => {
    const db = join(folder, 'again.db')
    const first = await startViewer({ port: 0, db })
    const port = Number(new URL(first.url).port)
    await post(first, otlp([runSpan('done', { name: 'before' })]))
    const tail = spawn(process.execPath, [BIN, 'tail', '--json', '--url', first.url])
    let [lines, said] = ['', '']
    tail.stdout.on('data', (chunk) => (lines += chunk))
    tail.stderr.on('data', (chunk) => (said += chunk))
    await expect.poll(() => said, soon).toContain('Following')
    await first.close()
    await expect.poll(() => said, soon).toContain(`${first.url} does not answer; waiting for it.`)
    const second = await startViewer({ port, db })
    await post(second, otlp([runSpan('done', { traceId: OTHER, name: 'after' })]))
    await expect.poll(() => lines, soon).toContain('"name":"after"')
    expect(lines).not.toContain('before')
    expect(said).toMatch(/waiting for it\.\nIt is there again\.\n$/)
    tail.kill()
    await once(tail, 'exit')
    await second.close()
  })

  it('refuses wrong numbers by name', async () => {
    expect(await run('view', '--port', 'x', '--memory', '--no-open')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Expected --port to be a number from 0 to 65535, got `x`.'),
    })
  })
})
