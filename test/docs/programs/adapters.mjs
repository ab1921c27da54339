import assert from 'node:assert/strict'
import { HookDispatcher } from 'hookspan'
import { wrapTools } from 'hookspan/adapter'
import { toolPolicy } from 'hookspan/policies'

const dispatcher = new HookDispatcher()
dispatcher.use({ name: 'careful', gates: [toolPolicy({ deny: ['refund'] })] })
const search = ({ q }) => `3 ${q}`
const refund = () => assert.fail('the refused tool ran')
snippet('const tools')

assert.equal(await tools.search({ q: 'bags' }), '3 bags')
await assert.rejects(() => tools.refund({}), { code: 'CALL_DENIED' })
