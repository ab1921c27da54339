import { isRecord } from '../../internal/objects.ts'
import type { SdkModel, SdkModelOptions, SdkStreamReply } from '../ai-sdk/sdk.ts'

/** What was told in a stream: Mastra asks nobody else after it, as it does after what is thrown. */
const told = new WeakSet<object>()

/**
 * A model that Mastra makes of a name tells in a stream why it could not even be asked (there is no key), also where a reply in one
 * piece is wanted. This one throws it, as models do: so it is the end of the call that failed.
 */
export function throwing(model: SdkModel): SdkModel {
  const doGenerate = async (options: SdkModelOptions) => {
    const reply = await model.doGenerate?.(options)
    if (!isRecord(reply) || 'content' in reply || !(reply.stream instanceof ReadableStream)) return reply
    for await (const part of reply.stream as ReadableStream<{ type?: unknown; error?: unknown }>) {
      if (part.type !== 'error') continue
      if (isRecord(part.error)) told.add(part.error)
      throw part.error
    }
    return reply
  }
  return new Proxy(Object.create(model) as SdkModel, {
    get(_shell, key) {
      if (key === 'doGenerate') return doGenerate
      // It keeps private fields, which only it can read.
      const value: unknown = Reflect.get(model, key, model)
      return typeof value === 'function' ? value.bind(model) : value
    },
  })
}

/** The other way round, for Mastra: what was told in a stream is told in one. */
export function tellingInStream(model: Pick<SdkModel, 'doGenerate'>): void {
  const { doGenerate } = model
  model.doGenerate = async (options) => {
    try {
      return await doGenerate?.call(model, options)
    } catch (error) {
      if (!isRecord(error) || !told.has(error)) throw error
      return { stream: ReadableStream.from([{ type: 'error', error }]) } as SdkStreamReply
    }
  }
}
