/**
 * Ledgers, walks and streams opened and closed again and again, over LevelDB, in a process of its own: memory and descriptors stay flat.
 */

import { child } from './program.ts'
import type { Ask, Figure, Stress } from './stress.ts'

async function run({ count, seed, plant, say }: Ask): Promise<Figure> {
  const process = await child(['handles'], { plant }, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  const figure = new Promise<Figure>((resolve, reject) => {
    process.on('message', (said) => (typeof said === 'string' ? say?.(said) : resolve(said as Figure)))
    process.once('exit', (code) => reject(new Error(`the process has ended with ${code}`)))
  })
  process.send({ count, seed })
  try {
    return await figure
  } finally {
    process.kill()
  }
}

export const handles: Stress = {
  name: 'handles',
  unit: 'rounds of opening and closing a ledger, walks and streams',
  full: 10_000,
  plants: { 'ledgers are not closed': 40, 'streams are not ended': 20, 'walks are kept': 40 },
  run,
}
