import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { startViewer } from 'hookspan/viewer'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startCollector } from '../support/collector.ts'
import { outputOf, PAGES, quotes } from '../support/quotes.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** Runs an example as a user does: by its file, against the built package. */
async function runExample(
  name: string,
  options: { env?: Record<string, string>; input?: string; args?: string[] } = {},
) {
  const child = spawn(process.execPath, [...(options.args ?? []), `examples/${name}`], {
    cwd: ROOT,
    env: { ...process.env, JAEGER_UI_URL: '', ...options.env },
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      output += chunk
    })
  }
  child.stdin.end(options.input ?? '')
  const [code] = await once(child, 'close')
  expect(code, output).toBe(0)
  return output.trim().split('\n')
}

describe('each example does what its page says', () => {
  let collector: Awaited<ReturnType<typeof startCollector>>
  beforeAll(async () => {
    collector = await startCollector()
  })
  afterAll(() => collector.stop())

  it('see-a-run, in the viewer', async () => {
    const viewer = await startViewer({ port: 0, db: ':memory:' })
    try {
      const env = { OTEL_EXPORTER_OTLP_ENDPOINT: viewer.otlpEndpoint }
      const [answer, link = '', ...more] = await runExample('see-a-run.ts', { env })
      const withoutIds = (line = '') => line.replace(/:\d+\/run\/[0-9a-f]{32}$/, '')
      expect([answer, withoutIds(link)]).toEqual(outputOf('see-a-run.ts').map(withoutIds))
      expect(more).toEqual([])
      const run = await (await fetch(link.replace('/run/', '/api/runs/'))).json()
      expect(run).toMatchObject({ summary: { title: 'support', status: 'ok', spans: 4 } })
    } finally {
      await viewer.close()
    }
  })

  it('park-and-resume', async () => {
    const output = await runExample('park-and-resume.ts', { env: { NODE_NO_WARNINGS: '1' } })
    expect(output).toEqual([
      'waiting_for_human',
      'delete_order {"id":7}?',
      'done - order 7 is deleted - Done: it is deleted.',
    ])
  })

  it.each([
    'own-loop.ts',
    'existing-runtime.ts',
    'observe-sub-agents.ts',
    'stand-in.ts',
    'ai-sdk/in-a-chat.ts',
    'gates.ts',
    'own-adapter.ts',
  ])('%s', async (name) => {
    expect(await runExample(name)).toEqual(outputOf(name))
  })

  it('ai-sdk/support', async () => {
    const output = await runExample('ai-sdk/support.ts', {
      env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url },
    })
    expect(output).toEqual(outputOf('ai-sdk/support.ts'))
    await collector.until(() => collector.names().includes('execute_tool delete_order'))
  })

  it.each([
    'ai-sdk/park-and-resume.ts',
    'anthropic/ask-a-human.ts',
    'google-genai/ask-a-human.ts',
    'langchain/ask-a-human.ts',
    'mcp/ask-a-human.ts',
    'openai-agents/ask-a-human.ts',
  ])('%s, in two processes', async (name) => {
    expect(await runExample(name, { env: { NODE_NO_WARNINGS: '1' } })).toEqual(outputOf(name))
  })

  it('langchain/support', async () => {
    const output = await runExample('langchain/support.ts', {
      env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url },
    })
    expect(output).toEqual(outputOf('langchain/support.ts'))
    await collector.until(() => collector.names().includes('human_intervention'))
  })

  it('openai-agents/support', async () => {
    const output = await runExample('openai-agents/support.ts', {
      env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url },
    })
    expect(output).toEqual(outputOf('openai-agents/support.ts'))
    await collector.until(() => collector.names().includes('execute_tool delete_order'))
  })

  it.each(['anthropic/agent.ts', 'google-genai/agent.ts', 'google-genai/interactions.ts', 'mcp/tools.ts'])(
    '%s, and its spans',
    async (name) => {
      const output = await runExample(name, { env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url } })
      expect(output).toEqual(outputOf(name))
      await collector.until(() => collector.names().includes('execute_tool drop_table'))
    },
  )

  it('mock-own-loop', async () => {
    const [first = ''] = await runExample('mock-own-loop.ts', { args: ['--test', '--test-reporter=spec'] })
    expect([first.replace(/ \([\d.]+ms\)$/, '')]).toEqual(outputOf('mock-own-loop.ts'))
  })

  it('run-tools', async () => {
    expect(await runExample('run-tools.ts')).toEqual(outputOf('run-tools.ts'))
  })

  it('observe-openai', async () => {
    const output = await runExample('observe-openai.ts', {
      env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url },
    })
    expect(output).toEqual(outputOf('observe-openai.ts'))
    await collector.until(() => collector.names().includes('chat gpt-4o'))
  })

  // A `y` that came before its question is none: who is asked second has not said anything.
  it.each([
    ['y', 'completed old is deleted'],
    ['n', 'rejected {"rejected":true,"code":"rejected","reason":"not today"}'],
    ['', 'rejected {"rejected":true,"code":"rejected","reason":"not today"}'],
  ])('approve-before-danger, answered "%s" once, asks about each call by itself', async (answer, outcome) => {
    const input = answer && `${answer}\n`
    const output = (await runExample('approve-before-danger.ts', { input })).join('\n')
    expect(output).toContain('Run delete_branch with {"name":"old"}?')
    expect(output).toContain(outcome)
    expect(output.split('is deleted')).toHaveLength(answer === 'y' ? 2 : 1)
  })

  it('two-processes', async () => {
    const [traceId] = await runExample('two-processes.ts', {
      env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url },
    })
    const spans = collector.spans.filter((span) => span.traceId === traceId)
    const parentOf = (name: string) => {
      const span = spans.find((other) => other.name === name)
      return spans.find((other) => other.spanId === span?.parentSpanId)?.name
    }
    expect(spans.map((span) => span.name).sort()).toEqual([
      'execute_tool count_words',
      'invoke_agent front',
      'invoke_agent worker',
      'invoke_agent worker',
      'step',
    ])
    expect(parentOf('execute_tool count_words')).toBe('step')
    expect(parentOf('step')).toBe('invoke_agent worker')
  })
})

