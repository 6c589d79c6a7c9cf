/**
 * The engine against the reference model: on random networks, in any order of appends, reopenings and rollbacks, every query with every
 * cursor, order and limit gives the same records, links and errors.
 */
import { describe, test } from 'vitest'
import { levelBench, memoryBenches } from '../support/benches.ts'
import { holds } from '../support/property.ts'
import { story, tell } from './stories.ts'

describe('the engine answers as the model does', () => {
  test.each(memoryBenches)('over $name', (bench) => holds(story, 40, (told) => tell(bench, told)))
  test('over LevelDB', () => holds(story, 25, (told) => tell(levelBench(), told)))
  test('over LevelDB, without a cache', () => holds(story, 12, (told) => tell(levelBench({ cacheBytes: 0 }), told)))
})
