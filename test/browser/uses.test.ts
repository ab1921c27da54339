/** Which tool fails how often over these runs: from the list, by at most three keys or clicks. */
import { startViewer, type Viewer } from 'hookspan/viewer'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sampleRun } from '../viewer/sample-run.ts'
import { id, otlp, post, type TestSpan } from '../viewer/support.ts'
import { findFlaws, launch, SHOTS, watch } from './support.ts'

const RUNS = 100
const trace = (index: number) => (index + 1).toString(16).padStart(32, 'd')
let browser: Browser
let viewer: Viewer

/** Each searches twice and pays once; the first search of every fourth fails, and every tenth may not pay. */
function run(index: number): TestSpan[] {
  const at = { traceId: trace(index), start: -index * 60_000 }
  const call = (spanId: number, tool: string, ms: number, more: Partial<TestSpan> = {}): TestSpan => ({
    ...at,
    spanId: id(spanId),
    parentSpanId: id(1),
    name: `execute_tool ${tool}`,
    end: at.start + ms,
    ...more,
    attributes: { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': tool, ...more.attributes },
  })
  const fails = index % 4 === 0
  const denied = index % 10 === 0
  return [
    {
      ...at,
      spanId: id(1),
      name: 'invoke_agent support',
      end: at.start + 4_000,
      attributes: { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': 'support' },
    },
    call(2, 'search', 100 + index, fails ? { error: `no order W-${index} at shop.example:443` } : {}),
    call(3, 'search', 200 + index),
    call(4, 'pay', 900, {
      ...(denied && { error: 'not at night' }),
      attributes: { 'hookspan.tool.outcome': denied ? 'denied' : 'completed' },
    }),
  ]
}

beforeAll(async () => {
  viewer = await startViewer({ db: ':memory:', port: 0 })
  browser = await launch()
  await post(viewer, otlp(Array.from({ length: RUNS }, (_item, index) => run(index)).flat()))
  await post(viewer, sampleRun())
})
afterAll(async () => {
  await browser?.close()
  await viewer?.close()
})

async function open(path: string, size = { width: 1280, height: 800 }) {
  const page = await browser.newPage({ viewport: size })
  const problems = watch(page)
  await page.goto(`${viewer.url}${path}`)
  await page.locator('table tbody tr').first().waitFor()
  return { page, problems }
}
const rowOf = (page: Page, name: string) =>
  page.locator('.uses tbody tr', { has: page.getByRole('rowheader', { name, exact: true }) })
const cellsOf = async (page: Page, name: string) =>
  (await rowOf(page, name).locator('td').allInnerTexts()).map((text) => text.replaceAll(/\s+/g, ' ').trim())

describe('sums by tool', () => {
  it('are one key away from the list, and their numbers lead to the runs', async () => {
    const { page, problems } = await open('/?q=agent:support')
    await page.keyboard.press('b')
    await rowOf(page, 'search').waitFor()
    expect((await cellsOf(page, 'search')).slice(0, 5)).toEqual(['100', '200', '25 13 %', '0', '0'])
    expect((await cellsOf(page, 'search')).at(-1)).toBe('25× no order # at shop.example:#')
    expect((await cellsOf(page, 'pay')).slice(0, 4)).toEqual(['100', '100', '0', '10 10 %'])
    expect(page.url()).toContain('/by/tool?q=agent')
    await rowOf(page, 'search').getByRole('link', { name: '25 13 %' }).click()
    await expect.poll(() => page.locator('.count').innerText()).toBe('25 runs')
    expect(await page.getByRole('combobox', { name: 'Search runs' }).inputValue()).toBe(
      'agent:support tool.failed:search',
    )
    await page.goBack()
    await rowOf(page, 'search')
      .getByRole('link', { name: /no order/ })
      .click()
    await expect.poll(() => page.locator('.count').innerText()).toBe('25 runs')
    expect(problems).toEqual([])
    await page.close()
  })

  it('are of the search, and sorted by any column', async () => {
    const { page } = await open('/by/tool')
    const names = () => page.locator('.uses tbody th').allInnerTexts()
    await page.getByRole('button', { name: 'Denied' }).click()
    await expect.poll(async () => (await names())[0]).toBe('pay')
    await page.getByRole('button', { name: 'Tool', exact: true }).click()
    await expect.poll(async () => (await names())[0]).toBe('cancel_booking')
    await page.getByRole('combobox', { name: 'Search runs' }).fill('tool.denied:pay')
    await expect.poll(names).toEqual(['pay', 'search'])
    await page.close()
  })

  it('are by model, agent, gate and person, too', async () => {
    const { page } = await open('/by/tool')
    for (const [key, heading, name] of [
      ['2', 'Models', 'gpt-4o'],
      ['3', 'Agents', 'researcher'],
      ['4', 'Gates', 'budget-service'],
      ['5', 'People', 'ines'],
    ] as const) {
      await page.keyboard.press(key)
      await rowOf(page, name).waitFor()
      expect(await page.getByRole('heading', { level: 1 }).innerText()).toBe(heading)
      expect(await findFlaws(page)).toEqual([])
      await page.screenshot({ path: `${SHOTS}uses-${heading.toLowerCase()}.png` })
    }
    await page.setViewportSize({ width: 390, height: 844 })
    await page.goto(`${viewer.url}/by/human`)
    await rowOf(page, 'ines').waitFor()
    const people = await page.locator('.chip[aria-current]').boundingBox()
    expect(people!.x + people!.width, 'what is shown is seen to be chosen').toBeLessThanOrEqual(390)
    await page.goto(`${viewer.url}/by/tool`)
    await rowOf(page, 'cancel_booking').waitFor()
    const failed = await page.getByRole('columnheader', { name: 'Failed' }).boundingBox()
    expect(failed!.x + failed!.width, 'how often it failed is in sight').toBeLessThanOrEqual(390)
    expect(await findFlaws(page)).toEqual([])
    await page.screenshot({ path: `${SHOTS}uses-phone.png` })
    await page.setViewportSize({ width: 1280, height: 800 })
    await page.keyboard.press('4')
    await rowOf(page, 'budget-service').waitFor()
    expect((await cellsOf(page, 'budget-service')).slice(0, 8)).toEqual([
      '1',
      '1',
      '0',
      '0',
      '0',
      '0',
      '1 100 %',
      '1 100 %',
    ])
    await page.keyboard.press('u')
    await page.locator('.runs tr.run').first().waitFor()
    await page.close()
  })
})
