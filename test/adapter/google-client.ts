import { GoogleGenAI } from '@google/genai'
import { HookDispatcher } from 'hookspan'
import { observeGoogleGenAI } from 'hookspan/google-genai'
import { type ScriptedStep, scriptedFetch } from 'hookspan/mock'
import { activityTree } from '../support/activity-tree.ts'

/** The real client, on a model that says these. */
export function clientOf(...steps: ScriptedStep[]) {
  const fetch = scriptedFetch({ steps })
  return { ai: new GoogleGenAI({ apiKey: 'k', httpOptions: { fetch } as never }), fetch }
}

/** The same, observed, with what it does. */
export function observed(...steps: ScriptedStep[]) {
  const { ai, fetch } = clientOf(...steps)
  const tree = activityTree()
  const dispatcher = new HookDispatcher()
  dispatcher.use(tree.plugin)
  return { ai: observeGoogleGenAI(ai, { dispatcher, agentName: 'shop' }), fetch, tree, dispatcher }
}
