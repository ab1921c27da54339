/** What runs cost: against a budget, and by conversation. */
import { startViewer, type Viewer } from 'hookspan/viewer'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { id, otlp, post, type TestSpan } from '../viewer/support.ts'
import { findFlaws, launch, openPage } from './support.ts'

let browser: Browser
let viewer: Viewer

/** One call, priced by whoever made it, or by its tokens: 1,000 at 2.50 and 100 at 10 dollars a million. */
function run(index: number, conversation: string, costUsd?: number): TestSpan[] {
  const at = { traceId: (index + 1).toString(16).padStart(32, 'e'), start: -index * 60_000 }
  const told: Record<string, number> = costUsd === undefined ? {} : { 'hookspan.cost_usd': costUsd }
  return [
    {
      ...at,
      spanId: id(1),
      name: 'invoke_agent support',
      end: at.start + 900,
      attributes: {
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.agent.name': 'support',
        'gen_ai.conversation.id': conversation,
      },
    },
    {
      ...at,
      spanId: id(2),
      parentSpanId: id(1),
      name: 'chat gpt-4o',
      end: at.start + 800,
      attributes: {
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': 'openai',
        'gen_ai.request.model': 'gpt-4o',
        'gen_ai.usage.input_tokens': 1_000,
        'gen_ai.usage.output_tokens': 100,
        ...told,
      },
    },
  ]
}

beforeAll(async () => {
  viewer = await startViewer({ db: ':memory:', port: 0 })
  browser = await launch()
  await post(viewer, otlp([run(0, 'mon', 0.3), run(1, 'tue', 0.5), run(2, 'mon', 0.2), run(3, 'wed')].flat()))
})
afterAll(async () => {
  await browser?.close()
  await viewer?.close()
})

it('what the runs of a search cost stands against a budget, which is asked for again until it is an amount', async () => {
  const { page, problems } = await openPage(browser, `${viewer.url}/`)
  const answers = ['ten', '$0.50']
  const asked: string[] = []
  page.on('dialog', (dialog) => {
    asked.push(dialog.message())
    void dialog.accept(answers.shift() ?? '')
  })
  const budget = page.locator('.budget')
  expect(await budget.innerText()).toBe('Set')
  await budget.click()
  await expect.poll(() => budget.innerText()).toBe('201 % of $0.500')
  expect(asked).toHaveLength(2)
  expect(asked[1]).toContain('"ten" is not an amount')
  expect(await budget.getAttribute('class')).toContain('over')

  // It is of the search, and of this browser.
  await page.getByRole('combobox', { name: 'Search runs' }).fill('cost<0.25')
  await expect.poll(() => budget.innerText()).toBe('41 % of $0.500')
  expect(await page.getByRole('meter').getAttribute('aria-label')).toBe('$0.204 of a budget of $0.500')
  expect(await budget.getAttribute('class')).not.toContain('over')
  expect(await findFlaws(page)).toEqual([])
  await page.reload()
  await expect.poll(() => budget.innerText()).toContain('of $0.500')
  await budget.click()
  await expect.poll(() => budget.innerText()).toBe('Set')
  expect(problems).toEqual([])
  await page.close()
})

it('a conversation says what its runs cost together, and what of it is estimated', async () => {
  const { page, problems } = await openPage(browser, `${viewer.url}/`)
  await page.locator('.runs tr.run').first().waitFor()
  await page.keyboard.press('g')
  await page.locator('tr.group').first().waitFor()
  const groups = await page.locator('tr.group').allInnerTexts()
  expect(groups.map((text) => text.replaceAll(/\s+/g, ' ').trim()).sort()).toEqual([
    'mon 2 runs, 2,200 tokens, $0.500',
    'tue 1 run, 1,100 tokens, $0.500',
    'wed 1 run, 1,100 tokens, ~$0.0035',
  ])
  expect(problems).toEqual([])
  await page.close()
})
