import { Loader } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { queries } from '../api/queries';
import { openapi } from './body';
import { SchemaForm, type FormProps } from './form';
import { Drawer } from '../ui/dialog';
import { NotFound } from '../ui/not-found';
import { Problem } from '../ui/problem';

type Props = Omit<FormProps, 'schema'> & { schema?: FormProps['schema']; title: string; close: () => void; /** What was edited and no longer exists: somebody else deleted it. */ gone?: string; /** What is edited, if the form asks for it. */ of?: Query };
type Query = { error: unknown; isFetching: boolean; refetch: () => unknown };

/** FormDrawer is a form in a drawer; it waits for its schema. */
export function FormDrawer({ title, close, schema, gone, of, ...form }: Props) {
  const { t } = useTranslation();
  return (
    <Drawer opened onClose={close} position="right" size="lg" title={title} closeButtonProps={{ 'aria-label': t('palette.close') }}>
      {gone !== undefined ? <NotFound text={t('form.gone', { name: gone })} /> : schema ? <SchemaForm {...form} schema={schema} done={(body) => (close(), form.done?.(body))} /> : <Waiting of={of} />}
    </Drawer>
  );
}

/** Waiting replaces a form whose schema or object is loading, and shows the error if that fails. */
export function Waiting({ of }: { of?: Query }) {
  const asked: (Query | undefined)[] = [of, useQuery({ ...queries.schemas, enabled: false }), useQuery({ ...openapi, enabled: false })];
  const failed = asked.find((q) => q?.error && !q.isFetching);
  return failed ? <Problem error={failed.error} again={() => void failed.refetch()} /> : <Loader size="sm" aria-label="…" />;
}
