/** A durable agent of a page, served to the Restate of this test. */
import * as restate from '@restatedev/restate-sdk'
import { portOf } from './outside.mjs'

const { RESTATE_ADMIN, RESTATE_INGRESS } = process.env
const post = async (url, body) => {
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${await answer.text()}`)
  return answer.json()
}

/** Of the run, and of no other on that Restate. */
export const KEY = `run-${process.pid}`

/** @returns what a run of it gives */
export async function runOnRestate(agent, input) {
  await restate.serve({ services: [agent], port: 9080 })
  await post(`${RESTATE_ADMIN}/deployments`, { uri: `http://127.0.0.1:${portOf(9080)}` })
  // Answered once the run has ended.
  return post(`${RESTATE_INGRESS}/${agent.name}/${KEY}/run`, input)
}
