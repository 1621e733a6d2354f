import { Alert, Button, Card, Group, Loader, SimpleGrid, Stack, Switch, Text, TextInput, Title } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useMemo, useRef, useState, type FormEvent, type ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { Refused } from '../api/client';
import type { Field, Schema, Settings } from '../api/fields';
import { isForceable, preview, type Change } from '../change/change';
import { ChangeDialog } from '../change/dialog';
import { useFieldText, useFieldTextsComing } from '../i18n/fields';
import type { Off } from '../session/may';
import { Problem } from '../ui/problem';
import { useDraft } from './draft';
import { FieldInput, type FieldProps } from './field';
import { useHelp } from './help';
import { useOptions } from './options';
import { groups } from './schema';
import { applies, changed, valuesOf, type Values } from './values';

export type FormProps = {
  /** Identifies the form, under which unsaved input is kept. */
  id: string;
  schema: Schema;
  when: 'create' | 'update';
  /** The object; for a new one its initial values. */
  seen: Settings;
  /** The farm of the object, on which some fields depend. */
  farm?: Settings;
  farmSchema?: Schema;
  /** Hidden fields, and fields shown elsewhere. */
  without?: string[];
  change: (body: Settings) => Change;
  /** The label of the button that opens the preview, if it is neither Save nor Create. */
  verb?: string;
  done?: (body: Settings) => void;
  /** Whether the form is read-only, and why. */
  off?: Off;
  /** For narrow places: a single column. */
  narrow?: boolean;
  /** Fields with their own input, by name. */
  inputs?: Record<string, (props: FieldProps) => ReactNode>;
  children?: ReactNode;
};

/** SchemaForm is a form for an object, generated from the appliance's schema. */
export function SchemaForm({ id, schema, when, seen, farm, farmSchema, without = [], change, verb, done, off, inputs = {}, narrow, children }: FormProps) {
  const { t } = useTranslation();
  const disabled = off?.disabled;
  const form = useRef<HTMLFormElement>(null);
  const coming = useFieldTextsComing();
  const initial = useMemo(() => valuesOf(schema, seen), [schema, seen]);
  const draft = useDraft(id, initial);
  const farmValues = useMemo(() => farm && farmSchema && valuesOf(farmSchema, farm), [farm, farmSchema]);
  const [tried, setTried] = useState<{ change: Change; body: Settings }>();
  const trial = useMutation({
    mutationFn: async (body: Settings) => {
      const one = change(body);
      await preview(one).catch((error: unknown) => {
        if (!isForceable(error)) throw error; // the dialog offers to force it
      });
      return { change: one, body };
    },
    onSuccess: setTried,
    onError: (e) => e instanceof Refused && e.field && form.current?.querySelector<HTMLElement>(`[name="${CSS.escape(e.field)}"]`)?.focus(),
  });
  const body = changed(schema, when === 'create' ? valuesOf(schema, {}) : initial, draft.values, farmValues);
  const edited = Object.keys(body).length;
  const wrong = trial.error instanceof Refused ? trial.error.field : undefined;
  const here = wrong !== undefined && schema.properties[wrong] !== undefined;
  const submit = (e: FormEvent) => {
    e.preventDefault();
    trial.mutate(body);
  };
  return (
    <form ref={form} onSubmit={submit} noValidate>
      <Stack>
        {children}
        {coming ? <Loader size="sm" aria-label="…" /> : <Fields schema={schema} when={when} without={without} initial={initial} values={draft.values} farm={farmValues} farmSchema={farmSchema} set={draft.set} disabled={disabled} inputs={inputs} narrow={narrow} wrong={here ? { [wrong]: at(wrong, (trial.error as Error).message) } : {}} />}
        {trial.error && !here && <Problem error={trial.error} changing />}
        <Card withBorder p="xs" className="save">
          <Group justify="space-between">
            <Text size="sm" c="dimmed" role="status">
              {edited > 0 && t('form.changed', { count: edited })}
            </Text>
            <Group gap="xs">
              <Button variant="default" disabled={edited === 0} onClick={() => (draft.clear(), trial.reset())}>
                {t('form.discard')}
              </Button>
              <Button type="submit" disabled={disabled || (edited === 0 && when === 'update')} loading={trial.isPending}>
                {verb ?? t(when === 'create' ? 'form.create' : 'form.save')}
              </Button>
            </Group>
          </Group>
        </Card>
        {disabled && <Alert color="gray">{[t('form.read_only'), off?.title].filter(Boolean).join(' ')}</Alert>}
      </Stack>
      {tried && (
        <ChangeDialog
          change={tried.change}
          close={() => setTried(undefined)}
          done={() => {
            draft.clear();
            done?.(tried.body);
          }}
        />
      )}
    </form>
  );
}

