import { isRecord } from '../../internal/objects.ts'
import { asObjects } from '../../wire/reading.ts'
import { observeModel } from '../ai-sdk/observed-model.ts'
import type { SdkModel, SdkModelOptions } from '../ai-sdk/sdk.ts'
import type { MastraRun } from './mastra-run.ts'
import type { MastraAgent } from './sdk.ts'
import { tellingInStream, throwing } from './told-in-stream.ts'

interface ModelContext {
  readonly requestContext?: unknown
  readonly mastra?: unknown
}

/** A model may be said by a function of the run's context; an agent may have several, one for when another fails. */
type Selection = (context: ModelContext) => Promise<unknown>

/** What the agent is given for its model: the same models, whose calls are the run's. */
export function observedModels(agent: MastraAgent, run: MastraRun, asked: unknown): Selection {
  return async (context) => {
    const chosen = await resolved(asked, context)
    if (!Array.isArray(chosen)) return observedModel(agent, run, chosen, context)
    return Promise.all(
      chosen.map(async (entry: { readonly model?: unknown }) => ({
        ...entry,
        model: await observedModel(agent, run, await resolved(entry.model, context), context),
      })),
    )
  }
}

export async function resolved(asked: unknown, context: ModelContext): Promise<unknown> {
  return typeof asked === 'function' ? await asked(context) : asked
}

export async function observedModel(
  agent: MastraAgent,
  run: MastraRun,
  config: unknown,
  { requestContext }: ModelContext,
): Promise<unknown> {
  // By a name, or by how it is reached: the SDK makes the model of it.
  const model = isModel(config) ? config : await agent.getModel({ requestContext, modelConfig: config })
  if (!isModel(model) || model.specificationVersion === 'v1') return model
  const own = observeModel(throwing(model), run.run, undefined) as Required<SdkModel>
  // No proxy of the SDK's own classes: these it would take as they are, and they answer in streams alone.
  const asked = {
    specificationVersion: model.specificationVersion,
    provider: model.provider,
    modelId: model.modelId,
    get supportedUrls() {
      return (model as { supportedUrls?: unknown }).supportedUrls
    },
    doGenerate: (options: SdkModelOptions) => ask(run, options, () => own.doGenerate(options)),
    doStream: (options: SdkModelOptions) => ask(run, options, () => own.doStream(options)),
  }
  // In the class of the SDK's own that it would put around it: so it is known again where a step is prepared.
  const made = (await agent.getModel({ requestContext, modelConfig: asked })) as SdkModel
  tellingInStream(made)
  run.models.add(made)
  return Object.assign(made, 'gatewayId' in model && { gatewayId: model.gatewayId })
}

function isModel(value: unknown): value is SdkModel {
  return isRecord(value) && 'specificationVersion' in value && typeof value.doStream === 'function'
}

async function ask<T>(run: MastraRun, options: SdkModelOptions, call: () => PromiseLike<T>): Promise<T> {
  return run.noted(async () => {
    // What a processor has put there right before the model is asked would run unseen.
    const unknown = asObjects(options.tools).filter(({ name }) => !run.tools.has(String(name)))
    run.run.assertInReach(
      unknown.map(({ name, type }) => ({
        name: String(name),
        ranBy: type === 'function' ? ('sdk' as const) : ('provider' as const),
      })),
    )
    await run.turn()
    const reply = await call()
    run.answered()
    return reply
  })
}
