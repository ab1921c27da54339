import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Jaeger, type JaegerSpan, startJaeger } from '../support/jaeger.ts'
import { runCli } from '../support/run-cli.ts'

describe('the demo’s trace in a real Jaeger', () => {
  let jaeger: Jaeger
  let folder: string
  let spans: JaegerSpan[]
  let stdout: string

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'hookspan-demo-'))
    jaeger = await startJaeger()
    const out = join(folder, 'demo.otlp.json')
    const run = await runCli(['demo', '--fast', '--out', out], {
      env: { OTEL_EXPORTER_OTLP_ENDPOINT: jaeger.otlpUrl, JAEGER_UI_URL: jaeger.uiUrl },
    })
    expect(run.stderr).toBe('')
    expect(run.code).toBe(0)
    stdout = run.stdout
    const written = JSON.parse(readFileSync(out, 'utf8')).resourceSpans.flatMap(
      (part: { scopeSpans: { spans: { traceId: string }[] }[] }) =>
        part.scopeSpans.flatMap((scope) => scope.spans),
    )
    spans = (await jaeger.getTrace(written[0].traceId, { spanCount: written.length })).spans
  })
  afterAll(async () => {
    await jaeger?.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  it('has the tree that the design draws, complete', () => {
    expect(treeOf(spans)).toBe(
      `
invoke_agent support
  step
    chat gpt-4o
    execute_tool get_order
    execute_tool carrier_status
  step
    chat gpt-4o
    execute_tool check_stock
    execute_tool issue_refund
      gate refund-limit
  step
    chat gpt-4o
    execute_tool logistics
      invoke_agent logistics
        step
          chat gpt-4o-mini
          execute_tool find_courier
        step
          chat gpt-4o-mini
    execute_tool outside_counsel
      invoke_agent outside_counsel
  compact_context
    chat gpt-4o-mini
  step
    chat gpt-4o
    execute_tool book_courier
      human_intervention
  compact_context
    chat gpt-4o-mini
  step
    chat gpt-4o
    execute_tool goodwill
      invoke_agent goodwill
        step
          chat gpt-4o-mini
          execute_tool issue_voucher
            human_intervention
    execute_tool translator
      invoke_agent translator
        step
          chat gpt-4o-mini
  step
    chat gpt-4o
`.trim(),
    )
    expect(spans.flatMap((span) => span.warnings)).toEqual([])
  })

  it('tells the outcomes apart and puts errors only where something failed', () => {
    const outcome = (name: string) =>
      spans.find((span) => span.name === name)?.attributes['hookspan.tool.outcome']
    expect(outcome('execute_tool get_order')).toBe('completed')
    expect(outcome('execute_tool carrier_status')).toBe('mocked')
    expect(outcome('execute_tool issue_refund')).toBe('denied')
    expect(outcome('execute_tool issue_voucher')).toBe('rejected')
    expect(outcome('execute_tool check_stock')).toBe('errored')
    for (const span of spans) {
      expect(span.status.code).not.toBe('OK')
      expect('error.type' in span.attributes).toBe(span.status.code === 'ERROR')
    }
    const humans = spans.filter((span) => span.name === 'human_intervention')
    expect(humans.map((span) => span.attributes['hookspan.human.action'])).toEqual(['approve', 'reject'])
  })

  it('is linked to by the command', () => {
    expect(stdout).toContain(`${jaeger.uiUrl}/trace/${spans[0]!.traceId}`)
  })
})

/** Names indented by depth, siblings by their start. */
function treeOf(spans: readonly JaegerSpan[]): string {
  const lines: string[] = []
  const walk = (parent: string | undefined, depth: number) => {
    for (const span of spans.filter(({ parentSpanId }) => parentSpanId === parent)) {
      lines.push('  '.repeat(depth) + span.name)
      walk(span.spanId, depth + 1)
    }
  }
  walk(undefined, 0)
  return lines.join('\n')
}
