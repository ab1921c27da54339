// A loop of the program's own: it answers what the model asks for, twice.
const [, , kind] = process.argv
const schema = { type: 'object', properties: { what: { type: 'string' } } }

async function chat() {
  const { default: OpenAI } = await import('openai')
  const { completions } = new OpenAI({ apiKey: 'none' }).chat
  const tools = [{ type: 'function', function: { name: 'wipe', parameters: schema } }]
  const messages = [{ role: 'user', content: 'Clean up.' }]
  const first = await completions.create({ model: 'gpt-4o', messages, tools })
  const { message } = first.choices[0]
  const answers = message.tool_calls.map(({ id }) => ({ role: 'tool', tool_call_id: id, content: 'ok' }))
  const { choices } = await completions.create({
    model: 'gpt-4o',
    messages: [...messages, message, ...answers],
  })
  return choices[0].message.content
}

async function responses() {
  const { default: OpenAI } = await import('openai')
  const { responses } = new OpenAI({ apiKey: 'none' })
  const tools = [{ type: 'function', name: 'wipe', parameters: schema, strict: false }]
  const { id, output } = await responses.create({ model: 'gpt-4o', input: 'Clean up.', tools })
  const calls = output.filter(({ type }) => type === 'function_call')
  const input = calls.map(({ call_id }) => ({ type: 'function_call_output', call_id, output: 'ok' }))
  const last = await responses.create({ model: 'gpt-4o', input, previous_response_id: id })
  return last.output_text
}

async function messages() {
  const { default: Anthropic } = await import('@anthropic-ai/sdk')
  const { messages } = new Anthropic({ apiKey: 'none' })
  const base = { model: 'claude-opus-4-6', max_tokens: 100 }
  const asked = [{ role: 'user', content: 'Clean up.' }]
  const tools = [{ name: 'wipe', input_schema: schema }]
  const { content } = await messages.create({ ...base, messages: asked, tools })
  const calls = content.filter(({ type }) => type === 'tool_use')
  const answers = calls.map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: 'ok' }))
  const said = [...asked, { role: 'assistant', content }, { role: 'user', content: answers }]
  const last = await messages.create({ ...base, messages: said })
  return last.content[0].text
}

async function google() {
  const { GoogleGenAI } = await import('@google/genai')
  const { models } = new GoogleGenAI({ apiKey: 'none' })
  const asked = [{ role: 'user', parts: [{ text: 'Clean up.' }] }]
  const tools = [{ functionDeclarations: [{ name: 'wipe', parametersJsonSchema: schema }] }]
  const first = await models.generateContent({
    model: 'gemini-2.5-flash',
    contents: asked,
    config: { tools },
  })
  const { content } = first.candidates[0]
  const answers = first.functionCalls.map(({ name }) => ({
    functionResponse: { name, response: { output: 'ok' } },
  }))
  const contents = [...asked, content, { role: 'user', parts: answers }]
  return (await models.generateContent({ model: 'gemini-2.5-flash', contents })).text
}

const loop = { chat, responses, messages, google }[kind]
for (let times = 0; times < 2; times++) console.log(await loop())
