import * as ai from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { each, frozen } from './odd-cases.mjs'

const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } }
const turns = () => {
  const left = [
    {
      content: [{ type: 'tool-call', toolCallId: '1', toolName: 'wipe', input: '{}' }],
      finishReason: { unified: 'tool-calls', raw: 'x' },
      usage,
      warnings: [],
    },
    {
      content: [{ type: 'text', text: 'done' }],
      finishReason: { unified: 'stop', raw: 'stop' },
      usage,
      warnings: [],
    },
  ]
  return { doGenerate: async () => left.shift() }
}
const says = (Class = MockLanguageModelV4) => new Class(turns())
const wipe = () =>
  ai.tool({
    inputSchema: ai.jsonSchema({ type: 'object', properties: {} }),
    execute: () => {
      console.log('  wiped')
      return 'wiped'
    },
  })
class PrivateModel {
  specificationVersion = 'v4'
  provider = 'p'
  modelId = 'm'
  supportedUrls = {}
  #turns = turns()
  async doGenerate(options) {
    return this.#turns.doGenerate(options)
  }
}
class GetterModel extends PrivateModel {
  get doGenerate() {
    return (options) => super.doGenerate(options)
  }
}
class PrivateTool {
  inputSchema = ai.jsonSchema({ type: 'object', properties: {} })
  #said = 'wiped'
  execute() {
    console.log(`  ${this.#said}`)
    return this.#said
  }
}
class MyAgent extends ai.ToolLoopAgent {
  #own() {}
  async generate(options) {
    this.#own()
    return super.generate(options)
  }
}
const stopWhen = ai.stepCountIs?.(5) ?? ai.isStepCount(5)
const ask = async (model = says(), tools = { wipe: wipe() }, more = {}) =>
  (await ai.generateText({ model, tools, prompt: 'hi', stopWhen, ...more })).text
await each({
  plain: () => ask(),
  'frozen model': () => ask(frozen(says())),
  'frozen tool': () => ask(says(), { wipe: frozen(wipe()) }),
  'frozen tools': () => ask(says(), frozen({ wipe: frozen(wipe()) })),
  'frozen settings': async () =>
    (await ai.generateText(frozen({ model: says(), tools: { wipe: wipe() }, prompt: 'hi', stopWhen }))).text,
  'model with private methods': () => ask(new PrivateModel()),
  'model with getters': () => ask(new GetterModel()),
  'frozen model with getters': () => ask(frozen(new GetterModel())),
  'proxy of a model': () => ask(new Proxy(says(), {})),
  'tool with private methods': () => ask(says(), { wipe: new PrivateTool() }),
  'proxy of a tool': () => ask(says(), { wipe: new Proxy(wipe(), {}) }),
  'tools with getters': () =>
    ask(says(), {
      get wipe() {
        return wipe()
      },
    }),
  'agent of a class of its own': async () =>
    (await new MyAgent({ model: says(), tools: { wipe: wipe() } }).generate({ prompt: 'hi' })).text,
  'frozen agent': async () =>
    (
      await frozen(new ai.ToolLoopAgent({ model: says(), tools: { wipe: wipe() } })).generate({
        prompt: 'hi',
      })
    ).text,
  'proxy of an agent': async () =>
    (
      await new Proxy(new ai.ToolLoopAgent({ model: says(), tools: { wipe: wipe() } }), {}).generate({
        prompt: 'hi',
      })
    ).text,
  'wrapped model': () =>
    ask(ai.wrapLanguageModel({ model: frozen(says()), middleware: frozen({ specificationVersion: 'v4' }) })),
})
