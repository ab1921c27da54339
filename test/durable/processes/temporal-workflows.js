/** What a Temporal worker bundles. */
import * as workflow from '@temporalio/workflow'
import { agentWorkflow } from 'hookspan/temporal/workflow'

export const shop = agentWorkflow(workflow)
