/** The list over many runs: sorting, sums, a time range by dragging, completion, and coming back to where it was left. */
import { startViewer, type Viewer } from 'hookspan/viewer'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { id, otlp, post, type TestSpan } from '../viewer/support.ts'
import { findFlaws, launch, SHOTS, watch } from './support.ts'

const RUNS = 60
const trace = (index: number) => (index + 1).toString(16).padStart(32, 'c')
let browser: Browser
let viewer: Viewer

/** Each lasts 50 ms longer than the one before; every fifth fails. */
function run(index: number): TestSpan[] {
  const agent = index % 2 === 0 ? 'support' : 'billing'
  const at = { traceId: trace(index), start: -index * 60_000 }
  return [
    {
      ...at,
      spanId: id(index * 2 + 1),
      name: `invoke_agent ${agent}`,
      end: at.start + (index + 1) * 50,
      ...(index % 5 === 4 && { error: 'it broke' }),
      attributes: { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': agent },
    },
    {
      ...at,
      spanId: id(index * 2 + 2),
      parentSpanId: id(index * 2 + 1),
      name: 'chat m',
      end: at.start + 20,
      attributes: {
        'gen_ai.operation.name': 'chat',
        'gen_ai.request.model': 'gpt-4o',
        'gen_ai.usage.input_tokens': 1_000 + index,
        'gen_ai.usage.output_tokens': 20,
        'hookspan.cost_usd': 0.01,
        'gen_ai.input.messages': JSON.stringify([
          { role: 'user', parts: [{ type: 'text', content: `Where is parcel ${index}?` }] },
        ]),
        'gen_ai.output.messages': JSON.stringify([
          { role: 'assistant', parts: [{ type: 'text', content: `At the depot of row ${index}.` }] },
        ]),
      },
    },
  ]
}

beforeAll(async () => {
  viewer = await startViewer({ db: ':memory:', port: 0 })
  browser = await launch()
  await post(viewer, otlp(Array.from({ length: RUNS }, (_item, index) => run(index)).flat()))
})
afterAll(async () => {
  await browser?.close()
  await viewer?.close()
})

async function open(
  query = '',
  size = { width: 1280, height: 800 },
): Promise<{ page: Page; problems: string[] }> {
  const page = await browser.newPage({ viewport: size })
  const problems = watch(page)
  await page.goto(`${viewer.url}/${query}`)
  await page.locator('.runs tbody tr.run').first().waitFor()
  return { page, problems }
}
const firstPreview = (page: Page) => page.locator('.runs tr.run .preview').first().innerText()

describe('the list of many runs', () => {
  it('shows what all of them come to, and shows the answer of each', async () => {
    const { page, problems } = await open()
    const sums = await page.locator('.sums').innerText()
    expect(sums).toContain('20 %')
    expect(sums).toContain(`12 of ${RUNS}`)
    expect(await firstPreview(page)).toContain('At the depot of row 0.')
    expect(await findFlaws(page)).toEqual([])
    await page.screenshot({ path: `${SHOTS}list.png` })
    expect(problems).toEqual([])
    await page.close()
  })

  it('sorts by a column, the greatest first, and keeps that in the address', async () => {
    const { page } = await open()
    await page.getByRole('button', { name: 'Duration' }).click()
    await expect.poll(() => firstPreview(page)).toContain(`parcel ${RUNS - 1}`)
    expect(page.url()).toContain('sort=-duration')
    expect(await page.locator('th[aria-sort="descending"]').innerText()).toContain('Duration')
    await page.getByRole('button', { name: 'Duration' }).click()
    await expect.poll(() => firstPreview(page)).toContain('parcel 0')
    await page.reload()
    await expect.poll(() => page.locator('th[aria-sort="ascending"]').innerText()).toContain('Duration')
    await page.close()
  })

  it('leads from each of their sums to the runs that it counts', async () => {
    const { page } = await open('?q=agent:billing')
    const total = RUNS / 2
    const sum = (name: string) =>
      page.locator('.sums div', { has: page.getByText(name, { exact: true }) }).first()
    for (const [name, link, count] of [
      ['Failed', '20 %', total / 5],
      ['Failed', String(total), total],
      ['p50', '1.50 s', total / 2 + 1],
      ['p95', '2.90 s', 2],
      ['Tokens', '31.5k', total],
      ['Cost', '$0.300', total],
    ] as const) {
      await sum(name).getByRole('link', { name: link, exact: true }).click()
      await expect.poll(() => page.locator('.count').innerText(), { message: name }).toBe(`${count} runs`)
      expect(await page.getByRole('combobox', { name: 'Search runs' }).inputValue()).toMatch(
        /^agent:billing /,
      )
      await page.goBack()
      await sum('Failed')
        .getByRole('link', { name: String(total), exact: true })
        .waitFor()
    }
    // None was mocked, so there is nothing to lead to.
    expect(await sum('Mocked').getByRole('link').count()).toBe(0)
    await page.close()
  })

  it('says of an address that is none that it is none', async () => {
    const page = await browser.newPage()
    await page.goto(`${viewer.url}/rnu/${trace(0)}`)
    await page.getByRole('heading', { name: 'There is no such page' }).waitFor()
    expect(await page.locator('main').innerText()).toContain(`/rnu/${trace(0)}`)
    await page.getByRole('link', { name: 'All runs' }).click()
    await page.locator('.runs tr.run').first().waitFor()
    await page.close()
  })

  it('opens a run by a click anywhere in its row, but none on its box, and keeps words that are marked', async () => {
    const { page } = await open()
    const row = page.locator('tr.run').nth(3)
    const path = await row.locator('.c-run a').getAttribute('href')
    await row.locator('.c-mark').click({ position: { x: 3, y: 3 } })
    await page.evaluate(() => getSelection()?.selectAllChildren(document.querySelector('tr.run .c-when')!))
    await row.locator('.c-num').first().dispatchEvent('click')
    expect(new URL(page.url()).pathname).toBe('/')
    await page.evaluate(() => getSelection()?.removeAllRanges())
    const inNewTab = page.context().waitForEvent('page')
    await row
      .locator('.c-num')
      .first()
      .click({ modifiers: ['ControlOrMeta'] })
    expect(new URL((await inNewTab).url()).pathname).toBe(path)
    expect(new URL(page.url()).pathname).toBe('/')
    await row.locator('.c-num').first().click()
    await expect.poll(() => new URL(page.url()).pathname).toBe(path)
    await page.context().close()
  })

  it('is one step back from a run, however many were leafed through', async () => {
    const { page } = await open('?q=agent:billing')
    await page.locator('.runs tr.run a').first().click()
    const title = () => page.locator('.run-title .input').innerText()
    await expect.poll(title).toContain('parcel 1?')
    await page.keyboard.press(']')
    await expect.poll(title).toContain('parcel 3?')
    await page.keyboard.press(']')
    await expect.poll(title).toContain('parcel 5?')
    await page.goBack()
    await page.locator('.runs tr.run').first().waitFor()
    expect(page.url()).toContain('q=agent')
    await page.close()
  })

  it('narrows to the time that one drags over', async () => {
    const { page } = await open()
    const box = (await page.locator('.starts svg').boundingBox())!
    await page.mouse.move(box.x + box.width * 0.6, box.y + 20)
    await page.mouse.down()
    await page.mouse.move(box.x + box.width * 0.9, box.y + 20, { steps: 4 })
    await page.mouse.up()
    await expect.poll(() => page.locator('.count').innerText()).toMatch(/^\d+ runs/)
    await expect
      .poll(async () => Number.parseInt(await page.locator('.count').innerText(), 10))
      .toBeLessThan(30)
    expect(decodeURIComponent(page.url())).toMatch(/after:20.+before:20/)
    await page.close()
  })

  it('names a key that there is none of, and offers those that there are', async () => {
    const { page } = await open()
    const field = page.getByRole('combobox', { name: 'Search runs' })
    await field.fill('agnt:support')
    await page.getByText('did you mean agent:support?').waitFor()
    const offered = () =>
      page
        .locator('.query-offers option')
        .evaluateAll((all) => all.map((one) => (one as HTMLOptionElement).value))
    await field.fill('cost>0 age')
    await expect.poll(offered).toEqual(['cost>0 agent:'])
    await field.fill('-agent:')
    await expect.poll(async () => (await offered()).sort()).toEqual(['-agent:billing', '-agent:support'])
    await page.close()
  })

  it('has 24 compact runs in 800 px', async () => {
    const { page } = await open()
    await page.getByRole('button', { name: 'Compact' }).click()
    await page.locator('.runs.compact').waitFor()
    const whole = await page
      .locator('.runs tr.run')
      .evaluateAll((rows) => rows.filter((row) => row.getBoundingClientRect().bottom <= innerHeight).length)
    expect(whole).toBeGreaterThanOrEqual(24)
    expect(await findFlaws(page)).toEqual([])
    await page.screenshot({ path: `${SHOTS}list-compact.png` })
    await page.close()
  })

  it('is where it was left when one comes back to it', async () => {
    const { page } = await open('?sort=-duration')
    const frame = page.locator('.table-frame')
    for (let row = 0; row < 40; row++) await page.keyboard.press('j')
    const selected = () => page.locator('.runs tr.selected .preview').innerText()
    const [text, scrollTop] = [await selected(), await frame.evaluate((element) => element.scrollTop)]
    expect(scrollTop).toBeGreaterThan(0)
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/run\//)
    await page.getByRole('heading', { level: 1 }).first().waitFor()
    await page.keyboard.press('u')
    await page.locator('.runs tr.selected').waitFor()
    expect(await selected()).toBe(text)
    await expect.poll(() => frame.evaluate((element) => element.scrollTop)).toBe(scrollTop)
    await page.close()
  })

  it.each([390, 800, 1920])('fits a window of %i px', async (width) => {
    const { page } = await open('', { width, height: 900 })
    expect(await findFlaws(page)).toEqual([])
    await page.screenshot({ path: `${SHOTS}list-${width}.png` })
    await page.close()
  })

  it('asks for the sums again only when it has the last ones, however often runs change', async () => {
    const page = await browser.newPage()
    let asked = 0
    const answer: (() => void)[] = []
    await page.route('**/api/numbers*', async (route) => {
      asked++
      await new Promise<void>((resolve) => answer.push(resolve))
      await route.continue()
    })
    await page.goto(`${viewer.url}/?q=agent:newcomer`)
    await page.getByText('No run matches').waitFor()
    const comes = async (index: number) => {
      const [agent] = run(RUNS + index)
      await post(
        viewer,
        otlp([{ ...agent!, attributes: { ...agent!.attributes, 'gen_ai.agent.name': 'newcomer' } }]),
      )
      await page.locator('.runs tr.run').nth(index).waitFor()
    }
    for (let index = 0; index < 6; index++) await comes(index)
    await expect.poll(() => asked).toBe(1)
    answer[0]!()
    // What came meanwhile is asked for once.
    await expect.poll(() => asked).toBe(2)
    answer[1]!()
    await expect.poll(() => page.locator('.sums').innerText()).toContain('of 6')
    await page.close()
  })

  it('says on a phone, which has no heads of columns, what a number counts, and leaves out what is not known', async () => {
    const [agent, call] = run(RUNS + 20)
    const others = { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': 'quiet' }
    await post(viewer, otlp([{ ...agent!, attributes: others }]))
    const { page } = await open('?q=agent:quiet', { width: 390, height: 844 })
    const row = page.locator('.runs tr.run')
    const unit = () =>
      row.locator('td[data-unit]').evaluate((cell) => getComputedStyle(cell, '::after').content)
    expect(await row.innerText()).not.toContain('–')
    await post(viewer, otlp([call!]))
    await expect.poll(() => row.innerText()).toMatch(/1,100[\s\S]*\$0\.010/)
    expect(await unit()).toBe('" tokens"')
    await page.close()
  })
})
