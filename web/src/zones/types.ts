import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { body, request } from '../api/client';
import type { components } from '../api/schema';

export type Record = components['schemas']['RecordView'];

/** The name and type of a record. */
export const titleOf = (r: Record) => `${r.rname} ${r.type}`;

/** A zone without its records, which may be a million. */
export type Zone = components['schemas']['ZoneView'];

export const zoneQuery = (farm: string, zone: string) =>
  queryOptions({
    queryKey: ['zone', farm, zone],
    queryFn: async () => ((await body(request('GET', ['farms', farm, 'zones', zone], undefined, { records: 'count' }))) as { params: Zone }).params,
  });

/** The number of records on a page of the table. */
export const pageSize = 100;

/** The search for records of a zone, and the page of results. */
export type Wanted = { text: string; type: string | null; page: number };

/** The query parameters of a page of records. */
export function queryOf({ text, type, page }: Wanted) {
  const query: { [name: string]: string } = { limit: String(pageSize), offset: String((page - 1) * pageSize) };
  if (text.trim()) query.search = text.trim();
  if (type) query.type = type;
  return query;
}

/** A page of the records of a zone, and the number of matches. */
export const recordsQuery = (farm: string, zone: string, wanted: Wanted) =>
  queryOptions({
    queryKey: ['zone', farm, zone, 'records', queryOf(wanted)],
    queryFn: async () => (await body(request('GET', ['farms', farm, 'zones', zone, 'resources'], undefined, queryOf(wanted)))) as { params: Record[]; total: number },
    placeholderData: keepPreviousData,
  });
