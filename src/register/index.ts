export {} from './start.ts'
