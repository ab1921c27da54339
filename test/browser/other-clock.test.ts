import { createApprovals, memoryStore } from 'hookspan/approval'
import { startViewer } from 'hookspan/viewer'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { id, otlp, post } from '../viewer/support.ts'
import { launch } from './support.ts'

const MINUTE_MS = 60_000

let browser: Browser
beforeAll(async () => {
  browser = await launch()
})
afterAll(() => browser.close())

it.each([
  ['an hour ahead', 60 * MINUTE_MS],
  ['an hour behind', -60 * MINUTE_MS],
])('says how long ago something was where the clock of the browser is %s', async (_, aheadMs) => {
  const store = memoryStore()
  await store.add({
    id: 'request-1',
    operationId: 'op-1',
    rootOperationId: 'op-1',
    agentName: 'clerk',
    toolCallId: 'call-1',
    callKey: 'call-1',
    gateId: 'human',
    point: 'beforeToolCall',
    identifier: 'local',
    apiName: 'delete_order',
    args: {},
    argsDigest: 'digest',
    requestedAt: Date.now() - 10.5 * MINUTE_MS,
    expiresAt: Date.now() + 20.5 * MINUTE_MS,
    allow: ['approve', 'reject'],
  })
  const viewer = await startViewer({ db: ':memory:', port: 0, approvals: createApprovals({ store }) })
  onTestFinished(() => viewer.close())
  await post(viewer, otlp([{ spanId: id(1), name: 'invoke_agent clerk', start: -5 * MINUTE_MS }]))
  const page = await browser.newPage()
  await page.addInitScript((ms) => {
    const real = Date.now
    Date.now = () => real() + ms
  }, aheadMs)
  await page.goto(viewer.link)
  await expect.poll(() => page.locator('tr.run').textContent()).toMatch(/[5-9] min ago/)
  await page.click('.top .ask')
  await expect
    .poll(() => page.locator('.request .hint').first().textContent())
    .toMatch(/asked 1\d m .* ago, refused in (20|1\d) m /)
  await page.close()
})
