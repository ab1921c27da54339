/** Why a run ended as it did: in sight when it is opened, and one key from the span. */
import { startViewer, type Viewer } from 'hookspan/viewer'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { id, otlp, post, type TestSpan, TRACE } from '../viewer/support.ts'
import { findFlaws, launch, SHOTS, watch } from './support.ts'

let browser: Browser
let viewer: Viewer
const WHOLE = `${'The provider said a lot. '.repeat(20)}Too many requests.`
const STACK = `Error: Too many requests\n    at ask (/srv/agent/ask.js:7:1)`
const SPANS: TestSpan[] = [
  {
    spanId: id(1),
    name: 'invoke_agent a',
    end: 100,
    error: 'gave up',
    attributes: {
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': 'a',
      'hookspan.operation.reason': 'error',
    },
  },
  { spanId: id(2), parentSpanId: id(1), name: 'step 0', end: 100, attributes: { 'hookspan.step.index': 0 } },
  {
    spanId: id(3),
    parentSpanId: id(2),
    name: 'execute_tool drop',
    end: 20,
    attributes: { 'gen_ai.tool.name': 'drop', 'hookspan.tool.outcome': 'denied' },
    events: [
      {
        name: 'hookspan.gate',
        at: 1,
        attributes: {
          'hookspan.gate.id': 'sql-guard',
          'hookspan.gate.decision': 'deny',
          'hookspan.gate.code': 'drop_table',
          'hookspan.gate.reason': 'No table is dropped here.',
        },
      },
    ],
  },
  {
    spanId: id(4),
    parentSpanId: id(2),
    name: 'chat m',
    start: 30,
    end: 90,
    error: WHOLE,
    attributes: { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'm' },
    events: [
      { name: 'exception', attributes: { 'exception.type': 'Error', 'exception.stacktrace': STACK } },
      ...Array.from({ length: 30 }, (_, at) => ({ name: 'retry', attributes: { at } })),
    ],
  },
]
beforeAll(async () => {
  viewer = await startViewer({ db: ':memory:', port: 0 })
  browser = await launch()
  await post(viewer, otlp(SPANS))
})
afterAll(async () => {
  await browser.close()
  await viewer.close()
})

for (const [width, colorScheme] of [
  [1280, 'light'],
  [390, 'dark'],
] as const)
  it(`a failed run says why at ${width}, whole, and leads there; a denied call says who denied it`, async () => {
    const page = await browser.newPage({ viewport: { width, height: 800 }, colorScheme })
    const problems = watch(page)
    await page.goto(`${viewer.url}/run/${TRACE}`)
    const why = page.getByRole('note', { name: 'Why' })
    await expect.poll(() => why.locator('p').textContent()).toBe(`Failed in step 0 › m: ${WHOLE}`)
    await page.screenshot({ path: `${SHOTS}why-${width}.png` })
    expect(await findFlaws(page)).toEqual([])
    await why.getByRole('button', { name: 'Show' }).click()
    await expect.poll(() => page.locator('.panel .ids').textContent()).toContain(id(4))
    // Where it was thrown, without looking through its events.
    const failed = page.locator('.panel .section.bad')
    await failed.getByText('Stack').click()
    await expect
      .poll(() => failed.locator('details').textContent())
      .toContain('at ask (/srv/agent/ask.js:7:1)')
    await page.screenshot({ path: `${SHOTS}why-stack-${width}.png` })
    expect(await findFlaws(page)).toEqual([])

    await page.goto(`${viewer.url}/run/${TRACE}?span=${id(3)}`)
    await expect
      .poll(() => page.locator('.panel .gates').textContent())
      .toContain('No table is dropped here.')
    expect(await page.locator('.panel .gates').textContent()).toContain('sql-guard')
    await page.screenshot({ path: `${SHOTS}why-denied-${width}.png` })
    expect(await findFlaws(page)).toEqual([])
    expect(problems).toEqual([])
    await page.close()
  })

it('a folded row says that something in it failed', async () => {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } })
  await page.goto(`${viewer.url}/run/${TRACE}`)
  const step = page.locator(`#row-${id(2)}`)
  await step.waitFor()
  expect(await step.textContent()).not.toContain('failed inside')
  await step.locator('.fold').click()
  expect(await step.textContent()).toContain('failed inside')
  await page.close()
})