/** A message beside a field need not begin with its name. */
const at = (field: string, message: string) => (message.startsWith(`${field}: `) ? message.slice(field.length + 2) : message);

type FieldsProps = { schema: Schema; when: 'create' | 'update'; without: string[]; initial: Values; values: Values; farm?: Values; farmSchema?: Schema; set: (name: string, v: Values[string]) => void; wrong: Record<string, string>; disabled?: boolean; inputs: NonNullable<FormProps['inputs']>; narrow?: boolean };

/** The applicable fields by group. Advanced ones are shown on request, if they are set, or if they are invalid. */
function Fields({ schema, when, without, initial, values, farm, farmSchema, set, wrong, disabled, inputs, narrow }: FieldsProps) {
  const { t } = useTranslation();
  const text = useFieldText();
  const options = useOptions();
  const help = useHelp(schema, farmSchema);
  const [all, setAll] = useState(false);
  const [search, setSearch] = useState('');
  const resting = useMemo(() => valuesOf(schema, Object.fromEntries(Object.entries(schema.properties).map(([name, f]) => [name, f.default]))), [schema]);
  const isSet = (name: string) => (String(initial[name]) !== '' && String(initial[name]) !== String(resting[name])) || JSON.stringify(values[name]) !== JSON.stringify(initial[name]);
  const wanted = search.trim().toLowerCase();
  const fits = (name: string, f: Field) => `${name} ${text(f.title ?? '')} ${help(f)}`.toLowerCase().includes(wanted);
  const shown = (name: string, f: Field) =>
    !without.includes(name) && (name in wrong || (applies(f['x-only'], values, farm) && (wanted ? fits(name, f) : all || !f['x-advanced'] || isSet(name))));
  const sections = groups(schema, when).map(([group, fields]) => [group, fields.filter(([name, f]) => shown(name, f))] as const);
  const advanced = Object.entries(schema.properties).some(([name, f]) => f['x-advanced'] && !without.includes(name));
  const many = Object.keys(schema.properties).length > 12;
  return (
    <>
      {(many || advanced) && (
        <Group>
          {many && <TextInput aria-label={t('form.search')} placeholder={t('form.search')} value={search} onChange={(e) => setSearch(e.currentTarget.value)} />}
          {advanced && <Switch label={t('form.all')} checked={all} onChange={(e) => setAll(e.currentTarget.checked)} />}
        </Group>
      )}
      {sections
        .filter(([, fields]) => fields.length > 0)
        .map(([group, fields]) => (
          <Card key={group} withBorder component="fieldset" m={0}>
            {group && (
              <Title order={2} size="h5" mb="sm" component="legend">
                {text(group)}
              </Title>
            )}
            <SimpleGrid cols={narrow ? 1 : { base: 1, md: 2 }} spacing="lg" verticalSpacing="md">
              {fields.map(([name, field]) => {
                const Input = inputs[name] ?? FieldInput;
                const required = schema.required?.includes(name);
                return <Input key={name} name={name} field={field} value={values[name]} set={(v) => set(name, v)} error={wrong[name]} required={required} options={options(field)} disabled={disabled} help={help(field)} />;
              })}
            </SimpleGrid>
          </Card>
        ))}
      {wanted && sections.every(([, fields]) => fields.length === 0) && <Text c="dimmed">{t('farms.no_match')}</Text>}
    </>
  );
}
