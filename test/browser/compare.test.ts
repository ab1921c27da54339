/** Runs compared: two side by side, and several by steps. */
import { startViewer, type Viewer } from 'hookspan/viewer'
import type { Browser } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { SAMPLE_TRACE, sampleRun } from '../viewer/sample-run.ts'
import { id, otlp, post, type TestSpan } from '../viewer/support.ts'
import { axe, findFlaws, launch, openPage, SHOTS } from './support.ts'

const OTHER = 'b'.repeat(32)
const LONG_ANSWER = 'c'.repeat(32)
const runId = (index: number) => `5e${index}`.padEnd(32, '1')

const withAttribute = (spans: TestSpan[], spanId: string, key: string, change: (text: string) => string) =>
  spans.map((span) =>
    span.spanId === spanId
      ? { ...span, attributes: { ...span.attributes, [key]: change(String(span.attributes![key])) } }
      : span,
  )

/** The second reply is another one, and the prompts after it have it, too. */
const otherReply = (spans: TestSpan[]) =>
  withAttribute(
    withAttribute(spans, id(6), 'gen_ai.output.messages', (text) =>
      text.replace('I found it.', 'There it is.'),
    ),
    id(22),
    'gen_ai.output.messages',
    (text) => text.replace('three to five days', 'two days'),
  )

let browser: Browser
let viewer: Viewer
beforeAll(async () => {
  viewer = await startViewer({ db: ':memory:', port: 0 })
  browser = await launch()
  await post(viewer, sampleRun())
  await post(viewer, sampleRun({ traceId: OTHER, atMs: -900_000, edit: otherReply }))
  for (let index = 0; index < 5; index++) {
    const edit = (spans: TestSpan[]) =>
      index % 2 === 0 ? spans : spans.filter((span) => span.spanId !== id(7))
    await post(viewer, sampleRun({ traceId: runId(index), atMs: -800_000 + index, edit }))
  }
})
afterEach(async () => {
  for (const context of browser.contexts()) await context.close()
})
afterAll(async () => {
  await browser.close()
  await viewer.close()
})

const open = (path: string, size?: [number, number]) => openPage(browser, viewer.url + path, size)

it('says where two runs part, by what, and what both said at the end', async () => {
  const { page, problems } = await open(`/compare/${SAMPLE_TRACE}/${OTHER}`)
  expect(await page.locator('.parting').innerText()).toBe('Diverges here: reply')
  expect(await page.locator('.pair.diverges .reply').allInnerTexts()).toEqual([
    'I found it. Let me have the refund rules checked. → researcher → drop_table',
    'There it is. Let me have the refund rules checked. → researcher → drop_table',
  ])
  expect(await page.locator('.answer-pair > section').allInnerTexts()).toEqual([
    expect.stringContaining('three to five days'),
    expect.stringContaining('two days'),
  ])
  expect(await page.locator('.run-title .input').innerText()).toMatch(
    /^2 differences in 15 calls, the first at call \d+: reply$/,
  )
  await page.locator('.run-title .input button').click()
  await page.waitForSelector('.pair.diverges details[open] .line-added:has-text("There it is.")')
  expect(await findFlaws(page)).toEqual([])
  await page.screenshot({ path: `${SHOTS}compare-diverges.png` })
  expect(problems).toEqual([])
})

it('few words that differ count as noise, when one says so', async () => {
  const { page } = await open(`/compare/${SAMPLE_TRACE}/${OTHER}`)
  const noise = page.getByRole('combobox', { name: 'Noise' })
  const percent = Number(/reply (\d+)%/.exec(await page.locator('.pair.diverges .kinds').innerText())![1])
  expect(percent).toBeGreaterThan(5)
  await noise.selectOption('30')
  await expect.poll(() => page.locator('.parting').count()).toBe(0)
  await page.keyboard.press('d')
  await page.getByText('Both runs did and said the same, but for noise.').waitFor()
  expect(new URL(page.url()).searchParams.get('noise')).toBe('30')
  await page.reload()
  await page.waitForSelector('.pair')
  expect(await page.locator('.parting').count()).toBe(0)
})

it('is gone through by keys', async () => {
  const { page } = await open(`/compare/${SAMPLE_TRACE}/${OTHER}`)
  const at = () => page.locator('.pair.at .unit').first().innerText()
  await page.keyboard.press('f')
  await page.waitForSelector('.pair.diverges.at details[open]')
  await page.keyboard.press('n')
  await expect.poll(at).toContain('Your flight to Lisbon')
  await page.keyboard.press('Enter')
  await page.waitForSelector('.pair.at details[open] .diff')
  await page.keyboard.press('N')
  await page.waitForSelector('.pair.diverges.at')
  await page.keyboard.press('Escape')
  await expect.poll(() => page.locator('.pair details[open]').count()).toBe(0)
  expect(new URL(page.url()).pathname).toMatch(/^\/compare/)
  await page.keyboard.press('w')
  await expect.poll(() => new URL(page.url()).pathname).toBe(`/compare/${OTHER}/${SAMPLE_TRACE}`)
  await page.keyboard.press('u')
  await page.waitForSelector('table.runs')
})

