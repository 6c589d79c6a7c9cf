/** A few URLs worth trying on a service that has just started, with ids of the newest records. */
import { catalogue, type Ledger } from '../../src/index.ts'

export async function urlsToTry(ledger: Ledger, url: string): Promise<string[]> {
  const { records } = await ledger.page(catalogue.transactions, {}, { order: 'desc', limit: 1 })
  const [newest] = records
  const ofRecords = newest
    ? [
        `${url}/accounts/${inQuotes(newest.account)}/operations?limit=5`,
        `${url}/transactions/${newest.hash}`,
        `${url}/trades?order=desc&limit=5`,
        `-N -H 'Accept: text/event-stream' '${url}/ledgers'`,
      ]
    : []
  return [url, `${url}/ledgers?order=desc&limit=3`, ...ofRecords].map((text) => `curl ${text.startsWith('-') ? text : `'${text}'`}`)
}

/** A segment of a path that may stand between single quotes in a shell. */
const inQuotes = (segment: string): string => encodeURIComponent(segment).replaceAll("'", '%27')
