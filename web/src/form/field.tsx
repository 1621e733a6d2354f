import { Autocomplete, Badge, Group, Input, PasswordInput, Select, Switch, Text, Textarea, TextInput } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { Field } from '../api/fields';
import { useFieldText } from '../i18n/fields';
import { useValueLabel } from './help';
import { OrderedList } from './list';
import { choices, kindOf, mayBeNull } from './schema';
import type { Value } from './values';

export type FieldProps = { name: string; field: Field; value: Value; set: (v: Value) => void; error?: string; required?: boolean; options?: string[]; disabled?: boolean; /** The help text; without it the field's own. */ help?: string };

/** Fields of services whose empty value means the farm's setting. */
const inherited = ['rewritelocation'];

/** FieldInput is the input for one field of a schema. Options are the names that it may refer to. */
export function FieldInput({ name, field, value, set, error, required, options, disabled, help }: FieldProps) {
  const { t } = useTranslation();
  const text = useFieldText();
  const valueLabel = useValueLabel();
  const title = text(field.title ?? name);
  const label = (
    <Group component="span" gap={6} display="inline-flex">
      {title}
      {field['x-cost'] === 'restart' && (
        <Badge size="xs" color="red.9" tt="none">
          {t('form.restart')}
        </Badge>
      )}
      {field['x-cost'] === 'connections' && (
        <Badge size="xs" color="gray.8" tt="none">
          {t('form.connections')}
        </Badge>
      )}
    </Group>
  );
  const about = (
    <>
      {help ?? text(field.description ?? '')} <Bounds of={field} />
    </>
  );
  const plain = { label, description: about, error, disabled, name };
  const shared = { ...plain, withAsterisk: required };
  switch (kindOf(name, field)) {
    case 'switch':
      return <Switch {...plain} checked={value === true} onChange={(e) => set(e.currentTarget.checked)} />;
    case 'choice': {
      const known = choices(field);
      const all = typeof value === 'string' && value !== '' && !known.includes(value) ? [value, ...known] : known;
      const none = mayBeNull(field) || field.enum?.includes('') ? [{ value: '', label: t(inherited.includes(name) ? 'form.inherited' : 'form.none') }] : [];
      return <Select {...shared} data={[...none, ...all.map((v) => ({ value: v, label: valueLabel(v) }))]} value={String(value)} onChange={(v) => set(v ?? '')} allowDeselect={false} />;
    }
    case 'choices':
      return <Listed {...shared} title={title} values={value as string[]} options={choices(field)} set={set} />;
    case 'list':
      if (options) return <Listed {...shared} title={title} values={value as string[]} options={options} set={set} />;
      return <Textarea {...shared} rows={Math.min(6, Math.max(2, (value as string[]).length + 1))} placeholder={t('form.lines')} value={(value as string[]).join('\n')} onChange={(e) => set(e.currentTarget.value.split('\n'))} />;
    case 'secret':
      return <PasswordInput {...shared} autoComplete="new-password" visibilityToggleButtonProps={{ 'aria-label': t('sign_in.show') }} value={String(value)} onChange={(e) => set(e.currentTarget.value)} />;
    default:
      if (options) return <Autocomplete {...shared} data={options} value={String(value)} onChange={set} />;
      return (
        <TextInput
          {...shared}
          inputMode={kindOf(name, field) === 'number' ? 'numeric' : undefined}
          placeholder={field.default === undefined || field.default === null ? undefined : String(field.default)}
          rightSection={
            field['x-unit'] ? (
              <Text size="xs" c="dimmed">
                {text(field['x-unit'])}
              </Text>
            ) : undefined
          }
          rightSectionWidth={field['x-unit'] && field['x-unit'].length > 4 ? 72 : undefined}
          value={String(value)}
          onChange={(e) => set(e.currentTarget.value)}
        />
      );
  }
}

type ListedProps = { label: React.ReactNode; title: string; description: React.ReactNode; error?: string; disabled?: boolean; withAsterisk?: boolean; values: string[]; options: string[]; set: (v: Value) => void };

function Listed({ label, title, description, error, disabled, withAsterisk, values, options, set }: ListedProps) {
  return (
    <Input.Wrapper label={label} description={description} error={error} withAsterisk={withAsterisk} labelElement="div">
      <OrderedList label={title} values={values} options={options} set={set} disabled={disabled} />
    </Input.Wrapper>
  );
}

/** The bounds of a number field. */
function Bounds({ of }: { of: Field }) {
  const { t } = useTranslation();
  if (of.enum || of.minimum === undefined) return null;
  return <>{of.maximum === undefined ? t('form.from', { low: of.minimum }) : t('form.between', { low: of.minimum, high: of.maximum })}</>;
}
