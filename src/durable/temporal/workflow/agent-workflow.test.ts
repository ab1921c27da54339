import { agentWorkflow } from 'hookspan/temporal/workflow'
import { expect, it } from 'vitest'

it.each([undefined, null, 'refunds', { name: 'refunds' }])(
  'refuses %j in the place of the SDK, and says what it wants',
  (sdk) => {
    expect(() => agentWorkflow(sdk as never)).toThrow(/import \* as workflow from '@temporalio\/workflow'/)
  },
)
