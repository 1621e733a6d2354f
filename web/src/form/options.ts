import { useQuery } from '@tanstack/react-query';
import type { Field } from '../api/fields';
import { queries } from '../api/queries';

/** The names that a field may refer to, by the format of its values; undefined if it refers to nothing. */
export function useOptions(): (field: Field) => string[] | undefined {
  const certificates = useQuery(queries.certificates).data?.params;
  const authorities = useQuery(queries.authorities).data?.params;
  const checks = useQuery(queries.checks).data?.params;
  return (field) => {
    switch (field['x-format']) {
      case 'X.pem':
      case 'name of a certificate':
        return certificates?.filter((c) => c.type === 'Certificate').map((c) => c.file);
      case 'name of a list of authorities':
      case 'name of an authority':
        return authorities?.map((a) => a.name);
      case 'name of a check':
        return checks?.map((c) => c.name);
    }
  };
}
