/** What decided on a call, and what stood in for it, is told where the call is. */
import { startViewer } from 'hookspan/viewer'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { id, otlp, post, runSpan, type TestSpan, TRACE } from '../viewer/support.ts'
import { findFlaws, launch, openPage } from './support.ts'

let browser: Browser
beforeAll(async () => {
  browser = await launch()
})
afterAll(() => browser.close())

const call = (number: number, tool: string, attributes: TestSpan['attributes'], gates: object[] = []) => ({
  spanId: id(number),
  parentSpanId: id(1),
  name: `execute_tool ${tool}`,
  start: number,
  end: number + 1,
  attributes: {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': tool,
    'gen_ai.tool.call.id': `c${number}`,
    'gen_ai.tool.call.arguments': '{}',
    ...attributes,
  },
  events: gates.map((gate) => ({ name: 'hookspan.gate', at: number, attributes: gate as never })),
})
const asked = (number: number, action: string, more: TestSpan['attributes'] = {}): TestSpan => ({
  spanId: id(number),
  parentSpanId: id(2),
  name: 'human_intervention',
  start: 2,
  end: 5,
  attributes: {
    'hookspan.human.action': action,
    'hookspan.human.approver': 'ines',
    'hookspan.human.waited_ms': 18_500,
    ...more,
  },
})
const SPANS: TestSpan[] = [
  runSpan('done', { end: 90 }),
  call(2, 'pay', { 'hookspan.tool.outcome': 'completed' }, [
    {
      'hookspan.gate.id': 'night-watch',
      'hookspan.gate.decision': 'deny',
      'hookspan.gate.enforced': false,
    },
  ]),
  asked(3, 'rejectAndContinue'),
  asked(4, 'edit'),
  call(5, 'weather', {
    'hookspan.tool.outcome': 'mocked',
    'hookspan.mock.source': 'mock',
    'hookspan.mock.rule': 'sunny',
  }),
  {
    spanId: id(6),
    parentSpanId: id(1),
    name: 'chat gpt-4o',
    start: 10,
    end: 20,
    attributes: {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'openai',
      'gen_ai.request.model': 'gpt-4o',
      'gen_ai.usage.input_tokens': 5_000,
      'gen_ai.usage.output_tokens': 120,
    },
  },
]

it('answers, shadow gates, stand-ins and estimates are told in words, beside a panel, too', async () => {
  const viewer = await startViewer({ db: ':memory:', port: 0 })
  onTestFinished(() => viewer.close())
  await post(viewer, otlp(SPANS))
  const run = `${viewer.url}/run/${TRACE}`
  const { page, problems } = await openPage(browser, `${run}?span=${id(5)}`)
  onTestFinished(() => page.close())
  const facts = () => page.locator('.panel-facts').innerText()
  await expect.poll(facts).toMatch(/Mocked by\s*mock, rule sunny/)
  const rows = page.locator('.row.cat-human')
  expect(await rows.locator('.badge').allInnerTexts()).toEqual([
    'rejected by ines after 18.5 s',
    'changed and approved by ines after 18.5 s',
  ])
  // In a narrow column the answer gives way, and not what it is an answer to.
  for (const row of await rows.all()) {
    const name = (await row.locator('.c-name').boundingBox())!
    const badge = (await row.locator('.badge').boundingBox())!
    expect(badge.x + badge.width).toBeLessThanOrEqual(name.x + name.width)
    expect((await row.locator('.what').boundingBox())!.width).toBeGreaterThan(40)
  }
  await page.locator('.row', { hasText: 'gpt-4o' }).click()
  await expect.poll(facts).toMatch(/Cost\s*\$[\d.]+, estimated/)
  expect(await findFlaws(page)).toEqual([])
  await page.goto(`${run}?view=conversation`)
  const card = page.locator('.tool-card', { hasText: 'pay' })
  await card.waitFor()
  expect(await card.locator('.badge').allInnerTexts()).toContain('night-watch: shadow deny')
  expect(problems).toEqual([])
})
