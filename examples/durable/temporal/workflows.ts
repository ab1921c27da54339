/** What the worker bundles: a workflow for each agent, under its name. */
import * as workflow from '@temporalio/workflow'
import { agentWorkflow } from 'hookspan/temporal/workflow'

export const refunds = agentWorkflow(workflow)
