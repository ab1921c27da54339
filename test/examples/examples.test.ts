import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startCollector } from '../support/collector.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

const README = readFileSync(`${ROOT}/README.md`, 'utf8')

/** What the README says that an example prints. */
function outputOf(name: string): string[] {
  const quoted = README.split(`<!-- examples/${name} -->`)[1] ?? ''
  const output = /^\n```ts\n[\s\S]*?\n```\n\n```\n([\s\S]*?)\n```/.exec(quoted)?.[1]
  if (output === undefined) throw new Error(`The README does not say what ${name} prints.`)
  return output.split('\n')
}

/** Runs an example as a user does: by its file, against the built package. */
async function runExample(name: string, options: { env?: Record<string, string>; input?: string } = {}) {
  const child = spawn(process.execPath, [`examples/${name}`], {
    cwd: ROOT,
    env: { ...process.env, ...options.env },
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

describe('each example does what the README says', () => {
  let collector: Awaited<ReturnType<typeof startCollector>>
  beforeAll(async () => {
    collector = await startCollector()
  })
  afterAll(() => collector.stop())

  it('view-in-jaeger', async () => {
    const [link] = await runExample('view-in-jaeger.ts', {
      env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url },
    })
    const traceId = /^http:\/\/localhost:16686\/trace\/([0-9a-f]{32})$/.exec(link ?? '')?.[1]
    expect(
      collector.spans
        .filter((span) => span.traceId === traceId)
        .map((span) => span.name)
        .sort(),
    ).toEqual(['execute_tool find_order', 'invoke_agent support', 'step 0'])
  })

  it('park-and-resume', async () => {
    const output = await runExample('park-and-resume.ts', { env: { NODE_NO_WARNINGS: '1' } })
    expect(output).toEqual([
      'waiting_for_human',
      'delete_order {"id":7}?',
      'done - order 7 is deleted - Done: it is deleted.',
    ])
  })

  it('own-loop', async () => {
    expect(await runExample('own-loop.ts')).toEqual(outputOf('own-loop.ts'))
  })

  it('observe-openai', async () => {
    const output = await runExample('observe-openai.ts', {
      env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url },
    })
    expect(output).toEqual(outputOf('observe-openai.ts'))
    await collector.until(() => collector.names().includes('chat gpt-4o'))
  })

  it('existing-runtime', async () => {
    expect(await runExample('existing-runtime.ts')).toEqual(outputOf('existing-runtime.ts'))
  })

  it('observe-sub-agents', async () => {
    expect(await runExample('observe-sub-agents.ts')).toEqual(outputOf('observe-sub-agents.ts'))
  })

  it.each([
    ['y', 'completed deleted'],
    ['n', 'rejected {"rejected":true,"code":"rejected","reason":"not today"}'],
  ])('approve-before-danger, answered %s', async (answer, outcome) => {
    const output = await runExample('approve-before-danger.ts', { input: `${answer}\n` })
    expect(output.join('\n')).toContain('Run delete_branch with {"name":"main"}?')
    expect(output.join('\n')).toContain(outcome)
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
      'step 0',
    ])
    expect(parentOf('execute_tool count_words')).toBe('step 0')
    expect(parentOf('step 0')).toBe('invoke_agent worker')
  })
})

describe('the README', () => {
  const quotes = [...README.matchAll(/<!-- (examples\/[\w.-]+) -->\n```ts\n([\s\S]*?)```/g)]

  it('quotes examples', () => {
    expect(quotes.length).toBeGreaterThanOrEqual(6)
  })

  it.each(quotes.map(([, file, code]) => [file as string, code as string]))(
    'quotes %s as it is',
    (file, code) => {
      const source = readFileSync(`${ROOT}/${file}`, 'utf8')
      const region = /\/\/ #region readme\n([\s\S]*?)\/\/ #endregion/.exec(source)?.[1]
      const body = region ?? source.replace(/^\/\*\*[\s\S]*?\*\/\n/, '')
      expect(code.trim()).toBe(body.trim())
    },
  )

  it('has every TypeScript block from an example', () => {
    expect((README.match(/```ts\n/g) ?? []).length).toBe(quotes.length)
  })

  it('leaves no example unmentioned', () => {
    const files = readdirSync(`${ROOT}/examples`).filter(
      (name) => name.endsWith('.ts') && !name.includes('worker'),
    )
    for (const file of files) expect(README).toContain(`examples/${file}`)
  })
})
