import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { idsOfOperation } from 'hookspan/tracing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startCollector } from '../support/collector.ts'
import { OTEL_SDKS } from './otel-sdks.ts'
import { installPacked, ROOT, run } from './support.ts'

describe.each(Object.entries(OTEL_SDKS))('OpenTelemetry SDK %s', (_version, packages) => {
  let project: Awaited<ReturnType<typeof installPacked>>
  let folder: string
  let collector: Awaited<ReturnType<typeof startCollector>>
  beforeAll(async () => {
    collector = await startCollector()
    project = await installPacked(packages)
    folder = project.folder
    copyFileSync(join(ROOT, 'test/package/fixtures/traced-run.mjs'), join(folder, 'traced-run.mjs'))
  })
  afterAll(async () => {
    await collector.stop()
    project?.remove()
  })

  it('delivers the same spans', async () => {
    const { stdout, stderr } = await run(process.execPath, ['traced-run.mjs', collector.url], { cwd: folder })
    expect(stderr).toBe('')
    expect(JSON.parse(stdout)).toEqual({ queued: 0, exported: 5, dropped: 0 })
    const span = (name: string) => collector.spans.find((other) => other.name === name)
    const { traceId, spanId } = idsOfOperation('same-everywhere')
    expect(span('invoke_agent a')).toMatchObject({ traceId, spanId })
    expect(span('invoke_agent a')?.parentSpanId ?? '').toBe('')
    expect(span('step')?.parentSpanId).toBe(spanId)
    for (const name of ['chat m', 'execute_tool t', 'execute_tool bad']) {
      expect(span(name)?.parentSpanId).toBe(span('step')?.spanId)
    }
    expect(span('execute_tool t')?.attributes['gen_ai.tool.call.arguments']).toBe(
      '{"deep":{"list":[1,"two",null]}}',
    )
    expect(span('execute_tool bad')?.attributes['error.type']).toBe('TypeError')
    expect(span('chat m')?.attributes['gen_ai.response.finish_reasons']).toEqual({
      values: [{ stringValue: 'stop' }],
    })
  })

  it('prints spans where the environment says so', async () => {
    const env = { ...process.env, OTEL_TRACES_EXPORTER: 'console' }
    const { stdout } = await run(process.execPath, ['traced-run.mjs', collector.url], { cwd: folder, env })
    for (const name of ['invoke_agent a', 'step', 'chat m', 'execute_tool t', 'execute_tool bad']) {
      expect(stdout).toContain(`name: '${name}'`)
    }
  })

  it('holds what the environment says of spans, and tells what it does not', async () => {
    const env = {
      ...process.env,
      OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT: '5',
      OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT: '-1',
      OTEL_RESOURCE_ATTRIBUTES: 'service.name=bot,team',
      OTEL_TRACES_SAMPLER: 'allways_on',
      OTEL_PROPAGATORS: 'none',
    }
    collector.spans.length = 0
    const args = ['traced-run.mjs', collector.url]
    const { stdout, stderr } = await run(process.execPath, args, { cwd: folder, env })
    expect(JSON.parse(stdout)).toEqual({ queued: 0, exported: 5, dropped: 0 })
    const told = [...stderr.matchAll(/^\[hookspan\] (OTEL_\w+) is .*, which is not held: expected /gm)]
    expect(told.map(([, name]) => name)).toEqual([
      'OTEL_TRACES_SAMPLER',
      'OTEL_RESOURCE_ATTRIBUTES',
      'OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT',
    ])
    const root = collector.spans.find(({ name }) => name === 'invoke_agent a')
    expect(root?.attributes['gen_ai.operation.name']).toBe('invok')
  })
})