/** Folders of examples/ that are named like an adapter. */
const SDKS = readdirSync(`${ROOT}/examples`).filter((name) => existsSync(`${ROOT}/src/adapters/${name}`))

it.each(SDKS)('%s is seen, denied a call, mocked in a test, and asks a human', (sdk) => {
  const folder = `${ROOT}/examples/${sdk}`
  const files = readdirSync(folder).filter((name) => name.endsWith('.ts'))
  const sources = files.map((name) => ({ name, code: readFileSync(`${folder}/${name}`, 'utf8') }))
  const having = (...words: string[]) =>
    sources.filter(({ code }) => words.every((word) => code.includes(word))).map(({ name }) => name)
  expect(having('startTracing(', 'toolPolicy({ deny')).not.toEqual([])
  expect(having("mock('").filter((name) => name.endsWith('.test.ts'))).not.toEqual([])
  // Where the SDK can park, another process goes on with the run; elsewhere the answer comes while it waits.
  const asks = having('createApprovals(', 'requireHuman(', 'respond(')
  const parks = having("mode: 'park'", 'execFileSync(')
  expect(asks).not.toEqual([])
  if (capabilitiesOf(sdk).includes('PARKING')) expect(parks).not.toEqual([])
})

const capabilitiesOf = (sdk: string) => readFileSync(`${ROOT}/src/adapters/${sdk}/capabilities.ts`, 'utf8')

describe('the pages', () => {
  it.each(quotes)('$page quotes $example as it is', ({ example, code }) => {
    const source = readFileSync(`${ROOT}/${example}`, 'utf8')
    // What the file says of itself, the page may say in its own words.
    const withoutHeader = (text: string) => text.replace(/^\/\*\*[\s\S]*?\*\/\n/, '').trim()
    expect(withoutHeader(code)).toBe(withoutHeader(source))
  })

  it('leave no example unmentioned', () => {
    const texts = PAGES.map((page) => readFileSync(`${ROOT}/${page}`, 'utf8')).join('\n')
    const files = ['', ...SDKS.map((sdk) => `${sdk}/`)].flatMap((folder) =>
      readdirSync(`${ROOT}/examples/${folder}`)
        .filter((name) => name.endsWith('.ts'))
        .map((name) => folder + name),
    )
    for (const file of files) expect(texts).toContain(`examples/${file}`)
  })
})

describe('the README', () => {
  const text = readFileSync(`${ROOT}/README.md`, 'utf8')

  it('is at most 250 lines', () => {
    expect(text.split('\n').length - 1).toBeLessThanOrEqual(250)
  })

  it('has every block of code from an example', () => {
    const count = quotes.filter(({ page }) => page === 'README.md').length
    expect(count).toBeGreaterThanOrEqual(5)
    expect((text.match(/```(js|ts|tsx|jsx)\n/g) ?? []).length).toBe(count)
  })

  it('links to what there is, by addresses that work on the registry’s page, too', () => {
    const targets = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target)
    expect(targets.length).toBeGreaterThan(10)
    for (const target of targets) {
      const [, path] =
        /^https:\/\/(?:raw\.githubusercontent\.com\/hookspan\/hookspan\/main|github\.com\/hookspan\/hookspan\/blob\/main)\/([^#]+)(?:#.+)?$/.exec(
          target,
        ) ?? []
      expect(path, `${target} is relative, or leads elsewhere`).toBeDefined()
      expect(() => readFileSync(`${ROOT}/${path}`)).not.toThrow(/ENOENT/)
    }
  })
})

it('the pages link to files and headings that are there', () => {
  const slug = (heading: string) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-')
  const broken = PAGES.flatMap((page) => {
    const text = readFileSync(`${ROOT}/${page}`, 'utf8')
    return [...text.matchAll(/\]\((?!https?:)([^)\s#]*)(?:#([^)\s]+))?\)/g)].flatMap(
      ([, path = '', anchor]) => {
        const target = path === '' ? page : `${page.replace(/[^/]*$/, '')}${path}`
        const there = () => readFileSync(`${ROOT}/${target}`, 'utf8')
        try {
          const headings = [...there().matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => slug(heading))
          return anchor === undefined || headings.includes(anchor) ? [] : [`${page}: ${path}#${anchor}`]
        } catch (error) {
          return (error as { code?: string }).code === 'EISDIR' ? [] : [`${page}: ${path}`]
        }
      },
    )
  })
  expect(broken).toEqual([])
})
