import type { Suite } from '../harness/types.ts'
import { dispatch } from './dispatch.ts'
import { toolCall } from './tool-call.ts'

export const suites: readonly Suite[] = [dispatch, toolCall]
