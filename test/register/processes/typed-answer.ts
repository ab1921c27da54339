import OpenAI from 'openai'

export interface Answer {
  readonly said: string
}

export async function answerOf(content: string): Promise<Answer> {
  const { choices } = await new OpenAI().chat.completions.create({
    model: 'gpt-4o',
    messages: [{ role: 'user', content }],
  })
  return { said: choices[0]?.message.content ?? '' }
}
