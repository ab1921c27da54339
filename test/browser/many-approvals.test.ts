import { createApprovals, memoryStore } from 'hookspan/approval'
import type { ApprovalRequest } from 'hookspan/gates'
import { startViewer } from 'hookspan/viewer'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { launch, openPage } from './support.ts'

let browser: Browser
beforeAll(async () => {
  browser = await launch()
})
afterAll(() => browser.close())

const asked = (n: number): ApprovalRequest => ({
  id: `request-${n}`,
  operationId: `op-${n}`,
  rootOperationId: `op-${n}`,
  agentName: 'clerk',
  toolCallId: `call-${n}`,
  callKey: `call-${n}`,
  gateId: 'human',
  point: 'beforeToolCall',
  identifier: 'local',
  apiName: `delete_${n}`,
  args: { n },
  argsDigest: 'digest',
  requestedAt: Date.now() - 60_000 + n,
  allow: ['approve', 'reject'],
})

it('of hundreds of requests twenty are shown at a time, and that there are more is said', async () => {
  const store = memoryStore()
  for (let n = 1; n <= 501; n++) await store.add(asked(n))
  const approvals = createApprovals({ store })
  const viewer = await startViewer({ db: ':memory:', port: 0, approvals })
  onTestFinished(() => viewer.close())
  const { page, problems } = await openPage(browser, viewer.link)
  await page.waitForSelector('.top .ask')
  expect(await page.locator('.top .asked').textContent()).toBe('500+ waiting for you')
  expect(await page.title()).toBe('(500+) hookspan')
  await page.click('.top .ask')
  await page.locator('.request').first().waitFor()
  expect(await page.locator('.request').count()).toBe(20)
  // What is answered elsewhere before it was shown never is.
  await approvals.respond('request-21', { decision: 'reject', argsDigest: 'digest' })
  await page.getByRole('button', { name: 'Show 20 of 480 more requests' }).waitFor()
  await page.getByRole('button', { name: 'Show 20 of 480 more requests' }).click()
  await expect.poll(() => page.locator('.request').count()).toBe(40)
  await expect.poll(() => page.locator('.request h3').nth(39).textContent()).toBe('delete_41')
  expect(problems).toEqual([])
  await page.close()
})

it('on the narrowest page who waits is told within the bar, also while the viewer is away', async () => {
  const store = memoryStore()
  for (let n = 1; n <= 501; n++) await store.add(asked(n))
  const viewer = await startViewer({ db: ':memory:', port: 0, approvals: createApprovals({ store }) })
  onTestFinished(() => viewer.close())
  const { page } = await openPage(browser, viewer.link, [320, 640])
  onTestFinished(() => page.close())
  const outside = () =>
    page.locator('.top > *, .top .ask').evaluateAll((parts) =>
      parts
        .map((part) => ({ part, box: part.getBoundingClientRect() }))
        .filter(({ box }) => box.right > innerWidth || (box.height > 0 && box.bottom > 38))
        .map(({ part }) => part.outerHTML),
    )
  await page.waitForSelector('.top .ask')
  expect(await outside()).toEqual([])
  expect(await page.getByRole('link', { name: 'hookspan' }).count()).toBe(1)
  await viewer.close()
  await page.getByText('Viewer not reachable').waitFor()
  expect(await outside()).toEqual([])
})
