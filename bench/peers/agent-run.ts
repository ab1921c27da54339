import { createOpenAI } from '@ai-sdk/openai'
import { OpenTelemetry } from '@ai-sdk/otel'
import { OpenAIInstrumentation as OpenInference } from '@arizeai/openinference-instrumentation-openai'
import { observeOpenAI } from '@langfuse/openai'
import { LangfuseSpanProcessor } from '@langfuse/otel'
import { startActiveObservation } from '@langfuse/tracing'
import { OpenAIInstrumentation as Traceloop } from '@traceloop/instrumentation-openai'
import { generateText, isStepCount, jsonSchema, tool } from 'ai'
import { setUpTelemetry } from '../harness/telemetry.ts'
import type { Workload } from '../harness/types.ts'
import {
  answer,
  callTool,
  DESCRIPTION,
  findOrder,
  INSTRUCTIONS,
  loop,
  MODEL,
  newClient,
  OpenAI,
  PARAMETERS,
  PROMPT,
  workload,
} from '../suites/agent-run-loop.ts'

function openInference(hidden: boolean): Workload {
  const { provider, spans } = setUpTelemetry()
  const traceConfig = hidden ? { hideInputs: true, hideOutputs: true } : {}
  const instrumentation = new OpenInference({ tracerProvider: provider as never, traceConfig })
  instrumentation.manuallyInstrument(OpenAI as never)
  const client = newClient()
  return workload(() => loop({ ask: (body) => client.chat.completions.create(body), callTool }), spans)
}

function traceloop(traceContent: boolean): Workload {
  const { provider, spans } = setUpTelemetry()
  const instrumentation = new Traceloop({ traceContent })
  instrumentation.setTracerProvider(provider as never)
  instrumentation.manuallyInstrument(OpenAI)
  const client = newClient()
  return workload(() => loop({ ask: (body) => client.chat.completions.create(body), callTool }), spans)
}

function langfuse(observations: boolean): Workload {
  const exporter = {
    export: (_spans: unknown, done: (result: { code: number }) => void) => done({ code: 0 }),
    shutdown: async () => {},
  }
  const processor = new LangfuseSpanProcessor({
    exporter: exporter as never,
    publicKey: 'pk',
    secretKey: 'sk',
    baseUrl: 'http://langfuse.invalid',
  })
  const { spans } = setUpTelemetry([processor as never])
  return workload(langfuseRun(observations), spans)
}

/** The loop with an observed client, and, with observations, its agent and tools told by hand. */
export function langfuseRun(observations: boolean): () => Promise<string> {
  const client = observeOpenAI(newClient())
  const ask: Parameters<typeof loop>[0]['ask'] = (body) => client.chat.completions.create(body)
  if (!observations) return () => loop({ ask, callTool })
  return () =>
    startActiveObservation(
      'support',
      async (agent) => {
        agent.update({ input: PROMPT })
        const output = await loop({
          ask,
          callTool: (call) =>
            startActiveObservation(
              call.function.name,
              async (observation) => {
                const result = await callTool(call)
                observation.update({ input: call.function.arguments, output: result })
                return result
              },
              { asType: 'tool' },
            ),
        })
        agent.update({ output })
        return output
      },
      { asType: 'agent' },
    )
}

function aiSdk(telemetry: boolean, content: boolean): Workload {
  const { tracer, spans } = setUpTelemetry()
  const openai = createOpenAI({ apiKey: 'none', baseURL: 'http://model.invalid/v1', fetch: answer })
  const tools = {
    find_order: tool({
      description: DESCRIPTION,
      inputSchema: jsonSchema<{ order: number }>(PARAMETERS),
      execute: findOrder,
    }),
  }
  const integrations = telemetry ? [new OpenTelemetry({ tracer: tracer as never })] : []
  const run = async () => {
    const { text } = await generateText({
      model: openai.chat(MODEL),
      instructions: INSTRUCTIONS,
      prompt: PROMPT,
      temperature: 0,
      tools,
      maxRetries: 0,
      stopWhen: isStepCount(20),
      telemetry: { isEnabled: telemetry, recordInputs: content, recordOutputs: content, integrations },
    })
    return text
  }
  return workload(run, telemetry ? spans : undefined)
}

export const ways = {
  openinference: () => openInference(false),
  'openinference-hidden': () => openInference(true),
  traceloop: () => traceloop(true),
  'traceloop-no-content': () => traceloop(false),
  langfuse: () => langfuse(false),
  'langfuse-observations': () => langfuse(true),
  'ai-off': () => aiSdk(false, false),
  'ai-no-content': () => aiSdk(true, false),
  ai: () => aiSdk(true, true),
}
