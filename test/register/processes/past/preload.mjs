// What instruments an SDK loads it, and stands before the program.
import 'openai'
