/** The page over runs of a Jaeger: where they are, what it cannot be asked, and nothing that would change them. */
import { startViewer } from 'hookspan/viewer'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { asJaeger, send, startQueryStub } from '../support/query-stub.ts'
import { SAMPLE_TRACE, sampleRun } from '../viewer/sample-run.ts'
import { axe, launch, openPage } from './support.ts'

let browser: Browser
beforeAll(async () => {
  browser = await launch()
})
afterAll(() => browser?.close())

it('shows list and run, says what it is of, and offers nothing that would change it', async () => {
  const jaeger = await startQueryStub(asJaeger('support', { [SAMPLE_TRACE]: sampleRun() }))
  const viewer = await startViewer({ from: `jaeger=${jaeger.url}`, port: 0 })
  onTestFinished(() => viewer.close())
  // With the token: as where reading needs it.
  const { page, problems } = await openPage(browser, viewer.link)
  await page.waitForSelector('.table-frame tr[data-run], .table-frame tbody tr')
  await expect.poll(() => page.locator('nav.top').innerText()).toContain(`Jaeger at ${jaeger.url}, read only`)
  expect(await page.locator('.notice').innerText()).toContain('Jaeger searches within a time')
  expect(await page.getByTitle(/import/i).count()).toBe(0)
  expect(await axe(page)).toEqual([])
  await page.keyboard.press('j')
  await page.keyboard.press('+')
  await expect.poll(() => page.locator('.notice.error').innerText()).toContain('changes nothing there')
  await page.goto(`${viewer.url}/run/${SAMPLE_TRACE}`)
  await expect.poll(() => page.locator('main').innerText()).toContain('search_bookings')
  expect(await page.getByTitle('Remove this run').count()).toBe(0)
  expect(problems).toEqual([])

  jaeger.answer = (_, response) => send(response, 401, 'no')
  await page.goto(`${viewer.url}/?q=service%3Aother`)
  await expect.poll(() => page.locator('.notice.error').innerText()).toContain('wants to know who asks (401)')
  await page.close()
})
