import { Loader } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { SchemaForm, type FormProps } from './form';
import { Drawer } from '../ui/dialog';

/** FormDrawer is a form beside the page; it waits for its schema. */
export function FormDrawer({ title, close, schema, ...form }: Omit<FormProps, 'schema'> & { schema?: FormProps['schema']; title: string; close: () => void }) {
  const { t } = useTranslation();
  return (
    <Drawer opened onClose={close} position="right" size="lg" title={title} closeButtonProps={{ 'aria-label': t('palette.close') }}>
      {schema ? <SchemaForm {...form} schema={schema} done={(body) => (close(), form.done?.(body))} /> : <Loader size="sm" aria-label="…" />}
    </Drawer>
  );
}
