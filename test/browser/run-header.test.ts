/** Every number above a run leads to what it counts. */
import { startViewer, type Viewer } from 'hookspan/viewer'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { SAMPLE_TRACE, sampleRun } from '../viewer/sample-run.ts'
import { id, otlp, post, type TestSpan } from '../viewer/support.ts'
import { findFlaws, launch, SHOTS, watch } from './support.ts'

let browser: Browser
let viewer: Viewer
beforeAll(async () => {
  viewer = await startViewer({ db: ':memory:', port: 0 })
  browser = await launch()
  await post(viewer, sampleRun())
})
afterAll(async () => {
  await browser?.close()
  await viewer?.close()
})

it.each([
  ['Tool calls', 'is:tool', 'search_bookings'],
  ['Model calls', 'is:model', 'gpt-4o'],
  ['Errors', 'is:error', 'fetch_page'],
])('%s leads to as many rows', async (name, find, text) => {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } })
  const problems = watch(page)
  await page.goto(`${viewer.url}/run/${SAMPLE_TRACE}`)
  const fact = page
    .locator('.fact', { has: page.getByText(name, { exact: true }) })
    .locator('dd > a')
    .first()
  const count = await fact.innerText()
  await fact.click()
  await expect.poll(() => page.locator('.found').innerText()).toMatch(new RegExp(`^${count} of \\d+$`))
  expect(await page.getByRole('searchbox', { name: 'Search in this run' }).inputValue()).toBe(find)
  const bright = page.locator('.timeline-rows .row:not(.dim)')
  await expect.poll(() => bright.count()).toBe(Number(count))
  expect(await bright.first().innerText()).toContain(text)
  expect(await findFlaws(page)).toEqual([])
  await page.screenshot({ path: `${SHOTS}header-${find.slice(3)}.png` })
  expect(problems).toEqual([])
  await page.close()
})

it('the mocked ones, the tokens and the duration lead on, too', async () => {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } })
  await page.goto(`${viewer.url}/run/${SAMPLE_TRACE}`)
  await page.getByRole('link', { name: '1 mocked' }).click()
  await expect.poll(() => page.locator('.found').innerText()).toMatch(/^1 of \d+$/)
  const factOf = (name: string) =>
    page
      .locator('.fact', { has: page.getByText(name, { exact: true }) })
      .locator('dd > a')
      .first()
  await factOf('Cost').click()
  await expect.poll(() => page.locator('.found').innerText()).toMatch(/^6 of \d+$/)
  expect(await page.getByRole('tab', { selected: true }).innerText()).toContain('Tree')
  await factOf('Duration').click()
  await expect.poll(() => page.getByRole('tab', { selected: true }).innerText()).toContain('Timeline')
  await expect.poll(() => page.locator('.found').innerText()).toMatch(/^\d+ of \d+/)
  await page.close()
})

it('a long title takes the room of what was asked, leaves the buttons in their line, and says where it was cut', async () => {
  const name =
    'replay__of_a_recorded_run_with_a_name_that_nobody_would_give_by_hand_and_every_script_does'.repeat(2)
  const root: TestSpan = { traceId: id(77).padStart(32, '7'), spanId: id(1), name, start: 0, end: 9 }
  await post(viewer, otlp([root]))
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } })
  await page.goto(`${viewer.url}/run/${root.traceId}`)
  const tops = (selector: string) =>
    page.locator(selector).evaluateAll((all) => all.map((one) => Math.round(one.getBoundingClientRect().top)))
  await page.locator('.timeline-rows .row').first().waitFor()
  expect(new Set(await tops('.run-title .actions > *')).size).toBe(1)
  for (const cut of ['.run-title h1', '.timeline-rows .c-name .what']) {
    const inSight = await page
      .locator(cut)
      .first()
      .evaluate((element) => {
        const whole = element.getBoundingClientRect()
        const frame = element.parentElement!.getBoundingClientRect()
        return whole.right <= frame.right + 0.5 && element.scrollWidth > element.clientWidth
      })
    expect(inSight, cut).toBe(true)
  }
  await page.close()
})
