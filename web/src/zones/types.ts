import { object } from '../api/files';
import type { components } from '../api/schema';
import { queryOptions } from '@tanstack/react-query';

export type Record = components['schemas']['RecordView'];
export type ZoneAlone = components['schemas']['ZoneView'];
export type Zone = ZoneAlone & { resources: Record[] };

/** A zone with its records. */
export const zoneQuery = (farm: string, zone: string) => queryOptions({ queryKey: ['zone', farm, zone], queryFn: () => object<Zone>('farms', farm, 'zones', zone) });