it('several runs are picked in the list, and told by steps with where they part', async () => {
  const { page, problems } = await open('/?q=trace:5e')
  await page.waitForFunction(() => document.querySelectorAll('tr.run').length === 5)
  for (const box of await page.locator('tr.run input').all()) await box.check()
  await page.keyboard.press('c')
  await page.waitForSelector('.steps .act')
  expect(await page.locator('.run-title .input').innerText()).toBe(
    'They part at step 2: 3 drop_table, 2 researcher',
  )
  const row = (index: number) =>
    page
      .locator('.steps tbody tr')
      .nth(index)
      .locator('td')
      .evaluateAll((cells) =>
        cells.map((cell) => [(cell as HTMLTableCellElement).colSpan, cell.querySelector('b')?.textContent]),
      )
  expect(await row(0)).toEqual([[5, 'search_bookings']])
  expect(await row(1)).toEqual([
    [3, 'drop_table'],
    [2, 'researcher'],
  ])
  expect(await page.locator('.steps tbody tr.parting-row th').innerText()).toBe('2')
  await page.screenshot({ path: `${SHOTS}steps.png` })
  expect(await findFlaws(page)).toEqual([])
  await page.keyboard.press('m')
  await expect.poll(() => new URL(page.url()).searchParams.get('exactly')).toBe('1')
  await page.getByRole('link', { name: 'with the first' }).first().click()
  await page.waitForSelector('.compare-rows .pair')
  expect(problems).toEqual([])
})

it('long answers are scrolled by keys, on a phone, too', async () => {
  const long = (spans: TestSpan[]) =>
    withAttribute(spans, id(22), 'gen_ai.output.messages', (text) =>
      text.replace('three to five days', 'three, or four, or five days, '.repeat(60)),
    )
  await post(viewer, sampleRun({ traceId: LONG_ANSWER, atMs: -700_000, edit: long }))
  const { page } = await open(`/compare/${LONG_ANSWER}/${OTHER}`, [390, 844])
  const answers = page.getByRole('region', { name: 'Final answers' })
  await answers.focus()
  await page.keyboard.press('End')
  await expect.poll(() => answers.evaluate((element) => element.scrollTop)).toBeGreaterThan(0)
  expect(await axe(page)).toEqual([])
})

it('short answers stand side by side below their heading, and a step that failed in some runs says in how many', async () => {
  const traceOf = (index: number) => `5f${index}`.padEnd(32, '2')
  for (const index of [0, 1, 2])
    await post(
      viewer,
      otlp([
        {
          traceId: traceOf(index),
          spanId: id(1),
          name: 'invoke_agent a',
          end: 100,
          attributes: { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': 'a' },
        },
        {
          traceId: traceOf(index),
          spanId: id(3),
          parentSpanId: id(1),
          name: 'chat m',
          start: 60,
          end: 90,
          attributes: {
            'gen_ai.operation.name': 'chat',
            'gen_ai.output.messages': JSON.stringify([
              { role: 'assistant', parts: [{ type: 'text', content: index === 0 ? 'Yes.' : 'No.' }] },
            ]),
          },
        },
        {
          traceId: traceOf(index),
          spanId: id(2),
          parentSpanId: id(1),
          name: 'execute_tool pay',
          end: 50,
          attributes: { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'pay' },
          ...(index === 0 && { error: 'no funds' }),
        },
      ]),
    )
  const { page } = await open(`/compare/${traceOf(0)}/${traceOf(1)}`)
  const heading = (await page.locator('.final-answers summary').boundingBox())!
  const answers = await page.locator('.answer-pair > section').all()
  const [a, b] = await Promise.all(answers.map(async (one) => (await one.boundingBox())!))
  expect(a!.y).toBeGreaterThanOrEqual(heading.y + heading.height)
  expect(a!.width).toBeGreaterThan(500)
  expect(b!.width).toBeCloseTo(a!.width, 0)
  await page.goto(`${viewer.url}/steps/${[0, 1, 2].map(traceOf).join()}`)
  const cell = page.locator('.steps .act', { hasText: 'pay' })
  await expect.poll(() => cell.innerText()).toContain('1 of 3 failed')
  expect(await cell.getAttribute('class')).not.toMatch(/\bbad\b/)
})
