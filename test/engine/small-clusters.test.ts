/** The engine against the reference model if any two neighbours of a list are gathered the first time they are asked for. */
import { afterEach, beforeEach, describe, test, vi } from 'vitest'
import { Cache } from '../../src/cache/cache.ts'
import { levelBench, memoryBenches } from '../support/benches.ts'
import { holds } from '../support/property.ts'
import { story, tell } from './stories.ts'

vi.mock('../../src/cache/cluster.ts', async (original) => ({ ...(await original<object>()), CLUSTER: 2 }))
beforeEach(() => void vi.spyOn(Cache.prototype, 'gatheredAt', 'get').mockReturnValue(0))
afterEach(() => void vi.restoreAllMocks())

describe('the engine answers as the model does', () => {
  test.each(memoryBenches)('over $name', (bench) => holds(story, 20, (told) => tell(bench, told, 3)))
  test('over LevelDB', () => holds(story, 10, (told) => tell(levelBench(), told, 3)))
})
