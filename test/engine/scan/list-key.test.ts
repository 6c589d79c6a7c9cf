/** The names of lists and of their pages, under which they are found in memory: no two alike, however often and in whatever order they are asked for. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { effectsByAccount } from '../../../src/resources/effect.ts'
import { ListKey, nameOf } from '../../../src/scan/list-key.ts'
import { holds } from '../../support/property.ts'

test('a key of one text is its own name, others say how long each element is', () => {
  expect([nameOf([]), nameOf(['GA']), nameOf([7n]), nameOf(['a', 'b:c']), nameOf(['a1', 7n])]).toEqual([
    '',
    'GA',
    '7',
    '1:a3:b:c',
    '2:a11:7',
  ])
  expect(nameOf(['1:', 'x'])).not.toBe(nameOf(['1', ':x']))
})

test('a list is named within its index, and each of its pages by level and number', () =>
  holds(fc.array(fc.tuple(fc.nat(2), fc.nat(9)), { minLength: 1, maxLength: 40 }), 200, (pages) => {
    const list = new ListKey(effectsByAccount, ['GA'])
    expect([list.index, list.key, list.name, list.id]).toEqual([effectsByAccount, ['GA'], 'GA', `${effectsByAccount.tag} GA`])
    for (const [level, page] of pages) expect(list.pageId(level, page)).toBe(`/${level}/${page} ${list.id}`)
  }))
