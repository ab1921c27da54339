/** Two searches against each other: before and after a change. */
import { startViewer, type Viewer } from 'hookspan/viewer'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { id, otlp, post } from '../viewer/support.ts'
import { findFlaws, launch, SHOTS, watch } from './support.ts'

let browser: Browser
let viewer: Viewer
beforeAll(async () => {
  viewer = await startViewer({ db: ':memory:', port: 0 })
  browser = await launch()
  for (const [letter, version, every] of [
    ['a', '1.4', 10],
    ['b', '1.5', 2],
  ] as const) {
    const spans = Array.from({ length: 60 }, (_item, index) => ({
      traceId: `${letter}${index.toString(16).padStart(31, '0')}`,
      spanId: id(1),
      start: -index * 1000,
      end: -index * 1000 + 100 + index,
      ...(index % every === 0 && { error: 'it broke' }),
      attributes: { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': 'support' },
    }))
    await post(viewer, otlp(spans, { 'service.name': 'shop', 'service.version': version }))
  }
})
afterAll(async () => {
  await browser?.close()
  await viewer?.close()
})

it('is one key from the list, and says what differs and what is not shown', async () => {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } })
  const problems = watch(page)
  await page.goto(`${viewer.url}/?q=resource%3Aservice.version%3D1.4`)
  await page.locator('.runs tr.run').first().waitFor()
  await page.keyboard.press('v')
  await page.getByText('Both searches are the same').waitFor()
  await page.getByRole('combobox', { name: 'Search of B' }).fill('resource:service.version=1.5')
  const row = (name: string) =>
    page.locator('.sets tr', { has: page.getByRole('rowheader', { name, exact: true }) })
  await expect.poll(() => row('Failed').innerText()).toContain('more in B')
  expect((await row('Failed').innerText()).replaceAll(/\s+/g, ' ')).toMatch(
    /^Failed 10 % 50 % \+40\.0 points \+2\d\.\d points to \+5\d\.\d points more in B$/,
  )
  expect(await row('Duration, p50').innerText()).toContain('no difference shown')
  expect(await row('Duration, p95').innerText()).toContain('too few runs')
  expect(await findFlaws(page)).toEqual([])
  await page.screenshot({ path: `${SHOTS}sets.png` })
  await page.getByRole('button', { name: 'Swap' }).click()
  await expect.poll(() => row('Failed').innerText()).toContain('less in B')
  await page.reload()
  await expect.poll(() => row('Failed').innerText()).toContain('less in B')
  expect(problems).toEqual([])
  await page.close()
})

it('has all of a measure in sight on a phone', async () => {
  const page = await browser.newPage({ viewport: { width: 390, height: 844 } })
  const search = (version: string) => encodeURIComponent(`resource:service.version=${version}`)
  await page.goto(`${viewer.url}/sets?a=${search('1.4')}&b=${search('1.5')}`)
  const row = page.locator('.sets tr', { has: page.getByRole('rowheader', { name: 'Failed', exact: true }) })
  await expect.poll(() => row.innerText()).toContain('more in B')
  const frame = page.getByRole('region', { name: 'What differs' })
  expect(await frame.evaluate((pane) => pane.scrollWidth - pane.clientWidth)).toBe(0)
  const heights = await page.locator('.sets tr').evaluateAll((rows) => rows.map((one) => one.clientHeight))
  expect(Math.max(...heights)).toBeLessThan(80)
  expect(await findFlaws(page)).toEqual([])
  await page.screenshot({ path: `${SHOTS}sets-phone.png` })
  await page.close()
})
