import { expect, it } from 'vitest'
import { modelServer } from './model-server.ts'

it.each([
  ['https://api.openai.com/v1', 'openai'],
  ['https://my.openai.azure.com/openai/v1/', 'azure.ai.openai'],
  ['https://my.cognitiveservices.azure.com/openai', 'azure.ai.openai'],
  ['https://my.openai.azure.us/openai', 'azure.ai.openai'],
  ['https://my.services.ai.azure.com/openai/v1', 'azure.ai.openai'],
  ['https://my.services.ai.azure.com/models', 'azure.ai.inference'],
  ['https://models.inference.ai.azure.com', 'azure.ai.inference'],
  ['https://api.anthropic.com/v1/', 'anthropic'],
  ['https://api.cerebras.ai/v1', 'cerebras'],
  ['https://api.cohere.ai/compatibility/v1', 'cohere'],
  ['https://api.deepseek.com', 'deepseek'],
  ['https://api.fireworks.ai/inference/v1', 'fireworks'],
  ['https://api.groq.com/openai/v1', 'groq'],
  ['https://router.huggingface.co/v1', 'huggingface'],
  ['https://x1y2.us-east-1.aws.endpoints.huggingface.cloud/v1', 'huggingface'],
  ['https://us-south.ml.cloud.ibm.com/ml/v1', 'ibm.watsonx.ai'],
  ['https://api.mistral.ai/v1', 'mistral_ai'],
  ['https://api.moonshot.ai/v1', 'moonshot_ai'],
  ['https://openrouter.ai/api/v1', 'openrouter'],
  ['https://api.perplexity.ai', 'perplexity'],
  ['https://api.together.xyz/v1', 'together'],
  ['https://api.together.ai/v1', 'together'],
  ['https://ai-gateway.vercel.sh/v1', 'gateway'],
  ['https://api.x.ai/v1', 'x_ai'],
  ['https://api.z.ai/api/paas/v4', 'zai'],
  ['https://open.bigmodel.cn/api/paas/v4', 'zai'],
  ['https://generativelanguage.googleapis.com/v1beta/openai/', 'gcp.gemini'],
  ['https://us-central1-aiplatform.googleapis.com/v1/projects/p', 'gcp.vertex_ai'],
  ['https://aiplatform.googleapis.com/v1', 'gcp.vertex_ai'],
  ['https://aiplatform.us.rep.googleapis.com/v1', 'gcp.vertex_ai'],
  ['https://bedrock-runtime.us-west-2.amazonaws.com/openai/v1', 'aws.bedrock'],
  ['https://bedrock-mantle.eu-west-1.api.aws/v1', 'aws.bedrock'],
])('%s is %s', (baseURL, provider) => {
  expect(modelServer(baseURL)).toEqual({
    provider,
    serverAddress: new URL(baseURL).hostname,
    serverPort: 443,
  })
})

it.each([
  ['http://localhost:11434/v1', 11434],
  ['http://127.0.0.1/v1', 80],
  ['https://llm.example.com/v1', 443],
  ['https://notz.ai/v1', 443],
  ['https://api.openai.com.evil.example/', 443],
  ['https://xx.ai/v1', 443],
])('%s speaks like openai, and its port is %i', (baseURL, serverPort) => {
  expect(modelServer(baseURL)).toEqual({
    provider: 'openai',
    serverAddress: new URL(baseURL).hostname,
    serverPort,
  })
})

it.each([[undefined], ['no url'], [7]])('%s tells nothing', (baseURL) => {
  expect(modelServer(baseURL)).toEqual({ provider: 'openai' })
})
