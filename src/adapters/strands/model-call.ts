import type { LlmResponse } from '../../hooks/index.ts'
import { asName } from '../../wire/reading.ts'
import { relay } from '../sdk-loop/relay.ts'
import type { AgentRun } from './agent-run.ts'
import { changedResult } from './changed-result.ts'
import { contextOf, requestOf, standInResult } from './messages.ts'
import { chunksOf, ModelChunks } from './model-chunks.ts'
import { providerOf, providerTools } from './provider.ts'
import type { ModelContext, ModelResult, Stage, StrandsEvent, StrandsModel } from './sdk.ts'

/** A model call begins a step. One that is made again because the last one failed goes on in it. */
export async function* callModel(
  agent: AgentRun,
  ctx: ModelContext,
  ask: Stage<ModelContext, ModelResult>,
): AsyncGenerator<StrandsEvent, { readonly result: ModelResult }> {
  const { run } = agent
  if (run.isStopped) return { result: standInResult(ctx.messages, { content: agent.stopped }) }
  run.assertInReach(providerTools(ctx.model))
  await agent.beginTurn()
  const request = requestOf(ctx)
  const provider = providerOf(ctx.model)
  const calls = await run.calls()
  let given: unknown
  const call = calls.openLlmCall<unknown>({
    model: nameOf(ctx.model),
    provider,
    request,
    standIn: (message: LlmResponse): unknown => message,
    standInChunks: (message: LlmResponse, reply?: unknown) => {
      given = reply
      return chunksOf(message)
    },
  })
  // Aborted while we wait: the agent ends as by the SDK's own look at its signal.
  const failed = (error: unknown): never => {
    ctx.agent._throwIfCancelled?.()
    throw error
  }
  const decided = await call.decided.catch(failed)
  if (decided.state === 'answered') {
    agent.answered()
    return { result: standInResult(ctx.messages, decided.response) }
  }
  let model: ModelChunks
  let stream: AsyncIterable<object>
  try {
    const asked = contextOf(ctx, request, decided.request)
    model = new ModelChunks(
      relay(ask(asked), (step) => call.run(step)),
      provider,
    )
    stream = (await call.settle(model.chunks())) as AsyncIterable<object>
  } catch (error) {
    call.fail(error)
    throw error
  }
  try {
    for await (const chunk of stream) {
      const event = model.eventOf(chunk)
      if (event !== undefined) yield event
    }
  } catch (error) {
    failed(error)
  }
  agent.answered()
  const { replaced } = call
  if (replaced !== undefined && given !== undefined && model.result !== undefined) {
    return { result: changedResult(model.result, given, replaced) }
  }
  if (replaced !== undefined) return { result: standInResult(ctx.messages, replaced) }
  return { result: model.result as ModelResult }
}

function nameOf(model: StrandsModel): string {
  return asName(model.modelId) ?? asName(model.getConfig?.().modelId) ?? 'unknown'
}
